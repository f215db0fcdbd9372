// Package pipeline is what the jobs share: the recorder of a run, questions that are asked twice, traced steps, vectors
// for statements, results, and the rules of held plans. The recorder begins or resumes a run, and always ends it in the
// ledger.
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

// Ledger stores the rows of runs and chunks. Its methods return [reverie.ErrLeaseLost] once another holder has the
// lease.
type Ledger interface {
	StartRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (reverie.Run, error)
	// OpenRun starts a run with its first chunk in one transaction. The run also adopts the answers of the run before;
	// "" means none.
	OpenRun(ctx context.Context, lease reverie.Lease, run reverie.Run, chunk reverie.Chunk,
		before string) (reverie.Run, error)
	SaveChunk(ctx context.Context, lease reverie.Lease, chunk reverie.Chunk) error
	FinishRun(ctx context.Context, lease reverie.Lease, run reverie.Run) (pending int, err error)
	RecordCall(ctx context.Context, call reverie.Call) error
	// AdoptAnswers makes all answers of one run answers of another run as well.
	AdoptAnswers(ctx context.Context, lease reverie.Lease, groupID, from, to string) error
}

// LeaseHolder holds the lease of the group. While fn runs, Exclusive stops renewals, so that fn may lock the row of the
// lease.
type LeaseHolder interface {
	Lease() reverie.Lease
	Exclusive(fn func() error) error
}

// RunRecorder keeps the ledger of one run in progress. Ledger, Hold, Now, Log, Watch and Refused are set once. Row has
// the group's id from the beginning, and the run's id once a run has begun. Only one goroutine may use it.
type RunRecorder struct {
	Ledger Ledger
	Hold   LeaseHolder // nil for a dry run: nothing is written
	Now    func() time.Time
	Log    *slog.Logger
	// Watch is called when a step begins. It returns the context for the step and a function to call at its end. It may
	// be nil.
	Watch func(ctx context.Context, name string) (context.Context, func(error))
	// Refused is called with the rule by which a line was refused, or with the reason why the reader skipped it. It may
	// be nil.
	Refused func(reason string)

	// Before is an earlier run that was deferred or failed, and whose answers are still valid. This run adopts them. ""
	// means none.
	Before string

	Row           reverie.Run
	Stats         reverie.Stats
	Account       string // the run of calls that are made before there is a row; "" means none
	Began         bool   // there was something to do
	Continued     bool   // another process, or an earlier wave of this one, began it
	EmbeddingsOff bool   // the embedder failed; this run goes on without it
	Warnings      []string

	unwritten bool          // it has begun, and its row is not written yet
	adopting  bool          // the answers of Before are still to be adopted
	ended     bool          // the last chunk has ended it
	unsure    bool          // whether a write was committed is unknown, and so are the true counts
	call      *llm.KeptCall // has its answer, and is not recorded yet
}

// Step runs one step, and tells Watch.
func Step[T any](ctx context.Context, r *RunRecorder, name string, step func(context.Context) (T, error)) (T, error) {
	if r.Watch == nil {
		return step(ctx)
	}
	ctx, end := r.Watch(ctx, name)
	result, err := step(ctx)
	end(err)
	return result, err
}

// Then is [Step] with the result of the step before.
func Then[In, Out any](ctx context.Context, r *RunRecorder, name string, in In,
	step func(context.Context, In) (Out, error)) (Out, error) {
	return Step(ctx, r, name, func(ctx context.Context) (Out, error) { return step(ctx, in) })
}

// Resume continues an interrupted run, with its id and its counts. The result is the same as without the interruption.
func (r *RunRecorder) Resume(row reverie.Run) {
	r.Log.Info("continuing an interrupted run", "group_id", row.GroupID, "run_id", row.ID, "attempt", row.Attempt)
	r.Row, r.Stats, r.Continued = row, row.Stats, true
}

