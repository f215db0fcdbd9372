package llmtest

import (
	"errors"
	"net/http"

	"reverie/internal/llm"
)

// anthropic speaks the Messages API.
type anthropic struct{}

// anthropicBlock is a piece of text.
type anthropicBlock struct{ Type, Text string }

func (anthropic) read(r *http.Request, body []byte) (Request, error) {
	var in struct {
		Model    string
		Limit    int `json:"max_tokens"`
		System   []anthropicBlock
		Messages []struct {
			Role    string
			Content []anthropicBlock
		}
		Heat *float64 `json:"temperature"`
	}
	req, err := newRequest("anthropic", r, body, &in)
	if err != nil {
		return req, err
	}
	if in.Limit <= 0 || in.Model == "" || r.Header.Get("Anthropic-Version") == "" {
		return req, errors.New("max_tokens, model or the version header is missing")
	}
	req.Model, req.MaxTokens, req.Temperature = in.Model, in.Limit, in.Heat
	for _, b := range in.System {
		req.System += b.Text
	}
	for _, m := range in.Messages {
		for _, b := range m.Content {
			req.User += b.Text
		}
	}
	return req, nil
}

func (anthropic) answer(a Answer, req Request) any {
	reasons := map[llm.Finish]string{llm.FinishStop: "end_turn", llm.FinishLength: "max_tokens",
		llm.FinishRefused: "refusal", llm.FinishOther: "tool_use"}
	reason, known := reasons[a.finish()]
	if !known {
		reason = string(a.Finish)
	}
	out := object{"id": "msg_1", "type": "message", "role": "assistant", "model": req.Model,
		"content": []any{object{"type": "text", "text": a.Text}}, "stop_reason": reason, "stop_sequence": nil}
	if a.NoFinish {
		out["stop_reason"] = nil
	}
	if a.Finish == llm.FinishRefused {
		out["content"] = []any{}
	}
	if a.NoChoices {
		out["content"], out["stop_reason"] = []any{}, nil
	}
	if u := a.usage(); !a.NoUsage {
		out["usage"] = object{"input_tokens": u.InputTokens, "output_tokens": u.OutputTokens}
	}
	return out
}

func (anthropic) embeddings([][]float32, Request) any { return nil } // it has none

func (anthropic) failure(status int, message string) any {
	names := map[int]string{401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
	name, known := names[status]
	if !known {
		name = "invalid_request_error"
	}
	return object{"type": "error", "error": object{"type": name, "message": message}}
}
