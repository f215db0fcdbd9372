// Package openai asks models through the Chat Completions and Embeddings API of
// OpenAI, which Ollama, vLLM, llama.cpp, DeepSeek, Qwen and many others speak
// too.
package openai

import (
	"fmt"
	"net/http"
	"strings"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
	"reverie/internal/reverie"
)

// Provider is how this adapter is called in settings, rows and errors.
const Provider = "openai"

// DefaultBaseURL is OpenAI's own. Most other servers want theirs to end in /v1.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options are the settings of a [Client]. Nothing else is read: no OPENAI_*
// variable has an effect.
type Options struct {
	BaseURL     string // default DefaultBaseURL; the routes are appended to it
	APIKey      string // may be empty where the server asks for none
	Model       string
	Temperature *float64 // nil: the model's own
	// Dims is the width of vectors to ask for. It is sent only to the models
	// known to take it, text-embedding-3-*; 0 asks for none.
	Dims       int
	HTTPClient *http.Client // nil: one of its own
}

// Client is a [llm.Generator] and a [llm.Embedder]. It makes one HTTP request a
// call and is safe for concurrent use.
type Client struct {
	model       string
	temperature *float64
	dims        int
	newTokens   bool // the limit is called max_completion_tokens
	api         wire.API
}

var (
	_ llm.Generator = (*Client)(nil)
	_ llm.Embedder  = (*Client)(nil)
)

// New returns a client. Its errors are [reverie.ErrConfiguration].
func New(o Options) (*Client, error) {
	base, err := wire.Endpoint(Provider, o.BaseURL, DefaultBaseURL)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckKey(Provider, o.APIKey); err != nil {
		return nil, err
	}
	if o.Model == "" {
		return nil, fmt.Errorf("%s: no model is named: %w: set REVERIE_LLM_MODEL or REVERIE_EMBED_MODEL",
			Provider, reverie.ErrConfiguration)
	}
	if o.APIKey == "" && base == DefaultBaseURL {
		return nil, fmt.Errorf(
			"%s: no API key: %w: set REVERIE_LLM_API_KEY, or REVERIE_LLM_BASE_URL for a server that needs none",
			Provider, reverie.ErrConfiguration)
	}
	header := http.Header{}
	if o.APIKey != "" {
		header.Set("Authorization", "Bearer "+o.APIKey)
	}
	return &Client{
		model: o.Model, temperature: o.Temperature, dims: o.Dims, newTokens: namesNewTokens(base, o.Model),
		api: wire.API{
			Provider: Provider,
			BaseURL:  base,
			Header:   header,
			Client:   wire.NewClient(o.HTTPClient, Provider, o.APIKey),
		},
	}, nil
}

// namesNewTokens tells by what name the limit of the answer is sent. OpenAI's
// newer models know only max_completion_tokens, and all of OpenAI's and Azure's
// know it; other servers know only max_tokens, save gateways to those newer
// models, which are recognised by their names.
func namesNewTokens(base, model string) bool {
	host := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(base), "https://"), "http://")
	host, _, _ = strings.Cut(host, "/")
	if host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") ||
		strings.HasSuffix(host, ".openai.azure.com") {
		return true
	}
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, newer := range []string{"gpt-5", "gpt-6", "o1", "o3", "o4"} {
		rest, found := strings.CutPrefix(name, newer)
		if found && (rest == "" || rest[0] == '-' || rest[0] == '.') {
			return true
		}
	}
	return false
}
