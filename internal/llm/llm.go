// Package llm defines calls to a model: Generate and Embed. Adapters for the providers are below it (openai,
// gemini, anthropic, offline). [Model] and [Embeddings] add the common policy to one: a row for every call,
// retries, a circuit breaker, a rate limit, [Budget], and the embedding cache.
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

// Request is one question to a model, to be answered in JSON Lines.
type Request struct {
	System    string
	User      string // one JSON object with data, never instructions
	MaxTokens int    // of the answer
	Tier      Tier   // "" is TierStandard

	// Prompt and PromptVersion identify the prompt of the question, for traces and for the form of its lines: see
	// [Lines].
	Prompt, PromptVersion string
}

// Finish is why a model stopped.
type Finish string

// The reasons to stop. Only FinishStop is a complete answer.
const (
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length"  // truncated: never repaired
	FinishRefused Finish = "refused" // refusal, content filter, blocked prompt
	FinishOther   Finish = "other"   // anything a provider may add; not accepted
)

// Tier is a provider's service level: how soon it answers, and its price.
type Tier string

// The tiers. Providers without tiers treat all as TierStandard.
const (
	TierStandard Tier = "standard" // within minutes
	TierFlex     Tier = "flex"     // when there is capacity, within an hour
	TierBatch    Tier = "batch"    // submitted in a batch, answered within a day
	TierOffPeak  Tier = "off_peak" // like standard, in the hours in which the provider charges less
)

// Lines is how a server restricts an answer to the form of its prompt's lines.
type Lines string

// The ways of restricting answers. Only servers of the openai kind know them.
const (
	LinesFree    Lines = "free"    // not restricted: the prompt asks, and the reader is lenient
	LinesSchema  Lines = "schema"  // response_format: OpenAI, Ollama and compatible servers
	LinesGrammar Lines = "grammar" // GBNF: llama.cpp, vLLM
)

// Usage is what a call consumed, as the provider reports it.
type Usage struct {
	InputTokens  int // including those from the provider's cache
	OutputTokens int
	CachedTokens int // of InputTokens: from the provider's cache, at a lower price
}

// Response is a model's answer.
type Response struct {
	Text   string
	Finish Finish
	Usage  Usage
	Tier   Tier // as the provider reports it; "" is the requested one
}

// Generator answers one request with one call, without retries. Its errors are *[Error].
type Generator interface {
	Generate(ctx context.Context, req Request) (Response, error)
}

// Embedder embeds texts, in order, with one call, without retries. Its errors are *[Error].
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, Usage, error)
}

// ClientOptions are the settings of a provider's client. The client reads nothing else, such as a provider's
// environment variables or profiles.
type ClientOptions struct {
	BaseURL     string // default: the provider's own
	APIKey      string
	Model       string
	Temperature *float64     // nil: the model's default
	Dims        int          // requested width of vectors
	Lines       Lines        // "" is LinesFree
	HTTPClient  *http.Client // nil: the client creates one
}

// Fault is the kind of a failed call.
type Fault string

// The faults. Transient ones are retried and end as reverie.ErrDeferred; FaultUnauthorized, FaultNotFound and
// FaultUnrecorded end as reverie.ErrConfiguration.
const (
	FaultRateLimited  Fault = "rate_limited" // 429
	FaultServer       Fault = "server_error" // 5xx, or an unreadable body
	FaultTimeout      Fault = "timeout"
	FaultNetwork      Fault = "network"
	FaultUnauthorized Fault = "unauthorized" // 401, 403
	FaultNotFound     Fault = "not_found"    // 404: the model or route does not exist
	FaultTooLarge     Fault = "too_large"    // 413, or a context length exceeded
	FaultBadRequest   Fault = "bad_request"  // other 4xx
	FaultUnrecorded   Fault = "unrecorded"   // a recording has no answer to the question
	FaultCanceled     Fault = "canceled"     // the caller gave up; this says nothing about the provider
)

// Error is a failed call.
type Error struct {
	Provider   string
	Fault      Fault
	Status     int           // HTTP status, 0 without one
	RetryAfter time.Duration // as the provider requests, 0 if it does not
	Err        error
	Embedding  bool // the call was for vectors, which have their own settings
}

// meaning is how a fault is explained to a person, and the remedy. Hints name the settings of generation; for
// embeddings they are replaced.
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

// Error says who failed and how, with the provider's message and the remedy.
func (e *Error) Error() string {
	said := e.Said()
	if hint := e.hint(meanings[e.Fault].hint); hint != "" {
		said += "; " + hint
	}
	return said
}

// Said is the error without the remedy. The adapters shorten the provider's message and remove keys from it.
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

// Unwrap returns the cause, such as context.Canceled.
func (e *Error) Unwrap() error { return e.Err }

// Is maps the fault to the domain's errors. A transient fault is a [reverie.ErrDeferred]. A refused key, an unknown
// model or a missing recorded answer is a [reverie.ErrConfiguration]. Others are neither.
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

// FaultIn returns the fault of a question that its caller may be able to avoid, "" if there is none. It returns ""
// if the spend could not be recorded: see [LedgerError].
func FaultIn(err error) Fault {
	if errors.As(err, new(*LedgerError)) {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fault
	}
	return ""
}

// passing reports whether a fault is transient, so that another attempt may succeed.
func (f Fault) passing() bool {
	switch f {
	case FaultRateLimited, FaultServer, FaultTimeout, FaultNetwork:
		return true
	default:
		return false
	}
}

// passing returns the transient fault in err, nil if there is none.
func passing(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e.Fault.passing() {
		return e
	}
	return nil
}
