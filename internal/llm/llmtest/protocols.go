package llmtest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

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

// gemini speaks generateContent, batchEmbedContents and embedContent.
type gemini struct{ embed bool }

// geminiContent is a text in parts.
type geminiContent struct {
	Parts []struct{ Text string }
}

func (c geminiContent) text() string {
	var b strings.Builder
	for _, p := range c.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// geminiEmbed asks for one vector.
type geminiEmbed struct {
	Content geminiContent
	Dims    int `json:"outputDimensionality"`
}

func (p gemini) read(r *http.Request, body []byte) (Request, error) {
	var in struct {
		Contents          []geminiContent
		SystemInstruction geminiContent
		GenerationConfig  struct {
			MaxOutputTokens int
			Temperature     *float64
		}
		Requests []geminiEmbed
		geminiEmbed
	}
	req, err := newRequest("gemini", r, body, &in)
	if err != nil {
		return req, err
	}
	name := req.Path[strings.LastIndexByte(req.Path, '/')+1:]
	req.Model, _, _ = strings.Cut(name, ":")
	if !p.embed {
		req.System = in.SystemInstruction.text()
		req.MaxTokens, req.Temperature = in.GenerationConfig.MaxOutputTokens, in.GenerationConfig.Temperature
		for _, c := range in.Contents {
			req.User += c.text()
		}
		return req, nil
	}
	if strings.HasSuffix(name, ":embedContent") {
		in.Requests = []geminiEmbed{in.geminiEmbed}
	}
	if len(in.Requests) == 0 {
		return req, errors.New("no requests")
	}
	for _, one := range in.Requests {
		req.Texts = append(req.Texts, one.Content.text())
		req.Dims = one.Dims
	}
	return req, nil
}

func (gemini) answer(a Answer, req Request) any {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": []any{object{"text": a.Text}}}}
	switch a.finish() {
	case llm.FinishStop:
		candidate["finishReason"] = "STOP"
	case llm.FinishLength:
		candidate["finishReason"] = "MAX_TOKENS"
	case llm.FinishRefused:
		candidate["finishReason"] = "SAFETY"
		delete(candidate, "content")
	case llm.FinishOther:
		candidate["finishReason"] = "OTHER"
	default:
		candidate["finishReason"] = string(a.Finish)
	}
	if a.NoFinish {
		delete(candidate, "finishReason")
	}
	out := object{"candidates": []any{candidate}, "modelVersion": req.Model, "responseId": "r1"}
	if a.NoChoices {
		delete(out, "candidates")
	}
	if u := a.usage(); !a.NoUsage {
		out["usageMetadata"] = object{"promptTokenCount": u.InputTokens, "candidatesTokenCount": u.OutputTokens,
			"totalTokenCount": u.InputTokens + u.OutputTokens}
	}
	return out
}

func (p gemini) embeddings(vectors [][]float32, req Request) any {
	list := make([]any, len(vectors))
	for i, v := range vectors {
		list[i] = object{"values": v}
	}
	if strings.HasSuffix(req.Path, ":embedContent") && len(list) == 1 {
		return object{"embedding": list[0]}
	}
	return object{"embeddings": list}
}

func (gemini) failure(status int, message string) any {
	names := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
	name, known := names[status]
	if !known {
		name = "UNKNOWN"
	}
	return object{"error": object{"code": status, "message": message, "status": name}}
}

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
