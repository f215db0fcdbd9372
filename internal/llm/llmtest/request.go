package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Request is what a server was asked, whatever the protocol.
type Request struct {
	Provider    string // openai, gemini or anthropic
	Path        string
	Model       string
	System      string
	User        string
	MaxTokens   int
	Temperature *float64
	Texts       []string // to be embedded; nil for a question
	Dims        int      // width asked for, 0 if none
	Key         string
	Header      http.Header // without the key
	Body        map[string]any
}

// Embedding tells whether vectors are asked for.
func (r Request) Embedding() bool { return r.Texts != nil }

// keyHeaders are where the protocols carry the key.
var keyHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"}

// newRequest fills in what all protocols share and decodes the body into wire.
func newRequest(provider string, r *http.Request, body []byte, wire any) (Request, error) {
	req := Request{Provider: provider, Path: r.URL.Path, Header: r.Header.Clone()}
	for _, name := range keyHeaders {
		if v := r.Header.Get(name); v != "" {
			req.Key = v
		}
		req.Header.Del(name)
	}
	if len(req.Key) > len("Bearer ") && req.Key[:len("Bearer ")] == "Bearer " {
		req.Key = req.Key[len("Bearer "):]
	}
	if err := json.Unmarshal(body, &req.Body); err != nil {
		return req, fmt.Errorf("the body is no JSON object: %w", err)
	}
	if err := json.Unmarshal(body, wire); err != nil {
		return req, fmt.Errorf("the body has another shape than %s asks for: %w", provider, err)
	}
	return req, nil
}
