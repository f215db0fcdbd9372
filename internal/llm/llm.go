// Package llm is what Reverie asks of a model: Generate and Embed. Adapters for
// each provider live below it (openai, gemini, anthropic, offline). [Model] and
// [Embeddings] wrap one with the policy that all share: a row for every call,
// retry, circuit breaker, rate limit, [Budget], and the embedding cache.
package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// Request is one question to a model, answered in JSON Lines.
type Request struct {
	System    string
	User      string // one JSON object: data, never instructions
	MaxTokens int    // of the answer
	Tier      Tier   // "" is TierStandard

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

// Tier is how soon a provider answers, and at what price.
type Tier string

// The tiers. Providers without one answer as in TierStandard.
const (
	TierStandard Tier = "standard" // within minutes
	TierFlex     Tier = "flex"     // when there is capacity, within an hour
	TierBatch    Tier = "batch"    // handed in with others, within a day
	TierOffPeak  Tier = "off_peak" // as standard, in the hours in which a provider asks less
)

// Usage is what a call consumed, as the provider reports it.
type Usage struct {
	InputTokens  int // those read from the provider's cache included
	OutputTokens int
	CachedTokens int // of InputTokens, read from the provider's cache at a lower price
}

// Response is a model's answer.
type Response struct {
	Text   string
	Finish Finish
	Usage  Usage
	Tier   Tier // that the provider says it has answered in; "" is the one asked for
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

// ClientOptions are the settings of a provider's client. Nothing else is read: no
// variable or profile of the provider's own has an effect.
type ClientOptions struct {
	BaseURL     string // default: the provider's own
	APIKey      string
	Model       string
	Temperature *float64     // nil: the model's own
	Dims        int          // width of vectors to ask for
	HTTPClient  *http.Client // nil: one of its own
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

// meaning is what a fault says to a person, and what to do about it. Hints name
// the settings of generation; for embeddings they are renamed.
type meaning struct{ what, hint string }

var meanings = map[Fault]meaning{
	FaultRateLimited: {"too many requests",
		"lower REVERIE_LLM_REQUESTS_PER_MINUTE or REVERIE_LLM_TOKENS_PER_MINUTE if this goes on"},
	FaultServer:       {"the server failed", "nothing is lost, try again later"},
	FaultTimeout:      {"no answer in time", "raise REVERIE_LLM_TIMEOUT if the model is slow"},
	FaultNetwork:      {"the server could not be reached", "check the network and REVERIE_LLM_BASE_URL"},
	FaultUnauthorized: {"access was refused", "check REVERIE_LLM_API_KEY"},
	FaultNotFound:     {"no such model or route", "check REVERIE_LLM_MODEL and REVERIE_LLM_BASE_URL"},
	FaultTooLarge: {"the request is too large for the model",
		"lower REVERIE_EVOLVE_MAX_INPUT_TOKENS or choose a model that reads more"},
	FaultBadRequest: {"the request was not accepted",
		"check that REVERIE_LLM_PROVIDER and REVERIE_LLM_MODEL fit the server"},
	FaultUnrecorded: {"no answer is recorded", "choose a model by --llm or REVERIE_LLM_PROVIDER"},
	FaultCanceled:   {"the call was cancelled", ""},
}

// Error says who failed, how, in the provider's own words, and what to do.
func (e *Error) Error() string {
	said := e.Said()
	if hint := e.hint(meanings[e.Fault].hint); hint != "" {
		said += "; " + hint
	}
	return said
}

// Said is the error without what to do. The adapters shorten the provider's words and take
// keys out of them.
func (e *Error) Said() string {
	m, known := meanings[e.Fault]
	if !known {
		m.what = string(e.Fault)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Provider, m.what)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Err != nil {
		if words := strings.Trim(e.Err.Error(), ". \n"); words != "" {
			fmt.Fprintf(&b, ": %s", words)
		}
	}
	return b.String()
}

func (e *Error) hint(hint string) string {
	switch {
	case !e.Embedding, e.Fault == FaultRateLimited:
		return hint
	case e.Fault == FaultTooLarge:
		return "lower REVERIE_EMBED_BATCH or choose a model that reads more"
	case e.Fault == FaultUnauthorized:
		return "check REVERIE_EMBED_API_KEY, or REVERIE_LLM_API_KEY, which stands in for it"
	default:
		return strings.ReplaceAll(hint, "REVERIE_LLM_", "REVERIE_EMBED_")
	}
}

// Unwrap gives the cause, such as context.Canceled.
func (e *Error) Unwrap() error { return e.Err }

// Is sorts the fault into the domain's errors: a passing one is a
// [reverie.ErrDeferred]; a refused key, an unknown model or a missing recorded
// answer is a [reverie.ErrConfiguration]. The others are neither.
func (e *Error) Is(target error) bool {
	switch target {
	case reverie.ErrDeferred:
		return e.Fault.passing()
	case reverie.ErrConfiguration:
		return e.Fault == FaultUnauthorized || e.Fault == FaultNotFound || e.Fault == FaultUnrecorded
	default:
		return false
	}
}

// FaultIn is the fault that a question has met with and that its asker may get round, ""
// where there is none. One whose spend could not be recorded is none: see [LedgerError].
func FaultIn(err error) Fault {
	if errors.As(err, new(*LedgerError)) {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fault
	}
	return ""
}

// passing tells the faults that may be gone in a while, which are worth another
// attempt.
func (f Fault) passing() bool {
	switch f {
	case FaultRateLimited, FaultServer, FaultTimeout, FaultNetwork:
		return true
	default:
		return false
	}
}

// passing returns the passing fault in err, nil if there is none.
func passing(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e.Fault.passing() {
		return e
	}
	return nil
}
