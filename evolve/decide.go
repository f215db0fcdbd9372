package evolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/decide"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

// decide compares each create with what the group remembers and turns the lines into the steps of a plan. It holds
// excess changes for review and makes room for the rest.
func (r *run) decide(ctx context.Context, s *chunkInput, c checked) (reverie.Plan, error) {
	archives := decide.Rewritable(r.recorder.Stats.Base, r.Limits.HoldMin, r.Limits.HoldRatio)
	c.boundArchives(archives - r.recorder.Stats.Archived)
	req := r.request(s, c)
	result, err := r.Decider.Decide(ctx, req)
	if err != nil {
		return reverie.Plan{}, fmt.Errorf("decide on the new statements of group %q: %w", r.req.GroupID, err)
	}
	s.compared, r.recorder.EmbeddingsOff = result.Asked, result.EmbeddingsOff
	r.recorder.Warn(result.Warnings...)
	plan := result.Plan(req)
	plan.RunID, plan.Refusals, plan.Impressions = r.recorder.Row.ID, c.refused, r.Impressions
	for _, dropped := range result.Dropped {
		plan.Refusals = append(plan.Refusals, c.accepted[dropped.Line].refusal(dropped.Rule, dropped.Detail))
	}
	plan.HeldReason = heldReason(c, result)
	holdMassChange(&plan, r.recorder.Stats, s.state.Heads, r.Limits)
	for _, step := range decide.MakeRoom(&plan, slices.Concat(s.state.Heads, s.state.Again), r.Limits.MaxActive) {
		plan.Refusals = append(plan.Refusals, decide.NoRoom(step))
	}
	plan.Judged = s.judgedKept(plan)
	plan.Outcomes = pipeline.Outcomes(s.state.Pending, pipeline.Cited(plan.Steps, plan.Held))
	return plan, nil
}

// request passes the lines to the decider, the accepted ones before the held ones. The model has compared the facts
// with the memories that it was shown, so the decider need not.
func (r *run) request(s *chunkInput, c checked) decide.Request {
	req := decide.Request{GroupID: r.req.GroupID, RunID: cmp.Or(r.recorder.Row.ID, r.req.PlanID), Continued: r.recorder.Continued, ChunkNo: s.no, Kind: reverie.KindGroup, Language: s.language,
		Location: s.loc, Heads: s.state.Heads, FactsExempt: !r.CompareShown, Archived: s.state.Archived, MaxCreates: r.Limits.MaxCreates, Asked: r.recorder.Stats.Compared, EmbeddingsOff: r.recorder.EmbeddingsOff}
	if r.recorder.Hold != nil {
		req.Lease = r.recorder.Hold.Lease
	}
	if !r.CompareShown {
		req.Exempt = make(map[string]bool, len(s.shown))
		for _, h := range s.shown {
			req.Exempt[h.ID] = true
		}
	}
	for _, l := range c.accepted {
		req.Lines = append(req.Lines, l.wanted(false))
	}
	for _, l := range c.held {
		req.Lines = append(req.Lines, l.wanted(true))
	}
	return req
}

// wanted converts a checked line into a line of the decider.
func (l line) wanted(held bool) decide.Line {
	action := l.action
	if l.silent {
		action = reverie.ActionArchive
	}
	return decide.Line{Action: action, Target: l.target, Statement: l.statement, Type: l.typ, DueOn: l.due, ContentHash: l.hash,
		Tags: l.tags, Reason: l.reason, Evidence: l.evidence, Quoted: l.quoted, Held: held}
}

// heldReason tells a reviewer why lines are held.
func heldReason(c checked, result decide.Result) string {
	var reasons []string
	isDelete := func(l line) bool { return l.action == reverie.ActionDelete }
	if slices.ContainsFunc(c.held, isDelete) {
		reasons = append(reasons, "deletes without a verified quote, of memories that are not stale")
	}
	if slices.ContainsFunc(c.held, func(l line) bool { return !isDelete(l) }) {
		reasons = append(reasons, "statements that may be there to lead a model astray")
	}
	return strings.Join(append(reasons, result.HeldReasons...), "; ")
}

// holdMassChange holds deletes and rewrites for review when the run would make too many of them. The limit is
// max(HoldMin, HoldRatio) of the memories that the group had before the run, or all of them where there are at most
// two. Memories that this run created do not count.
func holdMassChange(plan *reverie.Plan, stats reverie.Stats, heads []reverie.HeadState, limits Limits) {
	held := decide.HoldExcess(plan, heads, plan.Counts(heads, reverie.ActionDelete, reverie.ActionUpdate), func(n int) string {
		n += stats.Rewritten
		if stats.Base <= 2 && n >= stats.Base {
			return fmt.Sprintf("the run would delete or rewrite all %d memories of the group", stats.Base)
		}
		return decide.TooManyRewrites(n, stats.Base, limits.HoldMin, limits.HoldRatio,
			"the run would delete or rewrite %d of the %d memories that the group had; at most %d pass without a person")
	})
	plan.HeldAll = held && len(plan.Steps) == 0
}
