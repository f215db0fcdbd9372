package llmtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"reverie/internal/llm"
)

// protocol is the answer format of one provider.
type protocol struct {
	finishes map[llm.Finish]string // its words for the reasons to stop
	answer   func(a Answer, req Request, reason any) object
	failures map[int]string // its words for a status; 0: any other status
	failure  func(status int, word, message string) object
}

// protocols are those of the providers.
var protocols = map[string]protocol{
	"openai": {
		finishes: map[llm.Finish]string{llm.FinishStop: "stop", llm.FinishLength: "length", llm.FinishRefused: "stop"},
		answer:   openAIAnswer,
		failures: map[int]string{0: "invalid_request_error", 500: "server_error", 502: "server_error", 503: "server_error",
			504: "server_error", 529: "server_error"},
		failure: func(_ int, word, message string) object {
			return object{"error": object{"message": message, "type": word, "param": nil, "code": nil}}
		},
	},
	"anthropic": {
		finishes: map[llm.Finish]string{llm.FinishStop: "end_turn", llm.FinishLength: "max_tokens",
			llm.FinishRefused: "refusal", llm.FinishOther: "tool_use"},
		answer: anthropicAnswer,
		failures: map[int]string{0: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
			404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"},
		failure: func(_ int, word, message string) object {
			return object{"type": "error", "error": object{"type": word, "message": message}}
		},
	},
	"gemini": {
		finishes: map[llm.Finish]string{llm.FinishStop: "STOP", llm.FinishLength: "MAX_TOKENS", llm.FinishRefused: "SAFETY",
			llm.FinishOther: "OTHER"},
		answer: geminiAnswer,
		failures: map[int]string{0: "UNKNOWN", 400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
			404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"},
		failure: func(status int, word, message string) object {
			return object{"error": object{"code": status, "message": message, "status": word}}
		},
	},
}

// route returns the provider of a path, "" if there is none, and whether the path is for vectors. It ignores a
// prefix of the route, as gateways add.
func route(path string) (provider string, embeds bool) {
	for _, r := range []struct {
		suffix, provider string
		embeds           bool
	}{
		{"/chat/completions", "openai", false}, {"/embeddings", "openai", true}, {"/v1/messages", "anthropic", false},
		{":generateContent", "gemini", false}, {":batchEmbedContents", "gemini", true}, {":embedContent", "gemini", true},
	} {
		if strings.HasSuffix(path, r.suffix) {
			return r.provider, r.embeds
		}
	}
	return "", false
}

// object is a JSON object to be written.
type object map[string]any

// words are a text, or the parts of one, as the protocols write them: "a", [{"text":"a"}] or
// {"parts":[{"text":"a"}]}.
type words string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(data []byte) error {
	var whole struct{ Parts []struct{ Text string } }
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(w))
	case '[':
		data = fmt.Appendf(nil, `{"parts":%s}`, data)
	}
	err := json.Unmarshal(data, &whole)
	for _, p := range whole.Parts {
		*w += words(p.Text)
	}
	return err
}

// oneText is Gemini's request for one vector.
type oneText struct {
	Content words
	Dims    int `json:"outputDimensionality"`
}

// read fills the request from a body in any protocol.
func (r *Request) read(body []byte, embeds bool) error {
	var in struct {
		Model    string
		Limit    int   `json:"max_tokens"`
		NewLimit int   `json:"max_completion_tokens"`
		System   words // Anthropic's
		Messages []struct {
			Role    string
			Content words
		}
		Temperature *float64
		Tier        llm.Tier `json:"service_tier"`
		Input       []string
		Dimensions  int

		Contents          []words // Gemini's, like all that follows
		ServiceTier       llm.Tier
		SystemInstruction words
		GenerationConfig  struct {
			MaxOutputTokens int
			Temperature     *float64
		}
		Requests []oneText
		oneText
	}
	if err := json.Unmarshal(body, &r.Body); err != nil {
		return fmt.Errorf("the body is no JSON object: %w", err)
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return fmt.Errorf("the body has another shape than %s asks for: %w", r.Provider, err)
	}
	r.Model, r.MaxTokens, r.Temperature, r.Dims = in.Model, max(in.Limit, in.NewLimit), in.Temperature, in.Dimensions
	r.System, r.Texts, r.Tier = string(in.System), in.Input, cmp.Or(in.Tier, in.ServiceTier)
	for _, m := range in.Messages {
		switch m.Role {
		case "system":
			r.System += string(m.Content)
		case "user":
			r.User += string(m.Content)
		default:
			return fmt.Errorf("a message has the role %q", m.Role)
		}
	}
	if r.Provider == "gemini" {
		r.Model, _, _ = strings.Cut(r.Path[strings.LastIndexByte(r.Path, '/')+1:], ":")
		r.System, r.MaxTokens = string(in.SystemInstruction), in.GenerationConfig.MaxOutputTokens
		r.Temperature = in.GenerationConfig.Temperature
		for _, c := range in.Contents {
			r.User += string(c)
		}
		if strings.HasSuffix(r.Path, ":embedContent") {
			in.Requests = []oneText{in.oneText}
		}
		for _, one := range in.Requests {
			r.Texts, r.Dims = append(r.Texts, string(one.Content)), one.Dims
		}
	}
	switch {
	case r.Model == "":
		return errors.New("no model")
	case embeds && len(r.Texts) == 0:
		return errors.New("no input")
	case r.Provider == "anthropic" && (in.Limit <= 0 || r.Header.Get("Anthropic-Version") == ""):
		return errors.New("max_tokens or the version header is missing")
	}
	if !embeds {
		r.Texts = nil
	}
	return nil
}

