package openai

import (
	"context"
	"errors"

	"reverie/internal/llm"
)

// chatRequest is the body of POST /chat/completions. No response_format is asked for:
// JSON Lines are no JSON object, and many servers do not know the parameter.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	Temperature         *float64      `json:"temperature,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Refusal string `json:"refusal,omitempty"` // in answers only
}

type chatAnswer struct {
	Choices []chatChoice `json:"choices"`
	Usage   tokenUsage   `json:"usage"`
}

type chatChoice struct {
	Message      chatMessage `json:"message"`
	FinishReason string      `json:"finish_reason"`
}

type tokenUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// Generate implements [llm.Generator].
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	body := chatRequest{Model: c.model, Temperature: c.temperature}
	if req.System != "" {
		body.Messages = append(body.Messages, chatMessage{Role: "system", Content: req.System})
	}
	body.Messages = append(body.Messages, chatMessage{Role: "user", Content: req.User})
	if c.newTokens {
		body.MaxCompletionTokens = max(req.MaxTokens, 0)
	} else {
		body.MaxTokens = max(req.MaxTokens, 0)
	}
	var answer chatAnswer
	if err := c.api.Post(ctx, "/chat/completions", body, &answer); err != nil {
		return llm.Response{}, err
	}
	if len(answer.Choices) == 0 {
		err := errors.New("the answer holds no choice")
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultServer, Err: err}
	}
	resp := llm.Response{
		Text:  answer.Choices[0].Message.Content,
		Usage: llm.Usage{InputTokens: answer.Usage.PromptTokens, OutputTokens: answer.Usage.CompletionTokens},
	}
	resp.Finish = finish(answer.Choices, resp, req.MaxTokens)
	return resp, nil
}

// finish reads why the model stopped. Some servers leave the reason out or
// write "eos"; that is a normal stop if there is a text, and if the text has not
// used up what it might have.
func finish(choices []chatChoice, resp llm.Response, maxTokens int) llm.Finish {
	choice := choices[0]
	switch {
	case len(choices) > 1: // one was asked for
		return llm.FinishOther
	case choice.Message.Refusal != "" || choice.FinishReason == "content_filter":
		return llm.FinishRefused
	}
	switch choice.FinishReason {
	case "length", "max_tokens":
		return llm.FinishLength
	case "stop", "eos", "":
		switch {
		case resp.Text == "":
			return llm.FinishOther
		case choice.FinishReason == "" && maxTokens > 0 && resp.Usage.OutputTokens >= maxTokens:
			return llm.FinishLength
		default:
			return llm.FinishStop
		}
	default:
		return llm.FinishOther
	}
}
