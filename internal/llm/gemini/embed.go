package gemini

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/genai"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// Embed implements [llm.Embedder]. The vectors are scaled to length one, since
// the API does so only at the model's full width. Google reports no usage for
// embeddings, so it is zero here.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	contents := make([]*genai.Content, len(texts))
	for i, text := range texts {
		contents[i] = genai.NewContentFromText(text, genai.RoleUser)
	}
	var answer *genai.EmbedContentResponse
	err := wire.Guard(func() (err error) {
		answer, err = c.models.EmbedContent(ctx, c.model, contents,
			&genai.EmbedContentConfig{OutputDimensionality: genai.Ptr(int32(c.dims))})
		return err
	})
	if err != nil {
		e := *wire.Fail(ctx, Provider, err)
		e.Embedding = true
		return nil, llm.Usage{}, &e
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
