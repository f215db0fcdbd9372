// Package pipeline is what the jobs share: the recorder of a run, which is begun or
// resumed and always ended in the ledger; questions that are asked twice; steps that are
// traced; vectors for what is written; results, and the rules of held plans.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// Ledger keeps the rows of runs and chunks. Its methods refuse a lease, with
// [reverie.ErrLeaseLost], once another holder has it.
type Ledger interface {
	StartRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (reverie.Run, error)
	// OpenRun starts a run with its first chunk, and the answers of the run before, "" for
	// none, in one.
	OpenRun(ctx context.Context, lease reverie.Lease, run reverie.Run, chunk reverie.Chunk,
		before string) (reverie.Run, error)
	SaveChunk(ctx context.Context, lease reverie.Lease, chunk reverie.Chunk) error
	FinishRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (pending int, err error)
	RecordCall(ctx context.Context, call reverie.Call) error
	// AdoptAnswers keeps all answers of a run for another one as well.
	AdoptAnswers(ctx context.Context, lease reverie.Lease, groupID, from, to string) error
}

// LeaseHolder is who holds the lease of the group. While fn runs, Exclusive stops
// renewing, so that the write may lock the lease row itself.
type LeaseHolder interface {
	Lease() reverie.Lease
	Exclusive(fn func() error) error
}

// RunRecorder keeps the ledger of one run under way. Ledger, Hold, Now, Log, Watch and Refused are set once; Row has
// the group's id from the beginning, and a run's as soon as one is begun. It
// serves one goroutine.
type RunRecorder struct {
	Ledger Ledger
	Hold   LeaseHolder // nil for a dry run: nothing is written
	Now    func() time.Time
	Log    *slog.Logger
	// Watch is told when a step begins; it returns the step's context and what to
	// call at its end. nil: nobody watches.
	Watch func(ctx context.Context, name string) (context.Context, func(error))
	// Refused is told by which rule a line of an answer was refused, or why the reader passed it
	// over. nil: nobody watches.
	Refused func(reason string)

	// Before is an earlier run whose answers are good too: one that was deferred
	// half-way, or failed. "" is none. They are kept for this run as well.
	Before string

	Row           reverie.Run
	Stats         reverie.Stats
	Account       string // on which calls are as long as there is no row; "" is none
	Began         bool   // there was something to do
	Continued     bool   // an earlier process, or an earlier wave of this one, began it
	EmbeddingsOff bool   // the embedder failed, and is not waited for again in this run
	Warnings      []string

	unwritten bool          // it has begun, and has no row yet
	adopting  bool          // the answers of the one before are not yet its own
	ended     bool          // with its last chunk
	call      *llm.KeptCall // answered, and not written yet
}

// Step runs one step under the eyes of whoever watches.
func Step[T any](ctx context.Context, r *RunRecorder, name string, step func(context.Context) (T, error)) (T, error) {
	if r.Watch == nil {
		return step(ctx)
	}
	ctx, end := r.Watch(ctx, name)
	result, err := step(ctx)
	end(err)
	return result, err
}

// Then is [Step] with what the step before has made.
func Then[In, Out any](ctx context.Context, r *RunRecorder, name string, in In,
	step func(context.Context, In) (Out, error)) (Out, error) {
	return Step(ctx, r, name, func(ctx context.Context) (Out, error) { return step(ctx, in) })
}

// Resume continues a run that was interrupted, under its id and with its counts, so
// that the end is as if nothing had happened.
func (r *RunRecorder) Resume(row reverie.Run) {
	r.Log.Info("continuing an interrupted run", "group_id", row.GroupID, "run_id", row.ID, "attempt", row.Attempt)
	r.Row, r.Stats, r.Continued = row, row.Stats, true
}

// Begin says which run it is, once there is something to do; the caller has filled in
// job, window, model and prompt. One that is new gets an id. Its row is written with its
// first chunk ([RunRecorder.Save]), with [RunRecorder.Start] where something is done on its account
// before, or when it ends: so a process that dies leaves a run that can be continued, or
// none. A run that has begun stays as it is, and a dry one has no row.
func (r *RunRecorder) Begin(row reverie.Run) {
	if r.Began || r.Hold == nil {
		r.Began = true
		return
	}
	r.Began = true
	if r.Row.ID == "" {
		row.ID, row.GroupID = reverie.NewID(), r.Row.GroupID
		r.Row, r.unwritten = row, true
	}
	r.adopting = r.Before != "" && r.Before != r.Row.ID
}

// Start is Begin, and writes the row. Then the run has the answers of the one before:
// whoever continues it, wherever it dies, looks for them with it.
func (r *RunRecorder) Start(ctx context.Context, row reverie.Run) error {
	r.Begin(row)
	if err := r.enter(func(lease reverie.Lease, row reverie.Run) (reverie.Run, error) {
		return r.Ledger.StartRun(ctx, lease, row)
	}); err != nil {
		return err
	}
	return r.adopt(ctx)
}

