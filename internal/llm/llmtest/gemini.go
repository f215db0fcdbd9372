package llmtest

import (
	"errors"
	"net/http"
	"strings"

	"reverie/internal/llm"
)

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
