package dream

import (
	"context"
	"slices"

	"reverie/internal/reverie"
)

// apply adds vectors to the plan and writes it. The same transaction marks the memories that the dream took in, the
// sessions that it covers and the status of the chunk, and with the last chunk ends the run. A dry run only reports
// what it would write.
func (r *run) apply(ctx context.Context, plan reverie.Plan, last bool) error {
	changes := plan.Changes()
	if !r.req.DryRun {
		var err error
		if changes, err = r.recorder.Apply(ctx, r.Store, r.Embeddings, r.EmbeddingsOptional, plan, last); err != nil {
			return err
		}
	}
	r.recorder.Stats = plan.Stats
	r.record(plan, changes)
	return nil
}

// record adds the effect of the dream to the result and calls Progress.
func (r *run) record(plan reverie.Plan, changes []reverie.Change) {
	var narrative string
	for _, step := range plan.Steps {
		switch {
		case step.Action == reverie.ActionKeep:
		case isSummary(step.Tags):
			r.result.Narrative, narrative = step.Statement, step.MemoryID
		case isClosing(step):
			r.result.Closed = append(r.result.Closed, step.MemoryID)
		}
	}
	r.recorder.Record(&r.result.Result, plan, slices.DeleteFunc(changes, func(c reverie.Change) bool {
		return narrative != "" && c.MemoryID == narrative
	}))
	if r.Progress != nil {
		r.Progress(plan.Stats.Material)
	}
}
