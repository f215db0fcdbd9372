package evolve

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// run is one run under way.
type run struct {
	*Pipeline
	life pipeline.RunRecorder
	req  Request

	now          time.Time
	since, until time.Time
	bounded      bool // until was asked for, and did not come from the clock

	resume *reverie.Chunk // answered before a crash, not yet applied
	result Result

	limit  int     // messages of the next chunk at most; halved when an answer is cut off
	shadow *shadow // a dry run's state, where it departs from the database's
}

// of is a run of a group as the row says: one that has an id, or one that is to
// come. The hold is nil for a dry run.
func (p *Pipeline) of(hold Hold, row reverie.Run) *run {
	now := p.Now().UTC()
	return &run{Pipeline: p, req: Request{GroupID: row.GroupID}, now: now,
		life:   pipeline.RunRecorder{Ledger: p.Store, Hold: hold, Now: p.Now, Log: p.Log, Watch: p.Phase, Row: row, Stats: row.Stats},
		result: Result{Result: pipeline.Result{GroupID: row.GroupID, RunID: row.ID, At: now}}}
}

// takeUp continues a run of the same window that was interrupted, with its
// counts and its stored answer, so that the end is as if nothing had happened.
func (r *run) takeUp(ctx context.Context) error {
	row, chunk, err := r.Store.Resume(ctx, r.life.Hold.Lease(), reverie.JobEvolve, r.req.Since, r.req.Until)
	if err != nil {
		return fmt.Errorf("look for interrupted runs of group %q: %w", r.req.GroupID, err)
	}
	if r.resume = chunk; chunk != nil {
		r.life.Before = chunk.RunID
	}
	if row == nil {
		return nil
	}
	r.life.Resume(*row)
	r.limit = min(row.Stats.Limit, r.Limits.MaxMessages)
	r.started(row.ID)
	if err := r.life.SoFar(ctx, r.Store, &r.result.Result); err != nil {
		return err
	}
	if !r.bounded && r.until.After(row.WindowUntil) {
		r.life.Row.WindowUntil = r.until
	}
	return nil
}

// open begins the run, once something is pending.
func (r *run) open(state reverie.State, language string) {
	row := &r.life.Row
	row.PromptVersion, row.PromptSHA256 = r.Prompts.Version(prompts.MemoryEvolve, language) // of the latest chunk
	if row.ID != "" || r.life.Began {
		return
	}
	st := &r.life.Stats
	st.Base, st.Kept, st.OpenEnded, st.Days = len(state.Heads), len(state.Heads), !r.bounded, r.req.Days
	since := r.since
	if since.IsZero() {
		since = state.Pending[0].SentAt
	}
	first := *row
	first.Job, first.Model, first.WindowSince, first.WindowUntil = reverie.JobEvolve, r.Model.Name(), since, r.until
	r.life.Begin(first)
}

// started says which run it is: none where it could not be written, and for a dry one.
func (r *run) started(runID string) {
	if r.result.RunID = runID; runID != "" && r.req.Started != nil {
		r.req.Started(runID)
	}
}
