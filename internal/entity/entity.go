// Package entity knows who is who in a group: it observes people and things
// in the messages that evolve has consumed, and keeps what is said of them under
// identities that the code gives and no model can choose.
//
// A run is one or more chunks of messages. Each goes through the steps below:
// batches, observe, aggregate, resolve, build, validate, apply. What
// lies between the model's answers and the database is pure; apply is the only
// step that writes entities.
package entity

import (
	"context"
	"fmt"
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
	pipeline.Ledger
	Resume(ctx context.Context, lease reverie.Lease, job reverie.Job, since, until time.Time) (*reverie.Run,
		*reverie.Chunk, error)
	ApplyEntities(ctx context.Context, lease reverie.Lease, plan reverie.EntityPlan) ([]reverie.EntityChange, error)
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
	Progress func(answered, questions int) // of a chunk, after each question; nil: nobody watches
	// Phase is told when a step of a chunk begins; it returns the step's context
	// and what to call at its end. nil: nobody watches.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
	// Refused is told by which rule a line of an answer was refused, or why the reader passed it
	// over. nil: nobody watches.
	Refused func(reason string)
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

// participants are who wrote in a chunk. They are made from the messages and the identity
// index alone.
type participants struct {
	accounts map[string]*account // by author id
	// labels says which account a label of the question means, by NameKey. Labels
	// are unique: where two accounts of the chunk, or of the index, share a name,
	// each is shown with a number behind it (Alex#1).
	labels map[string]string
	order  []string // author ids, as they first appear
}

// account is one author of the chunk.
type account struct {
	id    string             // author id
	kind  reverie.EntityKind // person, or bot where its role is assistant
	names []string           // display names in the chunk, the first one first
	label string             // as the model sees it
}

// subject is somebody or something of a batch.
type subject struct {
	label    string // as the model sees it
	kind     reverie.EntityKind
	account  string // author id, "" for a thing or somebody who does not write here
	entityID string // "" where it is not known yet
}

// merged is what all batches, and earlier runs, observed of one subject.
type merged struct {
	reverie.Observation
	observations []reverie.Observation // what it was put together from: those that waited have an id
}

// resolved is an observation whose subject is settled: exactly one of entityID,
// create and postponed is set.
type resolved struct {
	merged
	entityID  string
	create    bool
	postponed reverie.PostponementReason
	maybe     []string // accounts without an entity that it may be about (ambiguous)
}

// index is the identity index: names and accounts, and whose they are.
type index struct {
	byKey   map[string][]string // NameKey of subject or alias -> entity ids, sorted
	byID    map[string]string   // account -> entity id
	entries map[string]*entry   // by entity id
}

// entry is an entity of the index.
type entry struct {
	kind     reverie.EntityKind
	names    []string // the subject first, then the oldest
	accounts []string // sorted
}

// run is one run under way.
type run struct {
	*Pipeline
	recorder pipeline.RunRecorder
	req      Request

	now          time.Time
	since, until time.Time
	bounded      bool // until was asked for, and did not come from the clock

	resume *reverie.Chunk // begun before, and not applied
	result Result
	asker  *llm.Asker // nil until the run has been started
}

// Run observes one group. The hold is nil exactly for a dry run. The result is
// filled as far as the run came, also beside an error, whose kind says what
// happened: [reverie.ErrDeferred], [reverie.ErrConfiguration],
// [reverie.ErrUnusable], [reverie.ErrConflict], [reverie.ErrLeaseLost].
func (p *Pipeline) Run(ctx context.Context, hold pipeline.LeaseHolder, req Request) (Result, error) {
	r, err := p.begin(ctx, hold, req)
	if err != nil {
		return Result{Result: pipeline.Result{GroupID: req.GroupID}}, err
	}
	for err == nil {
		var more bool
		if more, err = r.chunk(ctx); !more || req.DryRun {
			break
		}
	}
	return r.finish(ctx, err)
}

// chunk takes the next messages that wait through all steps and reports whether
// there may be more. What is queued for this window while its last chunk is
// worked on waits on, and makes the window due once more.
func (r *run) chunk(ctx context.Context) (more bool, err error) {
	s, err := pipeline.Step(ctx, &r.recorder, "gather", r.gather)
	if err != nil || s == nil {
		return false, err
	}
	fresh, err := pipeline.Then(ctx, &r.recorder, "observe", s, r.observe)
	if err != nil {
		return false, err
	}
	plan, err := pipeline.Step(ctx, &r.recorder, "resolve", func(ctx context.Context) (reverie.EntityPlan, error) {
		return r.plan(ctx, s, fresh)
	})
	if err != nil {
		return false, err
	}
	return pipeline.Step(ctx, &r.recorder, "apply", func(ctx context.Context) (bool, error) {
		return s.state.More || s.taken, r.apply(ctx, s, plan)
	})
}

// begin opens the run, or takes up one of the same window that was interrupted:
// under its id and with its counts, so that the end is as if nothing had
// happened.
func (p *Pipeline) begin(ctx context.Context, hold pipeline.LeaseHolder, req Request) (*run, error) {
	r := &run{Pipeline: p, req: req, now: p.Now().UTC(),
		recorder: pipeline.RunRecorder{Ledger: p.Store, Hold: hold, Now: p.Now, Log: p.Log, Watch: p.Phase, Refused: p.Refused,
			Row: reverie.Run{GroupID: req.GroupID}}}
	var err error
	if r.until, err = pipeline.WindowEnd(req.GroupID, req.Since, req.Until, r.now); err != nil {
		return nil, err
	}
	r.since, r.bounded = req.Since, !req.Until.IsZero()
	r.result = Result{Result: pipeline.Result{GroupID: req.GroupID, At: r.now, DryRun: req.DryRun}}
	if req.DryRun {
		return r, nil
	}
	row, chunk, err := r.Store.Resume(ctx, hold.Lease(), reverie.JobImpression, req.Since, req.Until)
	if err != nil {
		return nil, fmt.Errorf("look for interrupted runs of group %q: %w", req.GroupID, err)
	}
	r.resume = chunk
	if row == nil {
		return r, nil
	}
	r.recorder.Resume(*row)
	r.result.RunID = row.ID
	if !r.bounded && r.until.After(row.WindowUntil) {
		r.recorder.Row.WindowUntil = r.until
	}
	return r, nil
}

// open begins the run, once something waits, and prepares to ask on its behalf.
func (r *run) open(s *chunkInput) {
	row := &r.recorder.Row
	// of the latest chunk
	row.PromptVersion, row.PromptSHA256 = r.Prompts.Version(prompts.ImpressionObserve, s.language)
	if r.asker != nil {
		return
	}
	first := *row
	if first.ID == "" {
		r.recorder.Stats.OpenEnded = !r.bounded
		first.Job, first.Model, first.WindowSince, first.WindowUntil = reverie.JobImpression, r.Model.Name(), r.since,
			r.until
		if r.since.IsZero() {
			first.WindowSince = s.state.Messages[0].SentAt
		}
	}
	if s.taken {
		r.recorder.Before = s.begunBy
	}
	r.recorder.Begin(first)
	r.asker = r.recorder.Asker(r.Model, r.Journal, "observe")
}

// finish records the run's end and completes the result.
func (r *run) finish(ctx context.Context, err error) (Result, error) {
	err = r.recorder.End(ctx, err)
	r.result.RunID = r.recorder.Row.ID
	r.recorder.Complete(&r.result.Result, err)
	return r.result, err
}
