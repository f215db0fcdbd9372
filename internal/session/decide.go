package session

import (
	"context"
	"fmt"

	"reverie/internal/decide"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// decide makes the plan of a chunk. The decider compares the facts with what the group remembers: a known fact only
// supports its memory. The summary is renewed beside them.
func (r *run) decide(ctx context.Context, s *chunkInput, a reply) (reverie.Plan, error) {
	wanted, refused := check(s, r.Limits, a)
	req := r.request(s, wanted)
	result, err := r.Decider.Decide(ctx, req)
	if err != nil {
		return reverie.Plan{}, fmt.Errorf("decide on the facts of session %q of group %q: %w", r.req.SessionID,
			r.req.GroupID, err)
	}
	s.compared, r.recorder.EmbeddingsOff = result.Asked, result.EmbeddingsOff
	r.recorder.Warn(result.Warnings...)
	for _, d := range result.Dropped {
		refused = append(refused, reverie.Refusal{Action: string(wanted[d.Line].Action), Rule: d.Rule,
			Detail: d.Detail})
	}
	plan := result.Plan(req)
	plan.Used, plan.Refusals = pipeline.IDs(s.messages), refused
	holdRewrites(&plan, r.recorder.Stats, s.state.Heads, r.Limits)
	if r.Limits.MaxActive > 0 {
		for _, step := range decide.MakeRoom(&plan, s.state.Heads, r.Limits.MaxActive) {
			plan.Refusals = append(plan.Refusals, decide.NoRoom(step))
		}
	}
	plan.Stats = r.count(s, plan, a)
	text := r.summary(s, a)
	if text == "" {
		return plan, nil
	}
	cited, _ := safety.Cite(a.recap.Evidence, s.shown, s.loc)
	step := r.recapStep(s, text, cited)
	if plan.Steps = append(plan.Steps, step); step.Action == reverie.ActionUpdate {
		plan.Stats.Updated++
		return plan, nil
	}
	plan.Stats.Created++
	plan.Stats.Archived += len(s.state.Weakest)
	for _, h := range s.state.Weakest {
		plan.Steps = append(plan.Steps, decide.NewStep(decide.Line{Action: reverie.ActionArchive, Target: &h,
			Reason: fmt.Sprintf("room for another: %d summaries of sessions may be active, and this is the weakest", r.Limits.MaxActive)}))
	}
	return plan, nil
}

// request passes the facts to the decider. The model has compared them with each other and with the facts that it was
// shown. The decider compares them with all that the group remembers.
func (r *run) request(s *chunkInput, wanted []decide.Line) decide.Request {
	return decide.Request{GroupID: r.req.GroupID, RunID: r.recorder.Row.ID, Continued: r.recorder.Continued, ChunkNo: s.no, Kind: reverie.KindSession,
		Language: s.language, Location: s.loc, Heads: s.state.Heads, Archived: s.state.Archived, Lines: wanted, FactsExempt: true,
		SessionID: r.req.SessionID, Untagged: reverie.TagSummary, Asked: r.recorder.Stats.Compared,
		EmbeddingsOff: r.recorder.EmbeddingsOff, Lease: r.recorder.LeaseFunc()}
}

// holdRewrites holds the rewrites and deletes of older memories if the run would make too many of them. The messages
// are marked as used in both cases.
func holdRewrites(plan *reverie.Plan, stats reverie.Stats, heads []reverie.HeadState, limits Limits) {
	decide.HoldExcess(plan, heads, plan.Counts(heads, reverie.ActionDelete, reverie.ActionUpdate), func(n int) string {
		return decide.TooManyRewrites(stats.Rewritten+n, stats.Base, limits.HoldMin, limits.HoldRatio,
			"the run would delete or rewrite %d of the %d facts that sessions of the group had left; "+
				"at most %d pass without a person")
	})
}

// count adds the outcomes of facts and messages to the counts of the run.
func (r *run) count(s *chunkInput, plan reverie.Plan, a reply) reverie.Stats {
	st := r.recorder.Stats
	cited := pipeline.Cited(plan.Steps, plan.Held)
	if a.recap != nil {
		evidence, _ := safety.Cite(a.recap.Evidence, s.shown, s.loc)
		for _, e := range evidence {
			cited[e.MessageID] = true
		}
	}
	pipeline.CountOutcomes(&st, s.messages, pipeline.Outcomes(s.messages, cited))
	plan.Count(&st, s.state.Heads)
	st.Limit, st.Compared = r.limit, s.compared
	return st
}
