package decide

import (
	"context"
	"log/slog"

	"reverie"
	"reverie/llm"
	"reverie/prompts"
)

// Store finds the memories that come near a fact.
type Store interface {
	Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Hit, error)
}

// Model compares.
type Model interface {
	Generate(ctx context.Context, meta llm.Meta, req llm.Request) (llm.Response, error)
	Name() string // provider/model
}

// Embeddings turns statements into vectors.
type Embeddings interface {
	Embed(ctx context.Context, meta llm.Meta, texts []string) ([][]float32, error)
	Key() string // model@dims
}

// Fallback says what becomes of a fact whose comparison failed.
type Fallback string

// The fallbacks.
const (
	FallbackAdd  Fallback = "add"
	FallbackSkip Fallback = "skip"
	FallbackHold Fallback = "hold"
)

// Options bounds a comparison. All are positive.
type Options struct {
	TopK            int     // candidates of one fact at most
	MinScore        float64 // of a candidate, 0..1
	Fallback        Fallback
	MaxCalls        int // questions of one run; beyond it the fallback applies
	MaxOutputTokens int // of an answer
}

// Layer decides by comparing: see the package. Its fields are set once; it is
// safe for concurrent use on different groups.
type Layer struct {
	Store      Store
	Model      Model
	Embeddings Embeddings // nil: only the exact text is looked up
	// EmbeddingsOptional makes a failing embedder a warning: only the exact text is
	// looked up then.
	EmbeddingsOptional bool
	Prompts            *prompts.Set
	Calibration        reverie.Calibration // of Embeddings
	Journal            llm.Journal         // nil: answers are not kept
	Options            Options
	Log                *slog.Logger
}
