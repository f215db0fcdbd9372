package evolve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reverie"
	"reverie/decide"
)

// decide asks of each create whether the group remembers it already, turns the
// lines into the steps of a plan, and holds the plan whole where it would change
// too much at once.
func (r *run) decide(ctx context.Context, s *sheet, c checked) (reverie.Plan, error) {
	var facts []decide.Fact
	for _, l := range c.accepted {
		if l.action == reverie.ActionCreate {
			facts = append(facts, decide.Fact{Kind: reverie.KindGroup, Statement: l.statement, ContentHash: l.hash})
		}
	}
	decisions, err := r.Decider.Decide(ctx, remaining(s.state.Heads, c.accepted), facts)
	if err != nil {
		return reverie.Plan{}, fmt.Errorf("decide on %d new statements of group %q: %w", len(facts), r.req.GroupID, err)
	}
	plan := reverie.Plan{GroupID: r.req.GroupID, RunID: r.row.ID, ChunkNo: s.no, Kind: reverie.KindGroup,
		Outcomes: outcomes(s, c), Refusals: c.refused}
	supported := map[string]int{} // lineage -> its step, so that support of one memory comes together
	for _, l := range c.accepted {
		if l.action == reverie.ActionCreate {
			d := decisions[0]
			decisions = decisions[1:]
			if d.Verdict == decide.None {
				l.action, l.target = reverie.ActionKeep, &d.Target
			}
		}
		if l.action == reverie.ActionKeep {
			if len(l.evidence) == 0 {
				continue
			}
			if i, twice := supported[l.target.LineageID]; twice {
				l.evidence = union(plan.Steps[i].Evidence, l.evidence)
				plan.Steps[i] = step(l)
				continue
			}
			supported[l.target.LineageID] = len(plan.Steps)
		}
		plan.Steps = append(plan.Steps, step(l))
	}
	for _, l := range c.held {
		plan.Held = append(plan.Held, step(l))
		plan.HeldReason = "deletes without a verified quote, of memories that are not stale"
	}
	holdMassChange(&plan, r.stats, s.state.Heads, r.Limits)
	return plan, nil
}

// union is all the evidence of two lines on one memory, each message once.
func union(a, b []reverie.Evidence) []reverie.Evidence {
	all := slices.Clip(a)
	for _, e := range b {
		if !slices.ContainsFunc(a, func(have reverie.Evidence) bool { return have.MessageID == e.MessageID }) {
			all = append(all, e)
		}
	}
	return all
}

// remaining are the heads that the accepted lines neither delete nor rewrite.
func remaining(heads []reverie.HeadState, accepted []line) []reverie.HeadState {
	leaving := map[string]bool{}
	for _, l := range accepted {
		if l.action == reverie.ActionDelete || l.action == reverie.ActionUpdate {
			leaving[l.target.ID] = true
		}
	}
	var rest []reverie.HeadState
	for _, h := range heads {
		if !leaving[h.ID] {
			rest = append(rest, h)
		}
	}
	return rest
}

// step is a checked line as a write. Strength grows with each local date on
// which the lineage has evidence for the first time.
func step(l line) reverie.Step {
	s := reverie.Step{Action: l.action, Tags: l.tags, Reason: l.reason, Evidence: l.evidence}
	known := map[string]bool{}
	if l.target == nil {
		s.LineageID, s.MemoryID = reverie.NewID(), reverie.NewID()
		s.Statement, s.ContentHash = l.statement, l.hash
		s.Strength, s.LastSupportedAt = support(-1, time.Time{}, known, l.evidence)
		return s
	}
	s.LineageID, s.OldStatement = l.target.LineageID, l.target.Statement
	s.Head = reverie.Head{MemoryID: l.target.ID, Version: l.target.Version}
	if l.action == reverie.ActionDelete {
		s.Tags = nil
		return s
	}
	for _, d := range l.target.SupportDates {
		known[d] = true
	}
	s.Strength, s.LastSupportedAt = support(l.target.Strength, l.target.LastSupportedAt, known, l.evidence)
	if l.action == reverie.ActionUpdate {
		s.MemoryID, s.Statement, s.ContentHash = reverie.NewID(), l.statement, l.hash
		if len(s.Tags) == 0 {
			s.Tags = l.target.Tags
		}
	}
	return s
}

// support returns strength and time of last support after evidence. A strength
// below 0 is a memory's birth.
func support(strength float64, last time.Time, known map[string]bool, evidence []reverie.Evidence) (float64, time.Time) {
	dates := 0
	for _, e := range evidence {
		if !known[e.LocalDate] {
			known[e.LocalDate] = true
			dates++
		}
		if e.SentAt.After(last) {
			last = e.SentAt
		}
	}
	if strength < 0 {
		return reverie.Reinforce(reverie.TentativeStrength, dates-1), last
	}
	return reverie.Reinforce(strength, dates), last
}

// outcomes says what becomes of each message of the chunk.
func outcomes(s *sheet, c checked) map[string]reverie.Outcome {
	out := make(map[string]reverie.Outcome, len(s.state.Pending))
	for _, m := range s.fresh {
		out[m.ID] = reverie.OutcomeConsidered
	}
	for _, m := range s.filtered {
		out[m.ID] = reverie.OutcomeFiltered
	}
	for _, lines := range [][]line{c.accepted, c.held} {
		for _, l := range lines {
			for _, e := range l.evidence {
				if _, fresh := out[e.MessageID]; fresh {
					out[e.MessageID] = reverie.OutcomeCited
				}
			}
		}
	}
	return out
}

// holdMassChange holds the whole plan when the run, with it, would delete or
// rewrite more of what the group remembered before than it may: more than
// max(HoldMin, HoldRatio) of it, or all of it where that is two or fewer.
// Memories born in this run may be reshaped freely.
func holdMassChange(plan *reverie.Plan, stats reverie.Stats, heads []reverie.HeadState, limits Limits) {
	n := touched(plan, heads)
	if n == 0 {
		return
	}
	allowed := max(limits.HoldMin, int(limits.HoldRatio*float64(stats.Base)))
	total := stats.Rewritten + n
	all := stats.Base <= 2 && total >= stats.Base
	if total <= allowed && !all {
		return
	}
	plan.HeldReason = fmt.Sprintf("the run would delete or rewrite %d of the %d memories that the group had; at most %d pass without a person",
		total, stats.Base, allowed)
	if all {
		plan.HeldReason = fmt.Sprintf("the run would delete or rewrite all %d memories of the group", stats.Base)
	}
	plan.Held, plan.HeldAll = append(plan.Steps, plan.Held...), true
	plan.Steps = nil
}

// touched counts the deletes and rewrites of versions that the run did not write
// itself.
func touched(plan *reverie.Plan, heads []reverie.HeadState) int {
	own := map[string]bool{}
	for _, h := range heads {
		own[h.LineageID] = h.RunID != nil && *h.RunID == plan.RunID
	}
	n := 0
	for _, s := range plan.Steps {
		if (s.Action == reverie.ActionDelete || s.Action == reverie.ActionUpdate) && !own[s.LineageID] {
			n++
		}
	}
	return n
}
