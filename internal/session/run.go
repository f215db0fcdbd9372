package session

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

// What calls of this job are for, in the ledger.
const (
	purposeExtract   = "extract"
	purposeSummarize = "summarize"
)

// run is one run under way.
type run struct {
	*Pipeline
	recorder pipeline.RunRecorder
	req      Request

	now    time.Time
	resume *reverie.Chunk // begun before, and not applied
	limit  int            // messages of the next chunk at most; halved when an answer is cut off
	waits  int            // messages in the buffer that this run leaves there, as far as it knows
	result Result

	asker, summarizer *llm.Asker // nil until the run has been started
}

// Run extracts one session and folds its older turns. The hold is nil exactly for a
// dry run. The result is filled as far as the run came, also beside an error, whose
// kind says what happened: [reverie.ErrNotFound], [reverie.ErrDeferred],
// [reverie.ErrConfiguration], [reverie.ErrUnusable], [reverie.ErrConflict],
// [reverie.ErrLeaseLost]. What was not applied waits on.
func (p *Pipeline) Run(ctx context.Context, hold pipeline.LeaseHolder, req Request) (Result, error) {
	r, err := p.begin(ctx, hold, req)
	if err != nil {
		failed := pipeline.Result{GroupID: req.GroupID, DryRun: req.DryRun, Status: reverie.EndOf(err, 0), Err: err}
		return Result{Result: failed, SessionID: req.SessionID}, err
	}
	for err == nil {
		var more bool
		if more, err = r.chunk(ctx); !more || req.DryRun {
			break
		}
	}
	if err == nil && !req.DryRun {
		r.recorder.Stats.Through = true
		err = r.fold(ctx)
	}
	return r.finish(ctx, err)
}

// chunk takes the next complete turns through all steps and reports whether there
// may be more. What arrives while the last chunk is worked on stays in the buffer.
func (r *run) chunk(ctx context.Context) (more bool, err error) {
	s, err := pipeline.Step(ctx, &r.recorder, "gather", r.gather)
	if err != nil || s == nil {
		return false, err
	}
	said, err := pipeline.Step(ctx, &r.recorder, "propose",
		func(ctx context.Context) (answer, error) {
			return r.propose(ctx, s)
		})
	if err != nil {
		return false, err
	}
	plan, err := pipeline.Step(ctx, &r.recorder, "decide",
		func(ctx context.Context) (reverie.Plan, error) {
			return r.decide(ctx, s, said)
		})
	if err != nil {
		return false, err
	}
	return pipeline.Step(ctx, &r.recorder, "apply", func(ctx context.Context) (bool, error) {
		return s.more || s.taken, r.apply(ctx, s, plan)
	})
}

// begin prepares a run, or takes up one of the same session that was interrupted.
func (p *Pipeline) begin(ctx context.Context, hold pipeline.LeaseHolder, req Request) (*run, error) {
	r := &run{Pipeline: p, req: req, now: p.Now().UTC(),
		recorder: pipeline.RunRecorder{Ledger: p.Store, Now: p.Now, Log: p.Log, Watch: p.Phase,
			Row: reverie.Run{GroupID: req.GroupID}}}
	r.result = Result{Result: pipeline.Result{GroupID: req.GroupID, At: r.now, DryRun: req.DryRun},
		SessionID: req.SessionID}
	if req.DryRun {
		return r, nil
	}
	r.recorder.Hold = hold
	row, chunk, err := r.Store.ResumeSession(ctx, hold.Lease(), reverie.JobExtract, req.SessionID)
	if err != nil {
		return nil, fmt.Errorf("look for interrupted runs of session %q of group %q: %w", req.SessionID, req.GroupID,
			err)
	}
	if r.resume = chunk; chunk != nil {
		r.recorder.Before = chunk.RunID
	}
	if row == nil {
		return r, nil
	}
	r.recorder.Resume(*row)
	r.recorder.Stats.Through = false // more may have come
	r.limit = min(row.Stats.Limit, r.Limits.MaxMessages)
	r.result.RunID = row.ID
	return r, r.recorder.SoFar(ctx, r.Store, &r.result.Result)
}

// open writes the ledger's row, once there is something to do, and prepares to ask
// on its behalf. The row names the model and the prompt of what is done first.
func (r *run) open(ctx context.Context, session reverie.Session, since time.Time, model pipeline.Model, prompt,
	language string) error {
	row := r.recorder.Row
	row.Job, row.SessionID, row.Model = reverie.JobExtract, r.req.SessionID, model.Name()
	row.PromptVersion, row.PromptSHA256 = r.Prompts.Version(prompt, language)
	row.WindowSince, row.WindowUntil = since, session.LastAt.Add(time.Microsecond) // exclusive
	if err := r.recorder.Start(ctx, row); err != nil {
		return err
	}
	r.result.RunID = r.recorder.Row.ID
	if r.asker == nil {
		r.asker = r.recorder.Asker(r.Model, r.Journal, purposeExtract)
		r.summarizer = r.recorder.Asker(r.Summarizer, r.Journal, purposeSummarize)
	}
	return nil
}

// finish records the run's end and completes the result.
func (r *run) finish(ctx context.Context, err error) (Result, error) {
	r.recorder.Stats.Deferred = r.waits
	err = r.recorder.End(ctx, err)
	r.recorder.Complete(&r.result.Result, err)
	return r.result, err
}
