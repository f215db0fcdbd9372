// Package gemini asks Google's models through the Gemini API.
package gemini

import (
	"context"
	"math"
	"path"
	"strings"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// Provider is how this adapter is called in settings, rows and errors.
const Provider = "gemini"

// DefaultBaseURL is Google's own.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Options are the settings of a [Client]. The base URL may end in a version, such as
// /v1beta. The width of vectors is llm.DefaultDims unless another is asked for.
type Options = llm.ClientOptions

// Client is a [llm.Generator] and a [llm.Embedder]. It makes one HTTP request a
// call and is safe for concurrent use.
type Client struct {
	model       string // models/gemini-2.5-flash
	temperature *float64
	dims        int
	api         *wire.API
}

var (
	_ llm.Generator = (*Client)(nil)
	_ llm.Embedder  = (*Client)(nil)
)

// New returns a client. Its errors are [reverie.ErrConfiguration].
func New(o Options) (*Client, error) {
	api, err := wire.New(Provider, DefaultBaseURL, o, false)
	if err != nil {
		return nil, err
	}
	switch path.Base(api.BaseURL) {
	case "v1", "v1alpha", "v1beta": // people copy it from examples
	default:
		api.BaseURL += "/v1beta"
	}
	api.Header.Set("X-Goog-Api-Key", o.APIKey)
	c := &Client{model: o.Model, temperature: o.Temperature, dims: o.Dims, api: api}
	if !strings.Contains(c.model, "/") { // else it is models/ or tunedModels/ already
		c.model = "models/" + c.model
	}
	if c.dims <= 0 {
		c.dims = llm.DefaultDims
	}
	return c, nil
}

// content is one side of a dialogue. In answers, thoughts are parts that say so.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought,omitempty"`
}

func said(role, text string) content { return content{role, []part{{Text: text}}} }

// generateRequest is the body of POST /models/...:generateContent.
type generateRequest struct {
	Contents          []content `json:"contents"`
	SystemInstruction *content  `json:"systemInstruction,omitempty"`
	GenerationConfig  struct {
		Temperature     *float64 `json:"temperature,omitempty"`
		MaxOutputTokens int      `json:"maxOutputTokens,omitempty"`
	} `json:"generationConfig"`
}

type generateAnswer struct {
	Candidates     []candidate `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata struct {
		Prompt     int `json:"promptTokenCount"`
		ToolPrompt int `json:"toolUsePromptTokenCount"`
		Candidates int `json:"candidatesTokenCount"`
		Thoughts   int `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
}

type candidate struct {
	Content      content `json:"content"`
	FinishReason string  `json:"finishReason"`
}

// Generate implements [llm.Generator]. Only what comes as exactly one candidate with the
// reason STOP is a whole answer.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	body := generateRequest{Contents: []content{said("user", req.User)}}
	body.GenerationConfig.Temperature = c.temperature
	body.GenerationConfig.MaxOutputTokens = min(max(req.MaxTokens, 0), 1<<30)
	if req.System != "" {
		system := said("", req.System)
		body.SystemInstruction = &system
	}
	var answer generateAnswer
	if err := c.api.Post(ctx, "/"+c.model+":generateContent", body, &answer); err != nil {
		return llm.Response{}, err
	}
	u := answer.UsageMetadata // thoughts are billed as output
	resp := llm.Response{Usage: llm.Usage{InputTokens: u.Prompt + u.ToolPrompt, OutputTokens: u.Candidates + u.Thoughts}}
	switch {
	case answer.PromptFeedback.BlockReason != "":
		resp.Finish = llm.FinishRefused
	case len(answer.Candidates) == 0:
		return llm.Response{}, c.api.Fail("the answer holds no candidate")
	default:
		resp.Text = text(answer.Candidates[0])
		resp.Finish = finish(answer.Candidates, resp.Text)
	}
	return resp, nil
}

// text joins the parts of an answer, without the model's thoughts.
func text(from candidate) string {
	var b strings.Builder
	for _, part := range from.Content.Parts {
		if !part.Thought {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

func finish(candidates []candidate, text string) llm.Finish {
	if len(candidates) != 1 {
		return llm.FinishOther
	}
	switch candidates[0].FinishReason {
	case "STOP":
		if text == "" {
			return llm.FinishOther
		}
		return llm.FinishStop
	case "MAX_TOKENS":
		return llm.FinishLength
	case "SAFETY", "PROHIBITED_CONTENT", "SPII", "BLOCKLIST", "RECITATION":
		return llm.FinishRefused
	default:
		return llm.FinishOther
	}
}

// embedRequest asks for one vector; POST /models/...:batchEmbedContents takes several.
type embedRequest struct {
	Model   string  `json:"model"`
	Content content `json:"content"`
	Dims    int     `json:"outputDimensionality"`
}

// Embed implements [llm.Embedder]. The vectors are scaled to length one, since
// the API does so only at the model's full width. Google reports no usage for
// embeddings, so it is zero here.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	var body struct {
		Requests []embedRequest `json:"requests"`
	}
	for _, text := range texts {
		body.Requests = append(body.Requests, embedRequest{c.model, said("user", text), c.dims})
	}
	var answer struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
	if err := c.api.PostForVectors(ctx, "/"+c.model+":batchEmbedContents", body, &answer); err != nil {
		return nil, llm.Usage{}, err
	}
	if len(answer.Embeddings) != len(texts) {
		err := c.api.Fail("%d embeddings for %d texts", len(answer.Embeddings), len(texts))
		err.Embedding = true
		return nil, llm.Usage{}, err
	}
	vectors := make([][]float32, len(texts))
	for i, e := range answer.Embeddings {
		vectors[i] = normalized(e.Values)
	}
	return vectors, llm.Usage{}, nil
}

// normalized scales v to length one. A vector without a length stays as it is,
// for the caller to refuse.
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
