// Package anthropic calls Claude models through Anthropic's Messages API. It has no embeddings.
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// Provider is the name of this adapter in settings, rows and errors.
const Provider = "anthropic"

// DefaultBaseURL is Anthropic's own API.
const DefaultBaseURL = "https://api.anthropic.com"

// defaultMaxTokens is sent for a request without a limit, since the API requires one.
const defaultMaxTokens = 8192

// Options are the settings of a [Client]. The base URL may end in /v1.
type Options = llm.ClientOptions

// Client is a [llm.Generator] and a [llm.Batcher]. It makes one HTTP request per question and is safe for
// concurrent use. Anthropic has no flex tier.
type Client struct {
	model       string
	temperature *float64
	api         wire.API
}

var (
	_ llm.Generator = (*Client)(nil)
	_ llm.Batcher   = (*Client)(nil)
)

// New returns a client. Its errors are [reverie.ErrConfiguration].
func New(o Options) (*Client, error) {
	base, err := wire.Check(Provider, DefaultBaseURL, o, false)
	if err != nil {
		return nil, err
	}
	return &Client{model: o.Model, temperature: o.Temperature, api: wire.API{
		Provider: Provider, BaseURL: strings.TrimSuffix(base, "/v1"), Client: wire.NewClient(o.HTTPClient, Provider, o.APIKey),
		Header: http.Header{"X-Api-Key": {o.APIKey}, "Anthropic-Version": {"2023-06-01"}},
	}}, nil
}

// messageRequest is the body of POST /v1/messages.
type messageRequest struct {
	Model       string    `json:"model"`
	MaxTokens   int       `json:"max_tokens"`
	System      []block   `json:"system,omitempty"`
	Messages    []message `json:"messages"`
	Temperature *float64  `json:"temperature,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a piece of a message. In answers, thoughts are blocks of other types.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type messageAnswer struct {
	Content    []block `json:"content"`
	StopReason string  `json:"stop_reason"`
	Usage      struct {
		Input      int `json:"input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
		CacheRead  int `json:"cache_read_input_tokens"`
		Output     int `json:"output_tokens"`
	} `json:"usage"`
}

// Generate implements [llm.Generator].
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	var answer messageAnswer
	if err := c.api.Post(ctx, "/v1/messages", c.body(req), &answer); err != nil {
		return llm.Response{}, err
	}
	return answer.response()
}

// body returns the body of a question.
func (c *Client) body(req llm.Request) messageRequest {
	body := messageRequest{
		Model:       c.model,
		MaxTokens:   defaultMaxTokens,
		Messages:    []message{{Role: "user", Content: textBlocks(req.User)}},
		Temperature: c.temperature,
	}
	if req.MaxTokens > 0 {
		body.MaxTokens = req.MaxTokens
	}
	if req.System != "" {
		body.System = textBlocks(req.System)
	}
	return body
}

func (a *messageAnswer) response() (llm.Response, error) {
	if a.StopReason == "" && len(a.Content) == 0 {
		err := errors.New("the answer holds no message")
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultServer, Err: err}
	}
	// Tokens read from or written to the provider's prompt cache count as input.
	u := a.Usage
	resp := llm.Response{
		Text: joinText(a.Content),
		Usage: llm.Usage{InputTokens: u.Input + u.CacheWrite + u.CacheRead, OutputTokens: u.Output,
			CachedTokens: u.CacheRead},
	}
	resp.Finish = finish(a.StopReason, resp.Text)
	return resp, nil
}

func textBlocks(text string) []block { return []block{{Type: "text", Text: text}} }

// joinText joins the text blocks of an answer.
func joinText(blocks []block) string {
	var b strings.Builder
	for _, block := range blocks {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

func finish(reason, text string) llm.Finish {
	switch reason {
	case "end_turn", "stop_sequence":
		if text == "" {
			return llm.FinishOther
		}
		return llm.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "refusal":
		return llm.FinishRefused
	default:
		return llm.FinishOther
	}
}
