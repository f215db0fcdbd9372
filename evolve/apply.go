package evolve

import (
	"context"
	"errors"
	"fmt"

	"reverie"
)

// apply gives the plan its vectors and writes it, in one transaction with the
// messages' outcomes and the chunk's status. A dry run applies it to its shadow.
func (r *run) apply(ctx context.Context, s *sheet, plan reverie.Plan) error {
	stats := r.count(s, plan)
	plan.Stats = stats
	if r.req.DryRun {
		r.shadowApply(s, plan)
		r.stats = stats
		return r.record(s, plan, shadowChanges(plan))
	}
	if err := r.embed(ctx, plan.Steps); err != nil {
		return err
	}
	var changes []reverie.Change
	err := r.hold.Exclusive(func() (err error) {
		changes, err = r.Store.Apply(ctx, r.hold.Lease(), plan)
		return err
	})
	if err != nil {
		return fmt.Errorf("apply chunk %d of run %s: %w", s.no, r.row.ID, err)
	}
	r.stats = stats
	return r.record(s, plan, changes)
}

// record adds what a chunk did to the result and tells whoever watches.
func (r *run) record(s *sheet, plan reverie.Plan, changes []reverie.Change) error {
	r.result.Changes = append(r.result.Changes, changes...)
	for _, step := range plan.Steps {
		if step.Action == reverie.ActionKeep {
			r.result.Supported = append(r.result.Supported, step)
		}
	}
	r.result.Refusals = append(r.result.Refusals, plan.Refusals...)
	if len(plan.Held) > 0 {
		r.result.Held = append(r.result.Held, plan.HeldReason)
	}
	for _, f := range plan.Refusals {
		r.Log.Info("line refused", "group_id", plan.GroupID, "run_id", plan.RunID, "chunk", s.no, "line", f.Line,
			"action", f.Action, "rule", f.Rule, "detail", f.Detail)
	}
	if r.Progress != nil {
		r.Progress(Progress{GroupID: plan.GroupID, Chunk: s.no, Done: r.stats.Cited + r.stats.Considered + r.stats.Filtered})
	}
	return nil
}

// count adds a plan to the run's counts.
func (r *run) count(s *sheet, plan reverie.Plan) reverie.Stats {
	st := r.stats
	for _, step := range plan.Steps {
		switch step.Action {
		case reverie.ActionCreate:
			st.Created++
		case reverie.ActionUpdate:
			st.Updated++
		case reverie.ActionDelete:
			st.Deleted++
		}
	}
	for _, step := range plan.Held {
		if step.Action != reverie.ActionKeep {
			st.Held++
		}
	}
	for _, o := range plan.Outcomes {
		switch o {
		case reverie.OutcomeCited:
			st.Cited++
		case reverie.OutcomeConsidered:
			st.Considered++
		case reverie.OutcomeFiltered:
			st.Filtered++
		}
	}
	st.Rewritten += touched(&plan, s.state.Heads)
	st.Kept = st.Base - st.Rewritten
	st.Refused += len(plan.Refusals)
	st.Chunks++
	st.Limit, st.Compared = r.limit, s.compared
	return st
}

// embed fills in the vectors of new statements, all in one request. An optional
// embedder that failed once is not waited for again.
func (r *run) embed(ctx context.Context, steps []reverie.Step) error {
	var texts []string
	var at []int
	for i, s := range steps {
		if s.Statement != "" && s.Embedding == nil { // decide has some of them
			texts, at = append(texts, s.Statement), append(at, i)
		}
	}
	if len(texts) == 0 || r.mute {
		return nil
	}
	if r.Embeddings == nil {
		r.warn("no embedding model is configured ([embed]): statements are stored without vectors until a search can embed them")
		return nil
	}
	vectors, err := r.Embeddings.Embed(ctx, r.meta("embed"), texts)
	if err != nil {
		spent := errors.As(err, new(*reverie.BudgetError)) // the stored answer is taken up when there is money again
		if ctx.Err() != nil || spent || !r.EmbeddingsOptional {
			return fmt.Errorf("embed %d statements of group %q: %w", len(texts), r.req.GroupID, err)
		}
		r.mute = true
		r.warn(fmt.Sprintf("statements are stored without vectors, which a later search will fill in; "+
			"set REVERIE_EMBED_PROVIDER if this server has no embeddings: %v", err))
		return nil
	}
	for i, v := range vectors {
		steps[at[i]].Embedding, steps[at[i]].EmbeddingModel = v, r.Embeddings.Key()
	}
	return nil
}

// warn tells the operator, once for each text.
func (r *run) warn(text string) {
	for _, w := range r.result.Warnings {
		if w == text {
			return
		}
	}
	r.result.Warnings = append(r.result.Warnings, text)
	r.Log.Warn(text, "group_id", r.req.GroupID, "run_id", r.row.ID)
}
