package impression

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reverie"
	"reverie/llm"
	"reverie/prompts"
)

// run is one run under way.
type run struct {
	*Pipeline
	hold Hold
	req  Request

	now          time.Time
	since, until time.Time
	bounded      bool // until was asked for, and did not come from the clock

	row    reverie.Run    // ID is empty until something waits
	resume *reverie.Chunk // begun before, and not applied
	stats  reverie.Stats
	result Result
	asker  *llm.Asker

	began bool // something waits
}

// Run observes one group. The hold is nil exactly for a dry run. The result is
// filled as far as the run came, also beside an error, whose kind says what
// happened: [reverie.ErrDeferred], [reverie.ErrConfiguration],
// [reverie.ErrUnusable], [reverie.ErrConflict], [reverie.ErrLeaseLost].
func (p *Pipeline) Run(ctx context.Context, hold Hold, req Request) (Result, error) {
	r, err := p.begin(ctx, hold, req)
	if err != nil {
		return Result{GroupID: req.GroupID}, err
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
	s, err := phase(ctx, r, "gather", r.gather)
	if err != nil || s == nil {
		return false, err
	}
	fresh, err := phase(ctx, r, "observe", func(ctx context.Context) ([]reverie.Observation, error) { return r.observe(ctx, s) })
	if err != nil {
		return false, err
	}
	plan, err := phase(ctx, r, "resolve", func(ctx context.Context) (reverie.EntityPlan, error) { return r.plan(ctx, s, fresh) })
	if err != nil {
		return false, err
	}
	return phase(ctx, r, "apply", func(ctx context.Context) (bool, error) {
		return s.state.More || s.taken, r.apply(ctx, s, plan)
	})
}

// phase runs one step of a chunk under the eyes of whoever watches.
func phase[T any](ctx context.Context, r *run, name string, step func(context.Context) (T, error)) (T, error) {
	if r.Phase == nil {
		return step(ctx)
	}
	ctx, end := r.Phase(ctx, name)
	result, err := step(ctx)
	end(err)
	return result, err
}

// begin opens the run, or takes up one of the same window that was interrupted:
// under its id and with its counts, so that the end is as if nothing had
// happened.
func (p *Pipeline) begin(ctx context.Context, hold Hold, req Request) (*run, error) {
	r := &run{Pipeline: p, hold: hold, req: req, now: p.Now().UTC()}
	r.since, r.until, r.bounded = req.Since, req.Until, !req.Until.IsZero()
	if !r.bounded {
		r.until = r.now
	}
	if !r.since.IsZero() && !r.since.Before(r.until) {
		return nil, fmt.Errorf("window of group %q: since %s is not before until %s: %w", req.GroupID,
			r.since.Format(time.RFC3339), r.until.Format(time.RFC3339), reverie.ErrInvalid)
	}
	r.result = Result{GroupID: req.GroupID, At: r.now, DryRun: req.DryRun}
	if req.DryRun {
		r.row = reverie.Run{GroupID: req.GroupID, StartedAt: r.now}
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
	r.Log.Info("continuing an interrupted run", "group_id", req.GroupID, "run_id", row.ID, "attempt", row.Attempt)
	r.row, r.stats, r.result.RunID = *row, row.Stats, row.ID
	if !r.bounded && r.until.After(row.WindowUntil) {
		r.row.WindowUntil = r.until
	}
	return r, nil
}

// open writes the ledger's row, once something waits, and prepares to ask on its
// behalf.
func (r *run) open(ctx context.Context, s *sheet) error {
	r.row.PromptVersion, r.row.PromptSHA256 = r.Prompts.Version(prompts.ImpressionObserve, s.language)
	if err := r.start(ctx, s); err != nil {
		return err
	}
	if r.asker != nil {
		return nil
	}
	r.asker = &llm.Asker{Model: r.Model, Journal: r.Journal, Meta: llm.Meta{GroupID: r.req.GroupID, Purpose: purpose}}
	if r.row.ID != "" {
		r.asker.Lease, r.asker.Meta.RunID = r.hold.Lease, &r.row.ID
	}
	if s.taken {
		r.asker.Before = s.begunBy
	}
	return nil
}

// purpose is what calls of this job are for, in the ledger.
const purpose = "observe"

// start writes the row of a run that is new.
func (r *run) start(ctx context.Context, s *sheet) error {
	if r.row.ID != "" || r.began {
		return nil
	}
	r.began = true
	r.stats.OpenEnded = !r.bounded
	if r.req.DryRun {
		return nil
	}
	since := r.since
	if since.IsZero() {
		since = s.state.Messages[0].SentAt
	}
	row := r.row
	row.ID, row.GroupID, row.Job = reverie.NewID(), r.req.GroupID, reverie.JobImpression
	row.WindowSince, row.WindowUntil = since, r.until
	// Not r.now: the run before may have been settled since, and ended then.
	row.Model, row.Stats, row.StartedAt = r.Model.Name(), r.stats, r.Now().UTC()
	row, err := r.Store.StartRun(ctx, r.hold.Lease(), row)
	if err != nil {
		return fmt.Errorf("start a run for group %q: %w", r.req.GroupID, err)
	}
	r.row, r.result.RunID = row, row.ID
	return nil
}

// finish writes the run's final status, also when ctx is already done, and
// completes the result.
func (r *run) finish(ctx context.Context, err error) (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if r.row.ID != "" && !errors.Is(err, reverie.ErrLeaseLost) { // then the row is the next holder's
		finished := r.Now().UTC()
		r.row.Status, r.row.FinishedAt, r.row.Stats = reverie.EndOf(err, 0), &finished, r.stats
		if err != nil {
			r.row.Error = err.Error()
		}
		left, ferr := r.Store.FinishRun(ctx, r.hold.Lease(), r.row)
		if ferr != nil {
			err = errors.Join(err, fmt.Errorf("record the end of run %s: %w", r.row.ID, ferr))
		}
		r.stats.Deferred = left
	}
	r.result.Err, r.result.Status, r.result.Stats = err, reverie.EndOf(err, 0), r.stats
	r.result.Stats.OpenEnded = false // kept for a run that is taken up, and nothing to report
	r.result.NoNew = err == nil && !r.began && r.row.ID == ""
	return r.result, err
}
