package dream

import (
	"cmp"
	"fmt"
	"slices"

	"reverie/internal/decide"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Bounds of what a version rests on.
const (
	maxEvidence  = 12 // messages
	maxNarrative = 20 // sources of the narrative
)

// renew adds the narrative to the plan, or to what of it is held. It is no item: it
// goes past the decisions, and its hash is its own. Where the answer had none that can
// be kept, the earlier one stays.
func (r *run) renew(s *chunkInput, plan *reverie.Plan, p part) {
	if p.narrative == "" {
		if s.asked > 0 {
			stays := "the narrative stays as it was"
			if s.state.Narrative == nil {
				stays = "there is no narrative yet"
			}
			r.recorder.Warn(stays + ": the answer held none that can be kept")
		}
		return
	}
	step := s.narrate(p)
	switch {
	case plan.HeldAll:
		plan.Held = append(plan.Held, step)
		plan.Stats.Held++
		return
	case step.Action == reverie.ActionCreate:
		plan.Stats.Created++
	default:
		plan.Stats.Updated++
	}
	plan.Steps = append(plan.Steps, step)
}

// narrate is the step that writes the narrative anew.
func (s *chunkInput) narrate(p part) reverie.Step {
	rests := p.rests
	if len(rests) == 0 {
		rests = s.material()
	}
	slices.SortStableFunc(rests, func(a, b *source) int {
		return cmp.Or(b.head.LastSupportedAt.Compare(a.head.LastSupportedAt), cmp.Compare(a.handle, b.handle),
			cmp.Compare(a.head.ID, b.head.ID))
	})
	rests = rests[:min(len(rests), maxNarrative)]
	evidence := s.evidenceOf(rests)
	step := reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(),
		Statement: p.narrative,
		Tags:      []string{reverie.TagDream, reverie.TagSummary}, Evidence: evidence, Sources: joined(nil, rests),
		Reason: fmt.Sprintf("looks back on %s and %s up to %s", counted(len(s.state.Sessions), "session",
			"sessions"), counted(len(s.state.Material), "memory", "memories"), s.asOf),
		ContentHash: text.SummaryHash("", p.narrative)}
	head := reverie.HeadState{Memory: reverie.Memory{Strength: reverie.TentativeStrength}}
	if old := s.state.Narrative; old != nil {
		head = *old
		step.Action, step.LineageID, step.OldStatement = reverie.ActionUpdate, old.LineageID, old.Statement
		step.Head = reverie.Head{MemoryID: old.ID, Version: old.Version}
	} else if len(evidence) > 0 {
		head.SupportDates = []string{evidence[0].LocalDate} // the date of its birth strengthens nothing
	}
	step.Strength, step.LastSupportedAt = decide.Strengthen(head, evidence)
	return step
}

// counted is how many there are of a thing.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// material is what a narrative looks back on: summaries, and memories of the group
// that are new.
func (s *chunkInput) material() (list []*source) {
	for _, sources := range s.names.sources {
		if src := sources[0]; src.fresh && !src.fact {
			list = append(list, src)
		}
	}
	return list
}

// evidenceOf is what sources rest on together: the newest message of each local date,
// then the others, the newest first of either; oldest first.
func (s *chunkInput) evidenceOf(rests []*source) []reverie.Evidence {
	var all []reverie.Evidence
	seen := map[string]bool{}
	for _, src := range rests {
		for _, e := range s.evidence[src.head.LineageID] {
			if !seen[e.MessageID] {
				seen[e.MessageID] = true
				all = append(all, e)
			}
		}
	}
	later := func(a, b reverie.Evidence) int {
		return cmp.Or(b.SentAt.Compare(a.SentAt), cmp.Compare(a.MessageID, b.MessageID))
	}
	slices.SortFunc(all, later)
	dates := map[string]bool{}
	var first, rest []reverie.Evidence
	for _, e := range all {
		if dates[e.LocalDate] {
			rest = append(rest, e)
			continue
		}
		dates[e.LocalDate] = true
		first = append(first, e)
	}
	all = append(first, rest...)
	all = all[:min(len(all), maxEvidence)]
	slices.SortFunc(all, func(a, b reverie.Evidence) int { return later(b, a) })
	return all
}
