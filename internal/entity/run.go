package entity

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

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
	fresh, err := pipeline.Step(ctx, &r.recorder, "observe",
		func(ctx context.Context) ([]reverie.Observation, error) {
			return r.observe(ctx, s)
		})
	if err != nil {
		return false, err
	}
	plan, err := pipeline.Step(ctx, &r.recorder, "resolve",
		func(ctx context.Context) (reverie.EntityPlan, error) {
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
		recorder: pipeline.RunRecorder{Ledger: p.Store, Hold: hold, Now: p.Now, Log: p.Log, Watch: p.Phase,
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

// purpose is what calls of this job are for, in the ledger.
const purpose = "observe"

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
	r.asker = r.recorder.Asker(r.Model, r.Journal, purpose)
}

// finish records the run's end and completes the result.
func (r *run) finish(ctx context.Context, err error) (Result, error) {
	err = r.recorder.End(ctx, err)
	r.result.RunID = r.recorder.Row.ID
	r.recorder.Complete(&r.result.Result, err)
	return r.result, err
}
