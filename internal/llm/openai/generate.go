package openai

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// Generate implements [llm.Generator]. No response_format is asked for: JSON
// Lines are no JSON object, and many servers do not know the parameter.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	params := openai.ChatCompletionNewParams{Model: c.model}
	if req.System != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(req.System))
	}
	params.Messages = append(params.Messages, openai.UserMessage(req.User))
	if c.temperature != nil {
		params.Temperature = param.NewOpt(*c.temperature)
	}
	if req.MaxTokens > 0 && c.newTokens {
		params.MaxCompletionTokens = param.NewOpt(int64(req.MaxTokens))
	} else if req.MaxTokens > 0 {
		params.MaxTokens = param.NewOpt(int64(req.MaxTokens))
	}
	answer, err := c.chat.New(ctx, params)
	if err != nil {
		return llm.Response{}, wire.Fail(ctx, Provider, err)
	}
	if answer == nil || len(answer.Choices) == 0 {
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultServer, Err: errors.New("the answer holds no choice")}
	}
	resp := llm.Response{
		Text:  answer.Choices[0].Message.Content,
		Usage: llm.Usage{InputTokens: int(answer.Usage.PromptTokens), OutputTokens: int(answer.Usage.CompletionTokens)},
	}
	resp.Finish = finish(answer.Choices, resp, req.MaxTokens)
	return resp, nil
}

// finish reads why the model stopped. Some servers leave the reason out or
// write "eos"; that is a normal stop if there is a text, and if the text has not
// used up what it might have.
func finish(choices []openai.ChatCompletionChoice, resp llm.Response, maxTokens int) llm.Finish {
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
