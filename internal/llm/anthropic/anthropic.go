// Package anthropic asks Claude models through Anthropic's Messages API. It
// has no embeddings.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
	"reverie/internal/reverie"
)

// Provider is how this adapter is called in settings, rows and errors.
const Provider = "anthropic"

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// defaultMaxTokens is sent where a request sets no limit, since the API insists
// on one.
const defaultMaxTokens = 8192

// Options are the settings of a [Client]. Nothing else is read: no ANTHROPIC_*
// variable and no profile file has an effect.
type Options struct {
	BaseURL     string // default DefaultBaseURL; may end in /v1
	APIKey      string
	Model       string
	Temperature *float64     // nil: the model's own
	HTTPClient  *http.Client // nil: one of its own
}

// Client is a [llm.Generator]. It makes one HTTP request a call and is safe for
// concurrent use.
type Client struct {
	model       string
	temperature *float64
	messages    anthropic.MessageService
}

var _ llm.Generator = (*Client)(nil)

// New returns a client. Its errors are [reverie.ErrConfiguration].
func New(o Options) (*Client, error) {
	base, err := wire.Endpoint(Provider, o.BaseURL, DefaultBaseURL)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckKey(Provider, o.APIKey); err != nil {
		return nil, err
	}
	if o.APIKey == "" {
		return nil, fmt.Errorf("%s: no API key: %w: set REVERIE_LLM_API_KEY", Provider, reverie.ErrConfiguration)
	}
	if o.Model == "" {
		return nil, fmt.Errorf("%s: no model is named: %w: set REVERIE_LLM_MODEL", Provider, reverie.ErrConfiguration)
	}
	// The service is made by itself because the SDK's client, unlike it, reads
	// the environment.
	return &Client{model: o.Model, temperature: o.Temperature, messages: anthropic.NewMessageService(
		option.WithBaseURL(strings.TrimSuffix(base, "/v1")+"/"),
		option.WithAPIKey(o.APIKey),
		option.WithHTTPClient(wire.NewClient(o.HTTPClient, Provider, o.APIKey)),
		option.WithMaxRetries(0),
		// The caller's context bounds the call; without this the SDK refuses
		// long answers that are not streamed.
		option.WithRequestTimeout(24*time.Hour),
	)}, nil
}

// Generate implements [llm.Generator].
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	params := anthropic.MessageNewParams{
		Model:     anthropic.Model(c.model),
		MaxTokens: defaultMaxTokens,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(req.User))},
	}
	if req.MaxTokens > 0 {
		params.MaxTokens = int64(req.MaxTokens)
	}
	if req.System != "" {
		params.System = []anthropic.TextBlockParam{{Text: req.System}}
	}
	if c.temperature != nil {
		params.Temperature = param.NewOpt(*c.temperature)
	}
	answer, err := c.messages.New(ctx, params)
	if err != nil {
		return llm.Response{}, wire.Fail(ctx, Provider, err)
	}
	if answer == nil || answer.StopReason == "" && len(answer.Content) == 0 {
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultServer, Err: errors.New("the answer holds no message")}
	}
	resp := llm.Response{Text: text(answer.Content), Usage: usage(answer.Usage)}
	resp.Finish = finish(answer.StopReason, resp.Text)
	return resp, nil
}

// text joins the text blocks of an answer; thoughts are blocks of their own.
func text(blocks []anthropic.ContentBlockUnion) string {
	var b strings.Builder
	for _, block := range blocks {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

func finish(reason anthropic.StopReason, text string) llm.Finish {
	switch reason {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
		if text == "" {
			return llm.FinishOther
		}
		return llm.FinishStop
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return llm.FinishLength
	case anthropic.StopReasonRefusal:
		return llm.FinishRefused
	default:
		return llm.FinishOther
	}
}

// usage counts what was read from or written to the provider's prompt cache as
// input.
func usage(u anthropic.Usage) llm.Usage {
	return llm.Usage{
		InputTokens:  int(u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens),
		OutputTokens: int(u.OutputTokens),
	}
}
