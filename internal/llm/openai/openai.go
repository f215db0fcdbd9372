// Package openai calls models through the Chat Completions and Embeddings API of OpenAI, which Ollama, vLLM,
// llama.cpp, DeepSeek, Qwen and many others also offer.
package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// Provider is the name of this adapter in settings, rows and errors.
const Provider = "openai"

// DefaultBaseURL is OpenAI's own API. The base URL of most other servers must also end in /v1.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options are the settings of a [Client]. The routes are appended to the base URL. The width of vectors is sent
// only for models that are known to accept it, text-embedding-3-*.
type Options = llm.ClientOptions

// Client is a [llm.Generator], a [llm.Embedder] and a [llm.Batcher]. It makes one HTTP request per question and is
// safe for concurrent use.
type Client struct {
	model       string
	temperature *float64
	dims        int
	lines       llm.Lines
	newTokens   bool // the limit is sent as max_completion_tokens
	api         wire.API
}

var (
	_ llm.Generator = (*Client)(nil)
	_ llm.Embedder  = (*Client)(nil)
	_ llm.Batcher   = (*Client)(nil)
)

// New returns a client. Its errors are [reverie.ErrConfiguration].
func New(o Options) (*Client, error) {
	base, err := wire.Check(Provider, DefaultBaseURL, o, true)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if o.APIKey != "" {
		header.Set("Authorization", "Bearer "+o.APIKey)
	}
	return &Client{
		model: o.Model, temperature: o.Temperature, dims: o.Dims, lines: o.Lines, newTokens: namesNewTokens(base, o.Model),
		api: wire.API{Provider: Provider, BaseURL: base, Header: header, Client: wire.NewClient(o.HTTPClient, Provider, o.APIKey)},
	}, nil
}

// namesNewTokens reports whether the answer's limit is sent as max_completion_tokens. OpenAI's newer models know
// only that name, and all of OpenAI's and Azure's know it. Other servers know only max_tokens, except gateways to
// those newer models, which are recognised by the models' names.
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

// chatRequest is the body of POST /chat/completions.
type chatRequest struct {
	Model               string        `json:"model"`
	Messages            []chatMessage `json:"messages"`
	Temperature         *float64      `json:"temperature,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	ServiceTier         string        `json:"service_tier,omitempty"` // most servers do not know it
	shape
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Refusal string `json:"refusal,omitempty"` // only in answers
}

type chatAnswer struct {
	Choices     []chatChoice `json:"choices"`
	Usage       tokenUsage   `json:"usage"`
	ServiceTier string       `json:"service_tier"`
}

type chatChoice struct {
	Message      chatMessage `json:"message"`
	FinishReason string      `json:"finish_reason"`
}

type tokenUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	PromptDetails    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// Generate implements [llm.Generator].
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	var answer chatAnswer
	if err := c.api.Post(ctx, "/chat/completions", c.body(req), &answer); err != nil {
		return llm.Response{}, err
	}
	return answer.response(req.MaxTokens)
}

// body returns the body of a question. It contains the tier only if that is not the standard one, since many
// servers refuse unknown fields.
func (c *Client) body(req llm.Request) chatRequest {
	body := chatRequest{Model: c.model, Temperature: c.temperature, shape: shapeOf(c.lines, req)}
	if req.System != "" {
		body.Messages = append(body.Messages, chatMessage{Role: "system", Content: req.System})
	}
	body.Messages = append(body.Messages, chatMessage{Role: "user", Content: req.User})
	if c.newTokens {
		body.MaxCompletionTokens = max(req.MaxTokens, 0)
	} else {
		body.MaxTokens = max(req.MaxTokens, 0)
	}
	if req.Tier == llm.TierFlex {
		body.ServiceTier = "flex"
	}
	return body
}

// response converts an answer to a question with that limit; 0 if unknown.
func (a *chatAnswer) response(maxTokens int) (llm.Response, error) {
	if len(a.Choices) == 0 {
		err := errors.New("the answer holds no choice")
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultServer, Err: err}
	}
	resp := llm.Response{
		Text: a.Choices[0].Message.Content,
		Usage: llm.Usage{InputTokens: a.Usage.PromptTokens, OutputTokens: a.Usage.CompletionTokens,
			CachedTokens: a.Usage.PromptDetails.Cached},
		Tier: wire.Tier(a.ServiceTier),
	}
	resp.Finish = finish(a.Choices, resp, maxTokens)
	return resp, nil
}

// finish returns why the model stopped. Some servers omit the reason or write "eos". That is a normal stop if there
// is a text that is shorter than the limit.
func finish(choices []chatChoice, resp llm.Response, maxTokens int) llm.Finish {
	choice := choices[0]
	switch {
	case len(choices) > 1: // only one was requested
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

// embedRequest is the body of POST /embeddings. The vectors are requested as numbers, the only format that every
// server knows.
type embedRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

type embedAnswer struct {
	Data  []embedding `json:"data"`
	Usage tokenUsage  `json:"usage"`
}

type embedding struct {
	Index     int       `json:"index"`
	Embedding []float32 `json:"embedding"`
}

// Embed implements [llm.Embedder].
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	body := embedRequest{Model: c.model, Input: texts, EncodingFormat: "float"}
	name := c.model[strings.LastIndexByte(c.model, '/')+1:]
	if c.dims > 0 && strings.HasPrefix(name, "text-embedding-3-") {
		body.Dimensions = c.dims
	}
	var answer embedAnswer
	if err := c.api.Post(ctx, "/embeddings", body, &answer); err != nil {
		return nil, llm.Usage{}, wire.FailEmbedding(ctx, Provider, err)
	}
	usage := llm.Usage{InputTokens: answer.Usage.PromptTokens}
	vectors, err := inOrder(answer.Data, len(texts))
	if err != nil {
		return nil, usage, &llm.Error{Provider: Provider, Fault: llm.FaultServer, Embedding: true, Err: err}
	}
	return vectors, usage, nil
}

// inOrder sorts the vectors by their texts. If a server omits the index, its order is used.
func inOrder(data []embedding, want int) ([][]float32, error) {
	if len(data) != want {
		return nil, fmt.Errorf("%d embeddings for %d texts", len(data), want)
	}
	vectors := make([][]float32, want)
	numbered := false
	for _, d := range data {
		numbered = numbered || d.Index != 0
	}
	for i, d := range data {
		at := i
		if numbered {
			at = d.Index
		}
		if at < 0 || at >= want || vectors[at] != nil {
			return nil, fmt.Errorf("embedding %d of %d is numbered %d", i+1, want, d.Index)
		}
		vectors[at] = d.Embedding
	}
	return vectors, nil
}
