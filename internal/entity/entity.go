package entity

import (
	"context"
	"log/slog"
	"time"

	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/prompts"
)

// Store is what impression reads and writes. Each method is one transaction;
// those that take a lease refuse it, with [reverie.ErrLeaseLost], once another
// holder has it.
type Store interface {
	GatherEntities(ctx context.Context, q reverie.EntityQuery) (reverie.EntityState, error)
	EntitiesByID(ctx context.Context, groupID string, ids []string) ([]reverie.Entity, error)
	Ledger
	ApplyEntities(ctx context.Context, lease reverie.Lease, plan reverie.EntityPlan) ([]reverie.EntityChange, error)
}

// Ledger keeps the rows of runs and chunks.
type Ledger interface {
	pipeline.Ledger
	Resume(ctx context.Context, lease reverie.Lease, job reverie.Job, since, until time.Time) (*reverie.Run,
		*reverie.Chunk, error)
}

// Limits bounds a run. All are positive.
type Limits struct {
	MaxMessages     int           // messages of a chunk
	MaxSubjects     int           // people and things of a batch
	MaxInputTokens  int           // estimated tokens of a question
	MaxOutputTokens int           // tokens of an answer
	MinConfidence   float64       // of a claim, 0..1
	MinEvidence     int           // messages that must speak of a name without an account before it becomes an entity
	ExpireAfter     time.Duration // how long an observation waits
}

// Pipeline follows people and things. Its fields are set once; it is safe for
// concurrent use on different groups.
type Pipeline struct {
	Store    Store
	Model    pipeline.Model
	Prompts  *prompts.Set
	Journal  llm.Journal // nil: answers are not kept
	Limits   Limits
	Privacy  safety.Privacy // of what the model is shown
	Now      func() time.Time
	Log      *slog.Logger
	Progress func(Progress) // nil: nobody watches
	// Phase is told when a step of a chunk begins; it returns the step's context
	// and what to call at its end. nil: nobody watches.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
}

// Progress is how far a run has come, after each question and each chunk.
type Progress struct {
	GroupID string
	Chunk   int
	Batch   int // questions answered in this chunk
	Batches int // questions of this chunk
	Done    int // messages used
}

// Request says what to observe.
type Request struct {
	GroupID string
	// Since and Until bound the window of sent_at, half-open. Zero values mean
	// everything that waits, up to now.
	Since, Until time.Time
	DryRun       bool // plan only, for the first chunk: nothing is written but call rows
}

// Result is what a run did, as far as it came. Changes are of the chunks that were done
// now, and so are the refusals; of the counts, Created and Updated are entities.
type Result struct {
	pipeline.Result
	Changes []reverie.EntityChange
}
