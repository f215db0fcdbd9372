package openai

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"reverie/internal/llm/internal/wire"
)

// The servers that report their context length.
const (
	ServerLlamaCpp = "llama.cpp"
	ServerOllama   = "Ollama"
	ServerVLLM     = "vLLM"
)

// Serving asks a server for its kind and its model's context length in tokens, including the answer: "" and 0 if
// unknown. Beyond the list of models, it asks only servers recognised by that list, and Ollama if it needs no key.
func Serving(ctx context.Context, o Options) (server string, tokens int, err error) {
	c, err := New(o)
	if err != nil {
		return "", 0, err
	}
	var list struct {
		Data []struct {
			ID      string
			OwnedBy string `json:"owned_by"`
			Context int    `json:"max_model_len"` // vLLM
			Meta    struct {
				Context int `json:"n_ctx"` // llama.cpp
			}
		}
	}
	if err := c.api.Get(ctx, "/models", &list); err != nil || len(list.Data) == 0 {
		return "", 0, err
	}
	model := list.Data[0]
	for _, m := range list.Data {
		if m.ID == o.Model {
			model = m
		}
	}
	own := c.own()
	switch {
	case model.Context > 0:
		return ServerVLLM, model.Context, nil
	case model.OwnedBy == "llamacpp":
		var props struct {
			Settings struct {
				Context int `json:"n_ctx"` // of one slot
			} `json:"default_generation_settings"`
		}
		err := own.Get(ctx, "/props", &props)
		if tokens = cmp.Or(props.Settings.Context, model.Meta.Context); tokens > 0 {
			err = nil
		}
		return ServerLlamaCpp, tokens, err
	case model.OwnedBy != "library" && o.APIKey != "":
		return "", 0, nil
	}
	if tokens = ollamaContext(ctx, own, o.Model); tokens > 0 {
		server = ServerOllama
	}
	return server, tokens, nil
}

// own returns a client of the server's own routes, beside the OpenAI ones.
func (c *Client) own() *wire.API {
	own := c.api
	own.BaseURL = strings.TrimSuffix(own.BaseURL, "/v1")
	return &own
}

// ollamaDefault is the context length of an Ollama model without a setting.
const ollamaDefault = 4096

// ollamaContext returns the context length to which Ollama silently cuts questions. It is the model's num_ctx,
// otherwise that of the loaded model, otherwise the default, and never more than the model supports.
func ollamaContext(ctx context.Context, own *wire.API, model string) int {
	var show struct {
		Parameters string
		Info       map[string]any `json:"model_info"`
	}
	if err := own.Post(ctx, "/api/show", map[string]string{"model": model}, &show); err != nil || show.Info == nil {
		return 0
	}
	tokens := 0
	for line := range strings.Lines(show.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			tokens, _ = strconv.Atoi(f[1]) // an invalid number counts as unset
		}
	}
	var loaded struct {
		Models []struct {
			Name    string
			Context int `json:"context_length"`
		}
	}
	if tokens == 0 && own.Get(ctx, "/api/ps", &loaded) == nil {
		for _, m := range loaded.Models {
			if m.Name == model || m.Name == model+":latest" {
				tokens = m.Context
			}
		}
	}
	tokens = cmp.Or(tokens, ollamaDefault)
	for key, value := range show.Info {
		if most, is := value.(float64); is && strings.HasSuffix(key, ".context_length") && most > 0 {
			tokens = min(tokens, int(most))
		}
	}
	return tokens
}