// shape returns the body of an answer in its provider's format.
func (a Answer) shape(s *Server, req Request) object {
	p := protocols[req.Provider]
	switch {
	case a.Status >= 400:
		word, known := p.failures[a.Status]
		if !known {
			word = p.failures[0]
		}
		return p.failure(a.Status, word, a.Message)
	case req.Embedding():
		return embeddings(a.vectors(s, req), req)
	}
	finish := a.Finish
	if finish == "" {
		finish = llm.FinishStop
	}
	var reason any = string(finish)
	if word, known := p.finishes[finish]; known {
		reason = word
	}
	if a.NoFinish {
		reason = nil
	}
	return p.answer(a, req, reason)
}

func openAIAnswer(a Answer, req Request, reason any) object {
	message := object{"role": "assistant", "content": a.Text, "refusal": nil}
	if a.Finish == llm.FinishRefused {
		message["content"], message["refusal"] = nil, "I can't help with that."
	}
	choices := []any{object{"index": 0, "message": message, "logprobs": nil, "finish_reason": reason}}
	if a.NoChoices {
		choices = []any{}
	}
	out := object{"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": req.Model,
		"choices": choices}
	if a.Tier != "" || req.Tier == llm.TierFlex {
		out["service_tier"] = strings.Replace(string(a.tier(req)), string(llm.TierStandard), "default", 1)
	}
	if u := a.usage(); !a.NoUsage {
		out["usage"] = object{"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens,
			"total_tokens": u.InputTokens + u.OutputTokens, "prompt_tokens_details": object{"cached_tokens": u.CachedTokens}}
	}
	return out
}

func anthropicAnswer(a Answer, req Request, reason any) object {
	content := []any{object{"type": "text", "text": a.Text}}
	if a.Finish == llm.FinishRefused || a.NoChoices {
		content = []any{}
	}
	if a.NoChoices {
		reason = nil
	}
	out := object{"id": "msg_1", "type": "message", "role": "assistant", "model": req.Model, "content": content,
		"stop_reason": reason, "stop_sequence": nil}
	if u := a.usage(); !a.NoUsage {
		out["usage"] = object{"input_tokens": u.InputTokens - u.CachedTokens, "output_tokens": u.OutputTokens,
			"cache_creation_input_tokens": 0, "cache_read_input_tokens": u.CachedTokens}
	}
	return out
}

func geminiAnswer(a Answer, req Request, reason any) object {
	content := object{"role": "model", "parts": []any{object{"text": a.Text}}}
	candidate := object{"index": 0, "content": content, "finishReason": reason}
	if a.Finish == llm.FinishRefused {
		delete(candidate, "content")
	}
	out := object{"candidates": []any{candidate}, "modelVersion": req.Model, "responseId": "r1"}
	if a.NoChoices {
		delete(out, "candidates")
	}
	if u := a.usage(); !a.NoUsage {
		out["usageMetadata"] = object{"promptTokenCount": u.InputTokens, "candidatesTokenCount": u.OutputTokens,
			"totalTokenCount": u.InputTokens + u.OutputTokens, "cachedContentTokenCount": u.CachedTokens}
	}
	return out
}

// embeddings returns vectors in the format of OpenAI and Gemini.
func embeddings(vectors [][]float32, req Request) object {
	data, values := make([]any, len(vectors)), make([]any, len(vectors))
	for i, v := range vectors {
		data[i] = object{"object": "embedding", "index": i, "embedding": v}
		values[i] = object{"values": v}
	}
	switch {
	case req.Provider == "openai":
		tokens := 5 * len(req.Texts)
		return object{"object": "list", "data": data, "model": req.Model,
			"usage": object{"prompt_tokens": tokens, "total_tokens": tokens}}
	case strings.HasSuffix(req.Path, ":embedContent") && len(values) == 1:
		return object{"embedding": values[0]}
	}
	return object{"embeddings": values}
}

// keyHeaders are the headers in which the protocols send the key.
var keyHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"}

// newRequest returns what is known of a request before its body is read.
func newRequest(provider string, r *http.Request) Request {
	req := Request{Provider: provider, Path: r.URL.Path, Header: r.Header.Clone()}
	for _, name := range keyHeaders {
		if v := r.Header.Get(name); v != "" {
			req.Key = strings.TrimPrefix(v, "Bearer ")
		}
		req.Header.Del(name)
	}
	return req
}
