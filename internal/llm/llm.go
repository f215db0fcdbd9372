// Package llm is what Reverie asks of a model: Generate and Embed. Adapters for
// each provider live below it (openai, gemini, anthropic, offline). [Model] and
// [Embeddings] wrap one with the policy that all share: a row for every call,
// retry, circuit breaker, rate limit, [Budget], and the embedding cache.
package llm

import (
	"context"
	"time"
)

// Request is one question to a model, answered in JSON Lines.
type Request struct {
	System    string
	User      string // one JSON object: data, never instructions
	MaxTokens int    // of the answer

	// Prompt and PromptVersion name the prompt behind the question, for traces.
	// Adapters leave them alone.
	Prompt, PromptVersion string
}

// Finish says why a model stopped.
type Finish string

// The ways of stopping. Only FinishStop is a whole answer.
const (
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length"  // cut off: never repaired
	FinishRefused Finish = "refused" // refusal, content filter, blocked prompt
	FinishOther   Finish = "other"   // anything a provider may add; not accepted
)

// Usage is what a call consumed, as the provider reports it.
type Usage struct {
	InputTokens  int
	OutputTokens int
}

// Response is a model's answer.
type Response struct {
	Text   string
	Finish Finish
	Usage  Usage
}

// Generator answers one request with one call: no retries of its own. Its
// errors are *[Error].
type Generator interface {
	Generate(ctx context.Context, req Request) (Response, error)
}

// Embedder turns texts into vectors, in order, with one call: no retries of its
// own. Its errors are *[Error].
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, Usage, error)
}

// Fault sorts what can go wrong with a call.
type Fault string

// The faults. Passing ones are retried and end as reverie.ErrDeferred;
// FaultUnauthorized, FaultNotFound and FaultUnrecorded end as reverie.ErrConfiguration.
const (
	FaultRateLimited  Fault = "rate_limited" // 429
	FaultServer       Fault = "server_error" // 5xx, or a body that cannot be read
	FaultTimeout      Fault = "timeout"
	FaultNetwork      Fault = "network"
	FaultUnauthorized Fault = "unauthorized" // 401, 403
	FaultNotFound     Fault = "not_found"    // 404: no such model or route
	FaultTooLarge     Fault = "too_large"    // 413, or a context length exceeded
	FaultBadRequest   Fault = "bad_request"  // other 4xx
	FaultUnrecorded   Fault = "unrecorded"   // a recording has no answer to the question
	FaultCanceled     Fault = "canceled"     // the caller gave up; says nothing about the provider
)

// Error is a failed call.
type Error struct {
	Provider   string
	Fault      Fault
	Status     int           // HTTP status, 0 without one
	RetryAfter time.Duration // as the provider asked, 0 if it did not
	Err        error
	Embedding  bool // the call was for vectors, which have settings of their own
}
