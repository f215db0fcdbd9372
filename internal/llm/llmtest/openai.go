package llmtest

import (
	"errors"
	"fmt"
	"net/http"

	"reverie/internal/llm"
)

// openAI speaks Chat Completions and Embeddings.
type openAI struct{ embed bool }

func (p openAI) read(r *http.Request, body []byte) (Request, error) {
	var in struct {
		Model    string
		Messages []struct{ Role, Content string }
		Limit    int      `json:"max_tokens"`
		NewLimit int      `json:"max_completion_tokens"`
		Heat     *float64 `json:"temperature"`
		Input    []string
		Dims     int `json:"dimensions"`
	}
	req, err := newRequest("openai", r, body, &in)
	if err != nil {
		return req, err
	}
	req.Model, req.Temperature, req.MaxTokens, req.Dims = in.Model, in.Heat, max(in.Limit, in.NewLimit), in.Dims
	if req.Model == "" {
		return req, errors.New("no model")
	}
	if p.embed {
		if len(in.Input) == 0 {
			return req, errors.New("no input")
		}
		req.Texts = in.Input
		return req, nil
	}
	for _, m := range in.Messages {
		switch m.Role {
		case "system":
			req.System += m.Content
		case "user":
			req.User += m.Content
		default:
			return req, fmt.Errorf("a message has the role %q", m.Role)
		}
	}
	return req, nil
}

func (openAI) answer(a Answer, req Request) any {
	message := object{"role": "assistant", "content": a.Text, "refusal": nil}
	choice := object{"index": 0, "message": message, "logprobs": nil}
	switch a.finish() {
	case llm.FinishStop:
		choice["finish_reason"] = "stop"
	case llm.FinishLength:
		choice["finish_reason"] = "length"
	case llm.FinishRefused:
		choice["finish_reason"] = "stop"
		message["content"], message["refusal"] = nil, "I can't help with that."
	default:
		choice["finish_reason"] = string(a.Finish)
	}
	if a.NoFinish {
		delete(choice, "finish_reason")
	}
	out := object{"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": req.Model,
		"choices": []any{choice}}
	if a.NoChoices {
		out["choices"] = []any{}
	}
	if u := a.usage(); !a.NoUsage {
		out["usage"] = object{"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens,
			"total_tokens": u.InputTokens + u.OutputTokens}
	}
	return out
}

func (openAI) embeddings(vectors [][]float32, req Request) any {
	data := make([]any, len(vectors))
	for i, v := range vectors {
		data[i] = object{"object": "embedding", "index": i, "embedding": v}
	}
	tokens := 5 * len(req.Texts)
	return object{"object": "list", "data": data, "model": req.Model,
		"usage": object{"prompt_tokens": tokens, "total_tokens": tokens}}
}

func (openAI) failure(status int, message string) any {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": nil}}
}
