package evolve

import (
	"context"
	"fmt"
	"time"

	"reverie"
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

	row    reverie.Run    // ID is empty until something is pending
	resume *reverie.Chunk // answered before a crash, not yet applied
	before string         // the run that the chunk to resume is of, "" if there is none
	stats  reverie.Stats
	result Result

	began  bool    // something was pending
	mute   bool    // the embedder failed, and is not waited for again in this run
	limit  int     // messages of the next chunk at most; halved when an answer is cut off
	shadow *shadow // a dry run's state, where it departs from the database's
}

// takeUp continues a run of the same window that was interrupted, with its
// counts and its stored answer, so that the end is as if nothing had happened.
func (r *run) takeUp(ctx context.Context) error {
	since, until := r.req.Since, r.req.Until
	row, chunk, err := r.Store.Resume(ctx, r.hold.Lease(), reverie.JobEvolve, since, until)
	if err != nil {
		return fmt.Errorf("look for interrupted runs of group %q: %w", r.req.GroupID, err)
	}
	if r.resume = chunk; chunk != nil {
		r.before = chunk.RunID
	}
	if row == nil {
		return nil
	}
	r.Log.Info("continuing an interrupted run", "group_id", r.req.GroupID, "run_id", row.ID, "attempt", row.Attempt)
	r.row, r.stats = *row, row.Stats
	r.limit = min(r.stats.Limit, r.Limits.MaxMessages)
	r.result.RunID = row.ID
	changes, refusals, held, err := r.Store.SoFar(ctx, row.GroupID, row.ID)
	if err != nil {
		return fmt.Errorf("read what run %s has done: %w", row.ID, err)
	}
	r.result.Changes, r.result.Refusals = changes, refusals
	for _, h := range held {
		r.result.Held = append(r.result.Held, h.Reason)
	}
	if !r.bounded && r.until.After(row.WindowUntil) {
		r.row.WindowUntil = r.until
	}
	return nil
}

// open writes the ledger's row, once something is pending.
func (r *run) open(ctx context.Context, state reverie.State, language string) error {
	r.row.PromptVersion, r.row.PromptSHA256 = r.Prompts.Version(prompts.MemoryEvolve, language)
	if r.row.ID != "" || r.began {
		return nil
	}
	r.began = true
	r.stats.Base, r.stats.Kept, r.stats.OpenEnded = len(state.Heads), len(state.Heads), !r.bounded
	if r.req.DryRun {
		return nil
	}
	since := r.since
	if since.IsZero() {
		since = state.Pending[0].SentAt
	}
	r.row.ID, r.row.GroupID, r.row.Job = reverie.NewID(), r.req.GroupID, reverie.JobEvolve
	r.row.WindowSince, r.row.WindowUntil = since, r.until
	// Not r.now: the run before may have been settled since, and ended then.
	r.row.Model, r.row.Stats, r.row.StartedAt = r.Model.Name(), r.stats, r.Now().UTC()
	row, err := r.Store.StartRun(ctx, r.hold.Lease(), r.row)
	if err != nil {
		r.row.ID = ""
		return fmt.Errorf("start a run for group %q: %w", r.req.GroupID, err)
	}
	r.row, r.result.RunID = row, row.ID
	return nil
}
