package dream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/decide"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// ruleDuplicate refuses an item that the group remembers already. The item supports that memory.
const ruleDuplicate = "duplicate"

// plannedLine is a line for the decider, with the index of its item.
type plannedLine struct {
	decide.Line
	item int
}

// decide makes the plan of an answer. The decider compares the items with what the group remembers: a known item only
// supports its memory. The narrative is renewed beside them.
func (r *run) decide(ctx context.Context, s *chunkInput, a reply) (reverie.Plan, error) {
	found, refused := check(s, r.Limits, a)
	s.refused = append(s.refused, refused...)
	lines := s.plannedLines(found.items)
	req := r.request(s, lines)
	result, err := r.Decider.Decide(ctx, req)
	if err != nil {
		return reverie.Plan{}, fmt.Errorf("decide on the items of the dream of group %q: %w", r.req.GroupID, err)
	}
	r.recorder.Stats.Compared, r.recorder.EmbeddingsOff = result.Asked, result.EmbeddingsOff
	r.recorder.Warn(result.Warnings...)
	for _, d := range result.Dropped {
		s.refused = append(s.refused, found.items[lines[d.Line].item].Refusal(d.Rule, d.Detail))
	}
	s.duplicates(found.items, lines, result.Facts)
	plan := result.Plan(req)
	plan.Dream, plan.Refusals = &reverie.DreamUse{MemoryIDs: s.ids(), Sessions: s.covered()}, s.refused
	for _, steps := range [][]reverie.Step{plan.Steps, plan.Held} {
		for i := range steps {
			s.complete(&steps[i], found.items, lines, result.Facts)
		}
	}
	r.holdForReview(s, &plan)
	for _, step := range decide.MakeRoom(&plan, s.state.Items, r.Limits.MaxActive) {
		plan.Refusals = append(plan.Refusals, decide.NoRoom(step))
	}
	plan.Stats = r.recorder.Stats
	plan.Count(&plan.Stats, s.state.Items)
	plan.Stats.Sessions += len(plan.Dream.Sessions)
	plan.Stats.Material += len(plan.Dream.MemoryIDs)
	if len(s.material) > 0 {
		plan.Stats.Batches++
		r.addNarrative(s, &plan, found)
	}
	return plan, nil
}

// request passes the items to the decider. The model has compared them with each other. The decider compares them with
// what the group remembers, except with closed todos.
func (r *run) request(s *chunkInput, lines []plannedLine) decide.Request {
	req := decide.Request{GroupID: r.req.GroupID, RunID: r.recorder.Row.ID, Continued: r.recorder.Continued, ChunkNo: s.no, Kind: reverie.KindDream,
		Language: s.language,
		Location: s.loc, Heads: s.state.Items, Archived: s.state.Archived, FactsExempt: true, Untagged: reverie.TagSummary,
		Exempt: map[string]bool{}, Asked: r.recorder.Stats.Compared, EmbeddingsOff: r.recorder.EmbeddingsOff,
		Lease: r.recorder.LeaseFunc()}
	for _, h := range s.state.Items {
		if isDone(h) {
			req.Exempt[h.ID] = true
		}
	}
	for _, w := range lines {
		req.Lines = append(req.Lines, w.Line)
	}
	return req
}