// enter has the row of a run that is new written.
func (r *RunRecorder) enter(write func(reverie.Lease, reverie.Run) (reverie.Run, error)) error {
	if !r.unwritten {
		return nil
	}
	r.unwritten = false
	row := r.Row
	// It begins now, and not when it was asked for: the one before may have been settled
	// since, and ended then.
	row.Stats, row.StartedAt = r.Stats, r.Now().UTC()
	row, err := write(r.Hold.Lease(), row)
	if err != nil {
		r.Row.ID = ""
		return fmt.Errorf("start a run for group %q: %w", r.Row.GroupID, err)
	}
	r.Row = row
	return nil
}

// adopt has the run keep the answers of the one before.
func (r *RunRecorder) adopt(ctx context.Context) error {
	if !r.adopting {
		return nil
	}
	r.adopting = false
	if err := r.Ledger.AdoptAnswers(ctx, r.Hold.Lease(), r.Row.GroupID, r.Before, r.Row.ID); err != nil {
		return fmt.Errorf("take up the answers of run %s: %w", r.Before, err)
	}
	return nil
}

// Save stores a chunk of the run as it stands, with the run's row and the answers of the
// one before where that is still to be done. A dry run stores nothing.
func (r *RunRecorder) Save(ctx context.Context, chunk reverie.Chunk) error {
	if r.Hold == nil {
		return nil
	}
	chunk.GroupID = r.Row.GroupID
	limit := chunk.Limit
	if r.unwritten {
		before := ""
		if r.adopting {
			before, r.adopting = r.Before, false
		}
		return r.enter(func(lease reverie.Lease, row reverie.Run) (reverie.Run, error) {
			row.Stats.Limit, chunk.Limit = limit, 0
			return r.Ledger.OpenRun(ctx, lease, row, chunk, before)
		})
	}
	if err := r.adopt(ctx); err != nil {
		return err
	}
	chunk.RunID = r.Row.ID
	if limit == r.Row.Stats.Limit { // the row has it
		chunk.Limit = 0
	}
	write := func() error { return r.Ledger.SaveChunk(ctx, r.Hold.Lease(), chunk) }
	if call := r.call; call != nil {
		save := write
		chunk.Call, write = &call.Call, func() error { return call.Write(save) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("store chunk %d of run %s: %w", chunk.No, r.Row.ID, err)
	}
	r.call, r.Row.Stats.Limit = nil, limit
	return nil
}

// Write lets fn write under the group's lease, while nothing renews it.
func (r *RunRecorder) Write(fn func(lease reverie.Lease) error) error {
	return r.Hold.Exclusive(func() error { return fn(r.Hold.Lease()) })
}

// Asker asks a model on the run's account; what the run says stays with it. It is to
// be called when the run has begun, and used when its row is written.
func (r *RunRecorder) Asker(model Model, journal llm.Journal, purpose string) *llm.Asker {
	return &llm.Asker{Model: model, Journal: journal, Lease: r.LeaseFunc(), Meta: r.Meta(purpose)}
}

// LeaseFunc returns the lease that what a run asks is kept under, nil for a dry run.
func (r *RunRecorder) LeaseFunc() func() reverie.Lease {
	if r.Row.ID == "" {
		return nil
	}
	return r.Hold.Lease
}

// Model answers a prompt.
type Model interface {
	Generate(ctx context.Context, meta llm.Meta, req llm.Request) (llm.Response, error)
	Name() string // provider/model
}

// Meta says on whose account a call is, which is made when the run's row is written.
func (r *RunRecorder) Meta(purpose string) llm.Meta {
	m := llm.Meta{GroupID: r.Row.GroupID, Purpose: purpose, Continued: r.Continued}
	if id := cmp.Or(r.Row.ID, r.Account); id != "" {
		m.RunID = &id
	}
	return m
}

// Warn tells the operator, once for each text.
func (r *RunRecorder) Warn(texts ...string) {
	for _, text := range texts {
		if !slices.Contains(r.Warnings, text) {
			r.Warnings = append(r.Warnings, text)
			r.Log.Warn(text, "group_id", r.Row.GroupID, "run_id", r.Row.ID)
		}
	}
}

// End writes the run's final status, also when ctx is already done, and how many
// messages it leaves waiting. It returns the run's error, joined by that of
// recording it. A run whose lease is lost is the next holder's, and is left alone; so is one
// that waits for a batch, which goes on under its id like one that was interrupted.
func (r *RunRecorder) End(ctx context.Context, err error) error {
	if r.Row.ID == "" || errors.Is(err, reverie.ErrLeaseLost) || llm.IsPending(err) && !r.unwritten {
		return err
	}
	if r.ended {
		r.Stats.Deferred = r.Row.Stats.Deferred
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if serr := r.Start(ctx, r.Row); serr != nil {
		return errors.Join(err, serr)
	}
	r.Row = r.ending(err, r.Stats)
	left, ferr := r.Ledger.FinishRun(ctx, r.Hold.Lease(), r.Row)
	if ferr != nil {
		return errors.Join(err, fmt.Errorf("record the end of run %s: %w", r.Row.ID, ferr))
	}
	r.Stats.Deferred = left
	return err
}

// ending is the run's row as it ends now.
func (r *RunRecorder) ending(err error, stats reverie.Stats) reverie.Run {
	row, finished := r.Row, r.Now().UTC()
	row.Status, row.FinishedAt, row.Stats = reverie.EndOf(err, stats.Held), &finished, stats
	if err != nil {
		row.Error = reverie.ErrorText(err)
	}
	return row
}
