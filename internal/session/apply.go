package session

import (
	"context"

	"reverie/internal/reverie"
)

// apply adds vectors to the plan and writes it. The same transaction marks the messages as used and updates the counts
// of the session and the status of the chunk. A dry run only reports what it would write.
func (r *run) apply(ctx context.Context, s *chunkInput, plan reverie.Plan) error {
	changes := plan.Changes()
	if !r.req.DryRun {
		var err error
		if changes, err = r.recorder.Apply(ctx, r.Store, r.Embeddings, r.EmbeddingsOptional, plan, false); err != nil {
			return err
		}
	}
	r.recorder.Stats = plan.Stats
	r.record(s, plan, changes)
	return nil
}

// record adds the effect of a chunk to the result and calls Progress.
func (r *run) record(s *chunkInput, plan reverie.Plan, changes []reverie.Change) {
	r.recorder.Record(&r.result.Result, plan, changes)
	for _, step := range plan.Steps {
		if step.Action != reverie.ActionKeep && isSummary(step) {
			r.result.Summary, r.result.Recaps = step.Statement, append(r.result.Recaps, step.MemoryID)
		}
	}
	if r.Progress != nil {
		st := r.recorder.Stats
		r.Progress(st.Cited + st.Considered + st.Filtered)
	}
}