// plannedLines turns items into lines. An item that replaces another by the same words supports it. An item may replace
// or close another by a statement that a third item has. Then the other is deleted, and the third supported unless it
// is closed: no statement may be active twice. A closed todo that is said again is reopened.
func (s *chunkInput) plannedLines(items []item) (list []plannedLine) {
	stands, says := pipeline.Standing(s.state.Items, items, proposalOf), map[string]bool{}
	for _, it := range items {
		says[it.Hash] = says[it.Hash] || !it.Done
	}
	for i, it := range items {
		evidence := s.evidenceOf(it.sources)
		l := decide.Line{Action: reverie.ActionCreate, Target: it.Target, Statement: it.Content, ContentHash: it.Hash,
			Tags: tagsOf(it), Type: typeOf(it.Type),
			Reason: fmt.Sprintf("%s, confidence %.2f", it.Type, it.Confidence), Evidence: evidence,
			Quoted: len(evidence) > 0} // the quotes were verified when the sources were written
		same := stands[it.Hash]
		taken := same != nil && (it.Target == nil || same.ID != it.Target.ID) || it.Done && says[it.Hash]
		if it.Target != nil && taken {
			end := l
			end.Action, end.Reason = reverie.ActionDelete, reverie.ReasonMerged
			list = append(list, plannedLine{end, i})
			l.Target = nil
		}
		switch {
		case it.Done && taken:
			continue
		case it.Done:
			l.Action, l.Reason, says[it.Hash] = reverie.ActionUpdate, "done: "+l.Reason, true
		case it.Keep:
			l.Action = reverie.ActionKeep
		case same != nil && isDone(*same):
			l.Action, l.Target, l.Reason = reverie.ActionUpdate, same, "open again: "+l.Reason
		case l.Target != nil:
			l.Action = reverie.ActionUpdate
		}
		list = append(list, plannedLine{l, i})
	}
	return list
}

// typeOf returns the type of memory for a type of item.
func typeOf(item string) reverie.Type {
	if item == string(reverie.DreamTodo) {
		return reverie.TypePlan
	}
	return reverie.TypeFact
}

// tagsOf returns the tags of an item: the reserved ones, then those of the model.
func tagsOf(it item) []string {
	tags := []string{reverie.TagDream, reverie.TagLongTerm, it.Type}
	if it.Done {
		tags = append(tags, reverie.TagDone)
	}
	if it.Target != nil && len(it.Tags) == 0 {
		return safety.CleanTags(append(tags, itemTags(it.Target.Tags)...))
	}
	return safety.CleanTags(append(tags, it.Tags...))
}

// duplicates refuses the items that the group remembers already.
func (s *chunkInput) duplicates(items []item, lines []plannedLine, facts []decide.Settled) {
	for _, f := range facts {
		at := slices.IndexFunc(s.state.Items, func(h reverie.HeadState) bool { return h.ID == f.TargetID })
		if f.Action != reverie.DecisionNone || at < 0 {
			continue
		}
		it, known := items[lines[f.Line].item], &s.state.Items[at]
		s.refused = append(s.refused, it.Refusal(ruleDuplicate,
			fmt.Sprintf("remembered already, and supported: %q", text.Excerpt(known.Statement, 80))))
	}
}

// complete adds the sources of a step, and gives a new version the item type of its lineage.
func (s *chunkInput) complete(step *reverie.Step, items []item, lines []plannedLine, facts []decide.Settled) {
	if step.Action == reverie.ActionDelete {
		return
	}
	for _, w := range lines {
		if w.Target != nil && w.Action != reverie.ActionDelete && w.Target.LineageID == step.LineageID {
			step.Sources = addSources(step.Sources, items[w.item].sources)
		}
	}
	for _, f := range facts {
		if f.MemoryID != "" && f.MemoryID == cmp.Or(step.MemoryID, step.Head.MemoryID) {
			step.Sources = addSources(step.Sources, items[lines[f.Line].item].sources)
		}
	}
	if step.Action != reverie.ActionUpdate {
		return
	}
	for i := range s.state.Items {
		if h := s.state.Items[i]; h.LineageID == step.LineageID {
			sort := reverie.DreamTypeOf(h.Memory)
			tags := []string{reverie.TagDream, reverie.TagLongTerm, string(sort)}
			if isClosing(*step) {
				tags = append(tags, reverie.TagDone)
			}
			step.Tags = safety.CleanTags(append(tags, itemTags(step.Tags)...))
		}
	}
}

