package evolve

import (
	"context"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

// apply adds vectors to the plan and writes it. The same transaction stores the outcomes of the messages and the status
// of the chunk, and with the last chunk the status of the run. A dry run only simulates it.
func (r *run) apply(ctx context.Context, s *chunkInput, plan reverie.Plan, last bool) error {
	plan.Stats = r.count(s, plan)
	changes := plan.Changes()
	if r.req.DryRun {
		r.addToFile(s, plan)
		r.simulate(s, plan)
	} else {
		var err error
		if changes, err = r.recorder.Apply(ctx, r.Store, r.Embeddings, r.EmbeddingsOptional, plan, last); err != nil {
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
	if r.Progress != nil {
		st := r.recorder.Stats
		r.Progress(st.Cited + st.Considered + st.Filtered)
	}
}

// count adds a plan to the run's counts.
func (r *run) count(s *chunkInput, plan reverie.Plan) reverie.Stats {
	st := r.recorder.Stats
	plan.Count(&st, s.state.Heads)
	pipeline.CountOutcomes(&st, s.state.Pending, plan.Outcomes)
	st.Limit, st.Compared = r.limit, s.compared
	return st
}
