package openai

import (
	"context"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// Embed implements [llm.Embedder]. The vectors are asked for as numbers, the
// one format that every server knows.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	params := openai.EmbeddingNewParams{
		Model:          c.model,
		Input:          openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
		EncodingFormat: openai.EmbeddingNewParamsEncodingFormatFloat,
	}
	if c.dims > 0 && strings.HasPrefix(c.model[strings.LastIndexByte(c.model, '/')+1:], "text-embedding-3-") {
		params.Dimensions = param.NewOpt(int64(c.dims))
	}
	answer, err := c.embeddings.New(ctx, params)
	if err != nil {
		e := *wire.Fail(ctx, Provider, err)
		e.Embedding = true
		return nil, llm.Usage{}, &e
	}
	usage := llm.Usage{InputTokens: int(answer.Usage.PromptTokens)}
	vectors, err := inOrder(answer.Data, len(texts))
	if err != nil {
		return nil, usage, &llm.Error{Provider: Provider, Fault: llm.FaultServer, Embedding: true, Err: err}
	}
	return vectors, usage, nil
}

// inOrder puts the vectors into the order of their texts. A server that leaves
// the index out is taken to answer in order.
func inOrder(data []openai.Embedding, want int) ([][]float32, error) {
	if len(data) != want {
		return nil, fmt.Errorf("%d embeddings for %d texts", len(data), want)
	}
	vectors := make([][]float32, want)
	numbered := false
	for _, d := range data {
		numbered = numbered || d.Index != 0
	}
	for i, d := range data {
		at := int64(i)
		if numbered {
			at = d.Index
		}
		if at < 0 || at >= int64(want) || vectors[at] != nil {
			return nil, fmt.Errorf("embedding %d of %d is numbered %d", i+1, want, d.Index)
		}
		vectors[at] = narrow(d.Embedding)
	}
	return vectors, nil
}

func narrow(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}