// addSources adds sources to a list, each once.
func addSources(list []reverie.Source, more []*source) []reverie.Source {
	for _, src := range more {
		if one := (reverie.Source{MemoryID: src.head.ID, LineageID: src.head.LineageID}); !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// isClosing reports whether a step closes a todo.
func isClosing(step reverie.Step) bool {
	return step.Action == reverie.ActionUpdate && slices.Contains(step.Tags, reverie.TagDone)
}

// holdForReview holds items for review if the dream would rewrite or delete too many memories of the group, or close
// too many todos. More than half of the open todos are too many, but not fewer than holdClosings. Closing a todo is no
// rewrite. The counts include the earlier chunks of the run.
func (r *run) holdForReview(s *chunkInput, plan *reverie.Plan) {
	counts := plan.Counts(s.state.Items, reverie.ActionDelete, reverie.ActionUpdate)
	rewrites := func(step reverie.Step) bool { return counts(step) && !isClosing(step) }
	closes := func(step reverie.Step) bool { return counts(step) && isClosing(step) }
	st := &r.recorder.Stats
	todos := st.Closed
	for _, h := range s.state.Items {
		if reverie.DreamTypeOf(h.Memory) == reverie.DreamTodo && !isDone(h) {
			todos++
		}
	}
	decide.HoldExcess(plan, s.state.Items, rewrites, func(n int) string {
		return decide.TooManyRewrites(st.Rewritten-st.Closed+n, s.state.Active, r.Limits.HoldMin, r.Limits.HoldRatio,
			"the dream would delete or rewrite %d of the %d memories of the group; at most %d pass without a person")
	})
	decide.HoldExcess(plan, s.state.Items, closes, func(n int) string {
		return decide.TooManyRewrites(st.Closed+n, todos, holdClosings, 0.5,
			"the dream would close %d of the %d open todos of the group; at most %d pass without a person")
	})
	plan.HeldAll = len(plan.Held) > 0 && len(plan.Steps) == 0
	st.Closed += count(plan.Steps, closes)
}

// count returns how many steps satisfy is.
func count(steps []reverie.Step, is func(reverie.Step) bool) (n int) {
	for _, step := range steps {
		if is(step) {
			n++
		}
	}
	return n
}

// holdClosings is how many todos a dream may always close.
const holdClosings = 3

// Limits of what a version refers to.
const (
	maxEvidence  = 12 // messages
	maxNarrative = 20 // sources of the narrative
)

// addNarrative adds the narrative to the plan, or to its held part. It is no item, so the decider does not see it, and
// it has a hash of its own. Without a usable narrative in the answer, the earlier one stays.
func (r *run) addNarrative(s *chunkInput, plan *reverie.Plan, p findings) {
	if p.narrative == "" {
		stays := "the narrative stays as it was"
		if s.state.Narrative == nil {
			stays = "there is no narrative yet"
		}
		r.recorder.Warn(stays + ": the answer held none that can be kept")
		return
	}
	step := s.narrativeStep(plan, p)
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

// narrativeStep returns the step that writes the new narrative.
func (s *chunkInput) narrativeStep(plan *reverie.Plan, p findings) reverie.Step {
	rests := p.sources
	if len(rests) == 0 { // by default the summaries, and memories of the group
		rests = slices.DeleteFunc(slices.Clone(s.material), func(src *source) bool { return src.fact })
	}
	slices.SortStableFunc(rests, func(a, b *source) int {
		return cmp.Or(b.head.LastSupportedAt.Compare(a.head.LastSupportedAt), cmp.Compare(a.handle, b.handle),
			cmp.Compare(a.head.ID, b.head.ID))
	})
	rests = rests[:min(len(rests), maxNarrative)]
	return decide.SummaryStep(reverie.Step{Statement: p.narrative, ContentHash: text.SummaryHash("", p.narrative),
		Tags: []string{reverie.TagDream, reverie.TagSummary}, Evidence: s.evidenceOf(rests), Sources: addSources(nil, rests),
		Reason: fmt.Sprintf("looks back on %s and %s up to %s", countNoun(len(plan.Dream.Sessions), "session", "sessions"),
			countNoun(len(plan.Dream.MemoryIDs), "memory", "memories"), s.asOf)}, s.state.Narrative, time.Time{})
}

// countNoun formats a number with its noun.
func countNoun(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// evidenceOf returns the evidence of sources together, at most maxEvidence. The newest message of each local date comes
// before the others, and newer before older. The result is ordered oldest first.
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
