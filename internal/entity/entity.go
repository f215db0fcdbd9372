// Package entity keeps track of who is who in a group. It observes people and things in the messages that evolve has
// consumed. It stores what is said about them under identities that the code assigns; no model can choose them.
//
// A run is one or more chunks of messages. Each goes through the same steps: batches, observe, aggregate, resolve,
// build, validate, apply. Every step between the model's answers and the database is pure. Only apply writes entities.
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

// Store is what the impression job reads and writes. Each method is one transaction. Methods that take a lease return
// [reverie.ErrLeaseLost] once another holder has it.
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
	MaxSubjects     int           // people and things in a batch
	MaxInputTokens  int           // estimated tokens of a question
	MaxOutputTokens int           // tokens of an answer
	MinConfidence   float64       // of a claim, 0..1
	MinEvidence     int           // messages about a name without an account before it becomes an entity
	ExpireAfter     time.Duration // how long an observation stays postponed
}

// Pipeline observes people and things. Its fields are set once; it is safe for concurrent use on different groups.
type Pipeline struct {
	Store    Store
	Model    pipeline.Model
	Prompts  *prompts.Set
	Journal  llm.Journal // nil: answers are not stored
	Limits   Limits
	Privacy  safety.Privacy // masks personal data in what the model is shown
	Now      func() time.Time
	Log      *slog.Logger
	Progress func(answered, questions int) // called after each question of a chunk; may be nil
	// Phase is called when a step of a chunk begins. It returns the context for the step and a function to call at its
	// end. It may be nil.
	Phase func(ctx context.Context, name string) (context.Context, func(error))
	// Refused is called with the rule by which a line was refused, or with the reason why the reader skipped it. It may
	// be nil.
	Refused func(reason string)
}

// Request says what to observe.
type Request struct {
	GroupID string
	// Since and Until bound the window of sent_at, half-open. Zero values mean all pending messages, and up to now.
	Since, Until time.Time
	DryRun       bool // plan the first chunk: writes nothing but call rows
}

// Result is what a run did, as far as it came. Changes and Refusals are only those of this call, also for a resumed
// run. Created and Updated count entities.
type Result struct {
	pipeline.Result
	Changes []reverie.EntityChange
}

// participants are the authors of a chunk. They depend only on the messages and the identity index.
type participants struct {
	accounts map[string]*account // by author id
	// labels maps each label of the question to its account, by NameKey. Labels are unique: accounts that share a name,
	// in the chunk or in the index, have a number after it (Alex#1).
	labels map[string]string
	order  []string // author ids in order of appearance
}

// account is one author of the chunk.
type account struct {
	id    string             // author id
	kind  reverie.EntityKind // person, or bot if its role is assistant
	names []string           // display names in the chunk, in order of appearance
	label string             // its name in the question
}

// subject is a person or a thing in a batch.
type subject struct {
	label    string // its name in the question
	kind     reverie.EntityKind
	account  string // author id, "" for a thing or for somebody who is no author here
	entityID string // "" if it is not known yet
}

// merged is what all batches, and earlier runs, observed of one subject.
type merged struct {
	reverie.Observation
	observations []reverie.Observation // its parts; postponed ones have an id
}

// resolved is an observation with a settled subject: exactly one of entityID, create and postponed is set.
type resolved struct {
	merged
	entityID      string
	create        bool
	postponed     reverie.PostponementReason
	maybeAccounts []string // accounts without an entity that it may mean (ambiguous)
}

// index is the identity index: names and accounts with their entities.
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

// run is one run in progress.
type run struct {
	*Pipeline
	recorder pipeline.RunRecorder
	req      Request

	now          time.Time
	since, until time.Time
	bounded      bool // the caller gave until; it is not the current time

	resume *reverie.Chunk // begun before, and not applied
	result Result
	asker  *llm.Asker // nil until the run has started
}

// Run observes one group. The hold is nil exactly for a dry run. The result covers the run as far as it came, also
// beside an error. Errors include [reverie.ErrDeferred], [reverie.ErrConfiguration], [reverie.ErrUnusable],
// [reverie.ErrConflict] and [reverie.ErrLeaseLost].
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

// chunk takes the next pending messages through all steps and reports whether there may be more. A message that is
// queued for this window during its last chunk stays pending, and makes the window due again.
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
		return s.state.More || s.resumed, r.apply(ctx, s, plan)
	})
}

// begin prepares a new run, or resumes an interrupted run of the same window with its id and its counts. The result is
// the same as without the interruption.
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

// open begins the run, once messages are pending, and prepares the model calls.
func (r *run) open(s *chunkInput) {
	row := &r.recorder.Row
	// those of the latest chunk
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
	if s.resumed {
		r.recorder.Before = s.resumedFrom
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
