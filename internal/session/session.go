// Package session is what a bot needs between two nights. It reads the dialogue
// of one session that has not been read yet, asks a model for lasting facts and a
// summary, checks the answer and applies it as memories of kind session; and it
// folds older turns into a rolling summary, so that short-term memory stays short.
//
// A run is one session: none or more chunks of extraction, then a fold where that
// is due. A chunk goes through the same steps as one of evolve, a file each:
// gather, propose, parse, check, decide, apply.
package session

import (
	"context"
	"log/slog"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/prompts"
)

// Store is what sessions are read from and memories written to. Each method is one
// transaction; those that take a lease refuse it, with [reverie.ErrLeaseLost],
// once another holder has it.
type Store interface {
	GatherSession(ctx context.Context, q reverie.SessionQuery) (reverie.SessionState, error)
	GatherFold(ctx context.Context, groupID, sessionID string) (reverie.FoldState, error)
	Ledger
	Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Hit, error)
	Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error)
	ApplyFold(ctx context.Context, lease reverie.Lease, fold reverie.SessionFold) error
	NoteFold(ctx context.Context, groupID, sessionID string, rule reverie.ParkRule) (retry time.Time, err error)
}

// Ledger keeps the rows of runs and chunks.
type Ledger interface {
	pipeline.Ledger
	ResumeSession(ctx context.Context, lease reverie.Lease, job reverie.Job, sessionID string) (*reverie.Run,
		*reverie.Chunk, error)
	pipeline.History
}

// Limits bounds a run.
type Limits struct {
	MaxMessages      int // of a chunk
	MaxInputTokens   int // estimated tokens of a chunk's input
	MaxOutputTokens  int // of an answer of Model
	MaxSummaryTokens int // of an answer of Summarizer
	MaxFacts         int // of a chunk
	MinConfidence    float64
	AutoTag          bool    // facts carry their type and the model's tags besides the tag session
	MaxShown         int     // facts of earlier that the model sees
	HoldRatio        float64 // share of the group's session facts that a run may rewrite or delete
	HoldMin          int     // but always at least so many
}

// Pipeline extracts sessions. Its fields are set once; it is safe for concurrent
// use on different groups.
type Pipeline struct {
	Store              Store
	Model              pipeline.Model // extracts
	Summarizer         pipeline.Model // folds
	Prompts            *prompts.Set
	Journal            llm.Journal // nil: answers are not kept
	Decider            decide.Decider
	Embeddings         pipeline.Embeddings // nil: statements are stored without vectors
	EmbeddingsOptional bool
	Limits             Limits
	Rule               reverie.SessionRule
	Retry              reverie.ParkRule // of folds that fail
	// that ends a session, in groups that do not say otherwise; 0 is reverie.DefaultSessionSilence
	Silence  time.Duration
	Privacy  safety.Privacy // of what the model is shown
	Now      func() time.Time
	Log      *slog.Logger
	Progress func(Progress) // nil: nobody watches
	// Phase is told when a step begins; it returns the step's context and what to
	// call at its end. nil: nobody watches.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
}

// Progress is how far a run has come, after each chunk.
type Progress struct {
	GroupID   string
	SessionID string
	Chunk     int
	Done      int // messages extracted
}

// Request says which session to extract.
type Request struct {
	GroupID   string
	SessionID string
	// Due takes only what the rule says is due, as it stands under the lease;
	// otherwise everything that can be extracted is, and the rule decides on the fold
	// alone.
	Due    bool
	DryRun bool // plan the first chunk only: nothing is written but call rows and cached embeddings
}

// Result is what a run did, as far as it came. Of its counts, Cited, Considered and
// Filtered are messages extracted, Deferred those that stay in the buffer.
type Result struct {
	pipeline.Result
	SessionID string
	Summary   string                  // the session's summary memory as renewed now, "" if it was not
	Folded    *reverie.SessionSummary // the rolling summary as renewed now
	Recaps    []string                // of Changes, the ids of the versions of the summary memory
}
