// Package gemini calls Google's models through the Gemini API.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
	"reverie/internal/reverie"
)

// Provider is the name of this adapter in settings, rows and errors.
const Provider = "gemini"

// DefaultBaseURL is Google's own API.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Options are the settings of a [Client]. The base URL may end in a version, such as /v1beta. Vectors have
// llm.DefaultDims unless another width is requested.
type Options = llm.ClientOptions

// Client is a [llm.Generator], a [llm.Embedder] and a [llm.Batcher]. It makes one HTTP request per question and is
// safe for concurrent use.
type Client struct {
	model       string
	temperature *float32
	dims        int
	inline      int64 // maximum size of questions inside a batch request
	sdk         *genai.Client
	api         wire.API // for calls that the SDK lacks, or whose data it would keep in memory
}

var (
	_ llm.Generator = (*Client)(nil)
	_ llm.Embedder  = (*Client)(nil)
	_ llm.Batcher   = (*Client)(nil)
)

// New returns a client. Its errors are [reverie.ErrConfiguration].
func New(o Options) (*Client, error) {
	base, err := wire.Check(Provider, DefaultBaseURL, o, false)
	if err != nil {
		return nil, err
	}
	base, version := splitVersion(base)
	caller := wire.NewClient(o.HTTPClient, Provider, o.APIKey)
	// Backend, key and URL are all set, so that the SDK takes none of them from the environment. Without retry options
	// it does not retry.
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey:      o.APIKey,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  caller,
		HTTPOptions: genai.HTTPOptions{BaseURL: base + "/", APIVersion: version},
	})
	if err != nil { // its message may contain the whole configuration, including the key
		return nil, fmt.Errorf("%s: the SDK refuses the settings: %w: check REVERIE_LLM_BASE_URL and REVERIE_LLM_API_KEY",
			Provider, reverie.ErrConfiguration)
	}
	c := &Client{model: o.Model, dims: o.Dims, inline: inlineBytes, sdk: client, api: wire.API{Provider: Provider,
		BaseURL: base + "/" + version, Header: http.Header{"X-Goog-Api-Key": {o.APIKey}}, Client: caller}}
	if c.dims <= 0 {
		c.dims = llm.DefaultDims
	}
	if o.Temperature != nil {
		c.temperature = genai.Ptr(float32(*o.Temperature))
	}
	return c, nil
}

// splitVersion separates the API's version from a base URL, as copied from examples; the SDK wants it separately.
func splitVersion(base string) (string, string) {
	for _, version := range []string{"v1beta", "v1alpha", "v1"} {
		if rest, found := strings.CutSuffix(base, "/"+version); found {
			return rest, version
		}
	}
	return base, "v1beta"
}

// Generate implements [llm.Generator]. The SDK returns no error for a blocked prompt or a truncated answer. So an
// answer is complete only if it has exactly one candidate with the reason STOP.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	answer, err := wire.Ask(ctx, Provider, func() (*genai.GenerateContentResponse, error) {
		return c.sdk.Models.GenerateContent(ctx, c.model, genai.Text(req.User), c.config(req))
	})
	if err != nil {
		return llm.Response{}, err
	}
	return response(answer)
}

func (c *Client) config(req llm.Request) *genai.GenerateContentConfig {
	config := &genai.GenerateContentConfig{
		Temperature:           c.temperature,
		MaxOutputTokens:       int32(min(max(req.MaxTokens, 0), 1<<30)),
		AutomaticContinuation: genai.Ptr(false), // would make further, hidden requests
	}
	if req.System != "" {
		config.SystemInstruction = genai.NewContentFromText(req.System, genai.RoleUser)
	}
	if req.Tier == llm.TierFlex {
		config.ServiceTier = genai.ServiceTierFlex
	}
	return config
}

func response(answer *genai.GenerateContentResponse) (llm.Response, error) {
	resp := llm.Response{Usage: usage(answer.UsageMetadata), Tier: tier(answer)}
	blocked := answer.PromptFeedback != nil && answer.PromptFeedback.BlockReason != ""
	switch {
	case blocked:
		resp.Finish = llm.FinishRefused
	case len(answer.Candidates) == 0 || answer.Candidates[0] == nil:
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultServer,
			Err: errors.New("the answer holds no candidate")}
	default:
		resp.Text = text(answer.Candidates[0])
		resp.Finish = finish(answer.Candidates, resp.Text)
	}
	return resp, nil
}

// tier reads the tier from a header, which batch answers do not have.
func tier(answer *genai.GenerateContentResponse) llm.Tier {
	if answer.SDKHTTPResponse == nil {
		return ""
	}
	return wire.Tier(answer.SDKHTTPResponse.Headers.Get("X-Gemini-Service-Tier"))
}

// text joins the parts of an answer without the model's thoughts.
func text(candidate *genai.Candidate) string {
	if candidate.Content == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range candidate.Content.Parts {
		if part != nil && !part.Thought {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

func finish(candidates []*genai.Candidate, text string) llm.Finish {
	if len(candidates) != 1 {
		return llm.FinishOther
	}
	switch candidates[0].FinishReason {
	case genai.FinishReasonStop:
		if text == "" {
			return llm.FinishOther
		}
		return llm.FinishStop
	case genai.FinishReasonMaxTokens:
		return llm.FinishLength
	case genai.FinishReasonSafety, genai.FinishReasonProhibitedContent, genai.FinishReasonSPII,
		genai.FinishReasonBlocklist, genai.FinishReasonRecitation:
		return llm.FinishRefused
	default:
		return llm.FinishOther
	}
}

// usage counts thoughts as output, as they are billed.
func usage(u *genai.GenerateContentResponseUsageMetadata) llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	return llm.Usage{
		InputTokens:  int(u.PromptTokenCount) + int(u.ToolUsePromptTokenCount),
		OutputTokens: int(u.CandidatesTokenCount) + int(u.ThoughtsTokenCount),
		CachedTokens: int(u.CachedContentTokenCount),
	}
}

// Embed implements [llm.Embedder]. The vectors are scaled to length one, since the API does so only at the model's
// full width. Google reports no usage for embeddings, so it is zero here.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	contents := make([]*genai.Content, len(texts))
	for i, text := range texts {
		contents[i] = genai.NewContentFromText(text, genai.RoleUser)
	}
	answer, err := wire.Ask(ctx, Provider, func() (*genai.EmbedContentResponse, error) {
		return c.sdk.Models.EmbedContent(ctx, c.model, contents,
			&genai.EmbedContentConfig{OutputDimensionality: genai.Ptr(int32(c.dims))})
	})
	if err != nil {
		return nil, llm.Usage{}, wire.FailEmbedding(ctx, Provider, err)
	}
	if len(answer.Embeddings) != len(texts) {
		return nil, llm.Usage{}, &llm.Error{Provider: Provider, Fault: llm.FaultServer, Embedding: true,
			Err: fmt.Errorf("%d embeddings for %d texts", len(answer.Embeddings), len(texts))}
	}
	vectors := make([][]float32, len(texts))
	for i, e := range answer.Embeddings {
		if e != nil {
			vectors[i] = normalized(e.Values)
		}
	}
	return vectors, llm.Usage{}, nil
}

// normalized scales v to length one. A zero vector stays unchanged; the caller refuses it.
func normalized(v []float32) []float32 {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if norm := math.Sqrt(square); norm > 0 && !math.IsInf(norm, 0) {
		for i, x := range v {
			v[i] = float32(float64(x) / norm)
		}
	}
	return v
}
