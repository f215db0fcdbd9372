package openai

import (
	"testing"

	"reverie/internal/llm/llmtest"
)

// TestServing reads the context as each server says it: llama.cpp's of one slot, Ollama's that it
// works with and not the one that the model was trained for, vLLM's.
func TestServing(t *testing.T) {
	for name, c := range map[string]struct {
		options []llmtest.Option
		key     string
		server  string
		tokens  int
	}{
		"llama.cpp":                           {[]llmtest.Option{llmtest.AsLlamaCpp("m", 8192)}, "", ServerLlamaCpp, 8192},
		"llama.cpp, a key":                    {[]llmtest.Option{llmtest.AsLlamaCpp("m", 8192)}, "k", ServerLlamaCpp, 8192},
		"llama.cpp, no props":                 {[]llmtest.Option{llmtest.WithInfo("GET /v1/models", `{"data":[{"id":"x","owned_by":"llamacpp","meta":{"n_ctx":2048}}]}`)}, "", ServerLlamaCpp, 2048},
		"Ollama":                              {[]llmtest.Option{llmtest.AsOllama("m", 131072, "stop \"x\"\nnum_ctx                        16384\n")}, "", ServerOllama, 16384},
		"Ollama, more set than the model has": {[]llmtest.Option{llmtest.AsOllama("m", 2048, "num_ctx 16384")}, "", ServerOllama, 2048},
		"Ollama, nothing set":                 {[]llmtest.Option{llmtest.AsOllama("m", 131072, "")}, "", ServerOllama, 4096},
		"Ollama, loaded": {[]llmtest.Option{llmtest.AsOllama("m", 131072, ""),
			llmtest.WithInfo("GET /api/ps", `{"models":[{"name":"other","context_length":1},{"name":"m:latest","context_length":32768}]}`)}, "", ServerOllama, 32768},
		"vLLM":                  {[]llmtest.Option{llmtest.AsVLLM("m", 40960)}, "k", ServerVLLM, 40960},
		"another one":           {[]llmtest.Option{llmtest.WithInfo("GET /v1/models", `{"data":[{"id":"m","owned_by":"deepseek"}]}`)}, "k", "", 0},
		"another one, no key":   {[]llmtest.Option{llmtest.WithInfo("GET /v1/models", `{"data":[{"id":"m","owned_by":"me"}]}`)}, "", "", 0},
		"a list without models": {[]llmtest.Option{llmtest.WithInfo("GET /v1/models", `{"data":[]}`)}, "", "", 0},
	} {
		srv := llmtest.New(t, c.options...)
		server, tokens, err := Serving(t.Context(), Options{BaseURL: srv.URL(Provider), HTTPClient: srv.Client(), Model: "m", APIKey: c.key})
		if err != nil || server != c.server || tokens != c.tokens {
			t.Errorf("%s: %q reads %d (%v), want %q and %d", name, server, tokens, err, c.server, c.tokens)
		}
	}
	srv := llmtest.New(t)
	if _, _, err := Serving(t.Context(), Options{BaseURL: srv.URL(Provider), HTTPClient: srv.Client(), Model: "m"}); err == nil {
		t.Error("a server without a list: no error")
	}
}
