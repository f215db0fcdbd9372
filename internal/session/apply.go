package session

import (
	"context"

	"reverie/internal/reverie"
)

// apply gives the plan its vectors and writes it, in one transaction with the use of
// the messages, the session's counts and the chunk's status. A dry run tells what it
// would write.
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

// record adds what a chunk did to the result and tells whoever watches.
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
