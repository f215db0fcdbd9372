package offline

import (
	"context"
	"sync"

	"reverie/internal/llm"
	"reverie/internal/text"
)

// Names of what this package computes. They change whenever the same input
// would give another result, so that stored vectors are never mixed.
const (
	EmbeddingModel  = "offline-ngram-v1"
	GenerationModel = "offline-extractive-v2"
	provider        = "offline"
)

// DefaultDims is the width of the vectors unless New is told another.
const DefaultDims = 1536

// Model is both a [llm.Generator] and a [llm.Embedder]. It is safe for
// concurrent use.
type Model struct {
	dims int
	bags sync.Pool // *bag, reused between texts
}

var (
	_ llm.Generator = (*Model)(nil)
	_ llm.Embedder  = (*Model)(nil)
)

// New returns a model whose vectors are dims wide, DefaultDims if dims is not
// positive.
func New(dims int) *Model {
	if dims <= 0 {
		dims = DefaultDims
	}
	return &Model{dims: dims, bags: sync.Pool{New: func() any { return newBag() }}}
}

// Generate answers the user part of the prompts memory_evolve, memory_compare,
// impression_observe, session_extract, session_summarize and dream with JSON Lines;
// the system part is not read. Any other input is an [*llm.Error] with
// FaultBadRequest. The usage is estimated.
func (m *Model) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, &llm.Error{Provider: provider, Fault: llm.FaultTimeout, Err: err}
	}
	s, whole, err := answer(req.User, req.MaxTokens)
	if err != nil {
		return llm.Response{}, &llm.Error{Provider: provider, Fault: llm.FaultBadRequest, Err: err}
	}
	resp := llm.Response{Text: s, Finish: llm.FinishStop, Usage: llm.Usage{
		InputTokens:  text.EstimateTokens(req.System) + text.EstimateTokens(req.User),
		OutputTokens: text.EstimateTokens(s),
	}}
	if !whole {
		resp.Finish = llm.FinishLength
	}
	return resp, nil
}

// Embed returns one vector of length one for each text, in order. It fails only
// when ctx has ended.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	vectors := make([][]float32, len(texts))
	var usage llm.Usage
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, usage, &llm.Error{Provider: provider, Fault: llm.FaultTimeout, Err: err}
		}
		vectors[i] = m.vector(s)
		usage.InputTokens += text.EstimateTokens(s)
	}
	return vectors, usage, nil
}