// Begin begins a run once there is something to do. The caller has set job, window, model and prompt in row. A new run
// gets an id. Its row is written with its first chunk ([RunRecorder.Save]), by [RunRecorder.Start] where calls come
// before that, or at its end. So a process that dies leaves a run that can be resumed, or none. A run that has begun
// already is not changed. A dry run has no row.
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

// Start is Begin, and also writes the row. The run then adopts the answers of Before, so that a later process which
// resumes it finds them there.
func (r *RunRecorder) Start(ctx context.Context, row reverie.Run) error {
	r.Begin(row)
	if err := r.enter(func(lease reverie.Lease, row reverie.Run) (reverie.Run, error) {
		return r.Ledger.StartRun(ctx, lease, row)
	}); err != nil {
		return err
	}
	return r.adopt(ctx)
}

// enter writes the row of a new run with write.
func (r *RunRecorder) enter(write func(reverie.Lease, reverie.Run) (reverie.Run, error)) error {
	if !r.unwritten {
		return nil
	}
	r.unwritten = false
	row := r.Row
	// The run begins now, and not when it was requested: the run before may have ended since.
	row.Stats, row.StartedAt = r.Stats, r.Now().UTC()
	row, err := write(r.Hold.Lease(), row)
	if err != nil {
		r.Row.ID = ""
		return fmt.Errorf("start a run for group %q: %w", r.Row.GroupID, err)
	}
	r.Row = row
	return nil
}

// adopt makes the answers of Before answers of this run.
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

// Save stores the present state of a chunk. The first Save also writes the row of the run and adopts the answers of
// Before. A dry run stores nothing.
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
	if limit == r.Row.Stats.Limit { // the row of the run has it already
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

// Write calls fn with the group's lease, while nothing renews it.
func (r *RunRecorder) Write(fn func(lease reverie.Lease) error) error {
	err := r.Hold.Exclusive(func() error { return fn(r.Hold.Lease()) })
	r.unsure = errors.Is(err, reverie.ErrUnknownOutcome)
	return err
}

// Asker returns an asker whose calls and answers belong to the run. It must be called after the run has begun, and used
// after its row is written.
func (r *RunRecorder) Asker(model Model, journal llm.Journal, purpose string) *llm.Asker {
	return &llm.Asker{Model: model, Journal: journal, Lease: r.LeaseFunc(), Meta: r.Meta(purpose)}
}

// LeaseFunc returns the lease under which answers are stored, nil for a dry run.
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

// Meta returns the group, the run and the purpose of a call. It must be called after the row of the run is written.
func (r *RunRecorder) Meta(purpose string) llm.Meta {
	m := llm.Meta{GroupID: r.Row.GroupID, Purpose: purpose, Continued: r.Continued}
	if id := cmp.Or(r.Row.ID, r.Account); id != "" {
		m.RunID = &id
	}
	return m
}

// Warn logs each text once and adds it to the warnings.
func (r *RunRecorder) Warn(texts ...string) {
	for _, text := range texts {
		if !slices.Contains(r.Warnings, text) {
			r.Warnings = append(r.Warnings, text)
			r.Log.Warn(text, "group_id", r.Row.GroupID, "run_id", r.Row.ID)
		}
	}
}

// End writes the final status of the run, even if ctx has ended, and counts the messages that stay pending. It returns
// err, joined with the error of writing. A run whose lease is lost belongs to the next holder and is not changed. Nor
// is a run that waits for a batch, or whose last write may be committed or not: it is resumed later under its id.
func (r *RunRecorder) End(ctx context.Context, err error) error {
	if r.Row.ID == "" || errors.Is(err, reverie.ErrLeaseLost) || r.unsure || llm.IsPending(err) && !r.unwritten {
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

// ending returns the row of the run as it ends now.
func (r *RunRecorder) ending(err error, stats reverie.Stats) reverie.Run {
	row, finished := r.Row, r.Now().UTC()
	row.Status, row.FinishedAt, row.Stats = reverie.EndOf(err, stats.Held), &finished, stats
	if err != nil {
		row.Error = reverie.ErrorText(err)
	}
	return row
}
