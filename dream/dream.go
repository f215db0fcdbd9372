// Package dream looks back when a group has gone quiet, or sessions have piled up:
// it asks a model to condense what sessions and nights have left since the last dream
// into a narrative and into lasting preferences, themes and open threads, checks the
// answer and applies it as memories of kind dream.
//
// A run is one dream, of everything that is new up to a session, written in one
// transaction. Its steps have a file each: trigger says when, gather reads the
// material, pack divides it into questions that fit a budget, propose asks them, parse
// and check read and try the answers, combine makes one dream of several, decide
// compares the items with what is remembered, apply writes. What is asked about is
// saved before it is asked, and answers are kept: whoever continues a dream that was
// interrupted does not pay twice.
package dream

import (
	"context"
	"log/slog"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// Store is what dreams read and write. Each method is one transaction; those that
// take a lease refuse it, with [reverie.ErrLeaseLost], once another holder has it.
type Store interface {
	Group(ctx context.Context, id string) (reverie.Group, error)
	GatherDream(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error)
	// EvidenceOf is what lineages rest on now, by lineage: the messages of all their
	// versions, each once, oldest first.
	EvidenceOf(ctx context.Context, groupID string, lineageIDs []string) (map[string][]reverie.Evidence, error)
	Ledger
	Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Hit, error)
	Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error)
}

// Ledger keeps the rows of runs and chunks.
type Ledger interface {
	pipeline.Ledger
	// ResumeDream settles runs that are over but for their end, and returns the dream
	// that was interrupted, if there is one, and the chunk of a dream that was not
	// applied and of whose material anything is new still: of that one, else of one that
	// was deferred or failed.
	ResumeDream(ctx context.Context, lease reverie.Lease) (*reverie.Run, *reverie.Chunk, error)
}

// Limits bounds a dream.
type Limits struct {
	MaxInputTokens  int     // estimated tokens of one question
	MaxOutputTokens int     // of an answer
	MaxItems        int     // new ones of one dream
	MaxActive       int     // items that a group remembers; creates beyond are refused
	MaxShown        int     // memories of the group that were taken in before and are shown as context
	MinConfidence   float64 // 0..1
	HoldRatio       float64 // share of the group's active memories that a dream may rewrite or delete
	HoldMin         int     // but always at least so many
}

// Pipeline dreams. Its fields are set once; it is safe for concurrent use on
// different groups.
type Pipeline struct {
	Store              Store
	Model              pipeline.Model
	Prompts            *prompts.Set
	Journal            llm.Journal // nil: answers are not kept
	Decider            decide.Decider
	Embeddings         pipeline.Embeddings // nil: statements are stored without vectors
	EmbeddingsOptional bool
	Limits             Limits
	Rule               reverie.DreamRule // of groups that do not say otherwise
	Now                func() time.Time
	Log                *slog.Logger
	Progress           func(Progress) // nil: nobody watches
	// Phase is told when a step begins; it returns the step's context and what to
	// call at its end. nil: nobody watches.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
}

// Progress is how far a dream has come, after each question.
type Progress struct {
	GroupID   string
	Questions int // answered
	Of        int // as far as is known
}

// Request says of what to dream.
type Request struct {
	GroupID string
	// Due dreams only if the group's rule says so under the lease, and of sessions that
	// have ended; otherwise of everything that is new.
	Due       bool
	SessionID string // not Due: up to this session only; "" = all
	DryRun    bool   // nothing is written but call rows and cached embeddings
}

// Result is what a run did, as far as it came. Its Changes leave that of the narrative
// out.
type Result struct {
	pipeline.Result
	SessionID string   // that it reaches up to
	Reason    string   // why it was due, "" where it was asked for
	None      string   // why there was no dream; "" where there was one
	Narrative string   // as it was renewed now, "" if it was not
	Closed    []string // of Changes, the ids of the versions that close a todo
}
