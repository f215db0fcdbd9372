package dream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/decide"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// ruleDuplicate refuses an item that is remembered already, and supported by it.
const ruleDuplicate = "duplicate"

// planned line is a line for the decider and the item that it is of.
type plannedLine struct {
	decide.Line
	item int
}

// decide makes the plan of what the dream came to: the items pass through the
// decider, where those that are remembered already support what says them, and the
// narrative is renewed beside them.
func (r *run) decide(ctx context.Context, s *chunkInput, p part) (reverie.Plan, error) {
	p.items = s.keepSameType(p.items)
	p.items = dropConflicts(p.items, s.unchanged(p.items))
	plannedLines := s.plannedLines(p.items)
	req := r.request(s, plannedLines)
	result, err := r.Decider.Decide(ctx, req)
	if err != nil {
		return reverie.Plan{}, fmt.Errorf("decide on the items of the dream of group %q: %w", r.req.GroupID, err)
	}
	r.recorder.Stats.Compared, r.recorder.EmbeddingsOff = result.Asked, result.EmbeddingsOff
	r.recorder.Warn(result.Warnings...)
	for _, d := range result.Dropped {
		s.refuse(p.items[plannedLines[d.Line].item], d.Rule, d.Detail)
	}
	s.duplicates(p.items, plannedLines, result.Facts)
	plan := result.Plan(req)
	plan.Dream, plan.Refusals = &reverie.DreamUse{MemoryIDs: s.ids(), Sessions: s.state.Sessions}, s.refused
	for _, steps := range [][]reverie.Step{plan.Steps, plan.Held} {
		for i := range steps {
			s.complete(&steps[i], p.items, plannedLines, result.Facts)
		}
	}
	r.holdForReview(s, &plan)
	plan.Stats = r.recorder.Stats
	plan.Count(&plan.Stats, s.state.Items)
	r.renew(s, &plan, p)
	return plan, nil
}

func (s *chunkInput) refuse(it item, rule, detail string) {
	s.refused = append(s.refused, reverie.Refusal{Line: it.line, Action: string(it.sort), Handle: it.replace,
		Rule: rule, Detail: detail})
}

// request hands the items to the decider. The model has compared them with each
// other; with what is remembered they are compared once more, but not with what is
// done and over.
func (r *run) request(s *chunkInput, plannedLines []plannedLine) decide.Request {
	req := decide.Request{GroupID: r.req.GroupID, RunID: r.recorder.Row.ID, ChunkNo: chunkNo, Kind: reverie.KindDream,
		Language: s.language,
		Location: s.loc, Heads: s.state.Items, FactsExempt: true, Untagged: reverie.TagSummary,
		Exempt: map[string]bool{}, EmbeddingsOff: r.recorder.EmbeddingsOff, Lease: r.recorder.LeaseFunc()}
	open := 0
	for _, h := range s.state.Items {
		if isDone(h) {
			req.Exempt[h.ID] = true
		} else {
			open++
		}
	}
	for _, w := range plannedLines {
		req.Lines = append(req.Lines, w.Line)
		if w.Target != nil && !isDone(*w.Target) {
			open--
		}
		if w.Target != nil && w.Action != reverie.ActionDelete && !slices.Contains(w.Tags, reverie.TagDone) {
			open++
		}
	}
	req.Full = func(created, freed int) string {
		if open+created-freed < r.Limits.MaxActive {
			return ""
		}
		return fmt.Sprintf("the group remembers as many preferences, themes and open threads as it may, %d",
			r.Limits.MaxActive)
	}
	return req
}

// keepSameType has what would replace an item by the words of one of another type support that
// one, and leave the first as it is: only items of one type are merged.
func (s *chunkInput) keepSameType(items []item) []item {
	items = slices.Clone(items)
	for again := true; again; { // what stays as it is may stand in the way of another
		again = false
		says := s.unchanged(items)
		for i := range items {
			it := &items[i]
			same := says[it.hash]
			if it.target != nil && !it.done && same != nil && !isDone(*same) &&
				reverie.DreamTypeOf(same.Memory) != it.sort {
				it.target, again = nil, true
			}
		}
	}
	return items
}

// planned lines turns items into lines. One that replaces another by the same words supports
// it. One that replaces it by what a third of its type says already ends it and
// supports that third: no statement may be active twice. A todo that comes back after it was done is
// open again; an item of another type ends what was done in the same words, and takes
// its place.
func (s *chunkInput) plannedLines(items []item) (list []plannedLine) {
	says := s.unchanged(items)
	for i, it := range items {
		sources := s.evidenceOf(it.rests)
		l := decide.Line{Action: reverie.ActionCreate, Target: it.target, Statement: it.content, ContentHash: it.hash,
			Tags:   tagsOf(it),
			Reason: fmt.Sprintf("%s, confidence %.2f", it.sort, it.confidence), Evidence: sources,
			Quoted: len(sources) > 0} // words that were verified when the sources were written
		same := says[it.hash]
		end := func(target *reverie.HeadState) {
			over := l
			over.Action, over.Target, over.Reason = reverie.ActionDelete, target, reverie.ReasonMerged
			list = append(list, plannedLine{over, i})
		}
		back := same != nil && isDone(*same) && !it.done
		if back && it.sort != reverie.DreamTodo {
			end(same)
			l.Replaces, same = same.LineageID, nil
		}
		switch {
		case back && same != nil:
			if it.target != nil {
				end(it.target)
			}
			l.Action, l.Target, l.Reason = reverie.ActionUpdate, same, "open again: "+l.Reason
		case it.target == nil:
		case it.done:
			l.Action, l.Reason = reverie.ActionUpdate, "done: "+l.Reason
		case it.keep:
			l.Action = reverie.ActionKeep
		case same != nil:
			end(it.target)
			l.Target = nil
		default:
			l.Action = reverie.ActionUpdate
		}
		list = append(list, plannedLine{l, i})
	}
	return list
}

// unchanged are the items that are remembered and stay as they are, and those that are
// closed with their own words, by content hash.
func (s *chunkInput) unchanged(items []item) map[string]*reverie.HeadState {
	says := map[string]*reverie.HeadState{}
	for i := range s.state.Items {
		says[s.state.Items[i].ContentHash] = &s.state.Items[i]
	}
	for _, it := range items {
		if it.target != nil && it.hash != it.target.ContentHash {
			delete(says, it.target.ContentHash)
		}
	}
	return says
}

// tagsOf are those of an item: what it is, then what the model calls it.
func tagsOf(it item) []string {
	tags := []string{reverie.TagDream, reverie.TagLongTerm, string(it.sort)}
	if it.done {
		tags = append(tags, reverie.TagDone)
	}
	if it.target != nil && len(it.tags) == 0 {
		return safety.CleanTags(append(tags, itemTags(it.target.Tags)...))
	}
	return safety.CleanTags(append(tags, it.tags...))
}

// duplicates refuses the items that say what is remembered.
func (s *chunkInput) duplicates(items []item, plannedLines []plannedLine, facts []decide.Settled) {
	for _, f := range facts {
		at := slices.IndexFunc(s.state.Items, func(h reverie.HeadState) bool { return h.ID == f.TargetID })
		if f.Action != reverie.DecisionNone || at < 0 {
			continue
		}
		it, known := items[plannedLines[f.Line].item], &s.state.Items[at]
		s.refused = append(s.refused, reverie.Refusal{Line: it.line, Action: string(it.sort), Handle: s.handle(known),
			Rule:   ruleDuplicate,
			Detail: fmt.Sprintf("remembered already, and supported: %q", text.Excerpt(known.Statement, 80))})
	}
}

// complete gives a step what it rests on besides messages, and keeps a version of the
// type that its lineage has.
func (s *chunkInput) complete(step *reverie.Step, items []item, plannedLines []plannedLine, facts []decide.Settled) {
	if step.Action == reverie.ActionDelete {
		return
	}
	for _, w := range plannedLines {
		if w.Target != nil && w.Action != reverie.ActionDelete && w.Target.LineageID == step.LineageID {
			step.Sources = joined(step.Sources, items[w.item].rests)
		}
	}
	for _, f := range facts {
		if f.MemoryID != "" && f.MemoryID == cmp.Or(step.MemoryID, step.Head.MemoryID) {
			step.Sources = joined(step.Sources, items[plannedLines[f.Line].item].rests)
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

// joined are sources, and further ones that are not among them.
func joined(list []reverie.Source, more []*source) []reverie.Source {
	for _, src := range more {
		if one := (reverie.Source{MemoryID: src.head.ID, LineageID: src.head.LineageID}); !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// isClosing tells whether a step closes a todo.
func isClosing(step reverie.Step) bool {
	return step.Action == reverie.ActionUpdate && slices.Contains(step.Tags, reverie.TagDone)
}

// holdForReview holds the whole plan when it would rewrite or delete more of what the group
// remembers than may pass without a person, more than max(HoldMin, HoldRatio) of it, or
// close more than half of the open todos, and more than a few. To close what is done is
// no rewrite, and support of what a held line ends goes.
func (r *run) holdForReview(s *chunkInput, plan *reverie.Plan) {
	judged := *plan
	judged.Steps = slices.DeleteFunc(slices.Clone(plan.Steps), isClosing)
	var reasons []string
	n, allowed := judged.Rewrites(s.state.Items), pipeline.MayRewrite(r.Limits.HoldMin, r.Limits.HoldRatio,
		s.state.Active)
	if n > allowed {
		reasons = append(reasons, fmt.Sprintf("the dream would delete or rewrite %d of the %d memories of the "+
			"group; at most %d pass without a person",
			n, s.state.Active, allowed))
	}
	todos, closings := s.todos(), len(plan.Steps)-len(judged.Steps)
	if allowed = max(holdClosings, todos/2); closings > allowed {
		reasons = append(reasons, fmt.Sprintf("the dream would close %d of the %d open todos of the group; at "+
			"most %d pass without a person",
			closings, todos, allowed))
	}
	if reasons == nil {
		return
	}
	pipeline.HoldAll(plan)
	if plan.HeldReason != "" {
		reasons = append(reasons, plan.HeldReason)
	}
	plan.HeldReason = strings.Join(reasons, "; ")
}

// holdClosings is how many todos a dream may close however few are open.
const holdClosings = 3

// todos counts the todos that are open.
func (s *chunkInput) todos() (n int) {
	for _, h := range s.state.Items {
		if reverie.DreamTypeOf(h.Memory) == reverie.DreamTodo && !isDone(h) {
			n++
		}
	}
	return n
}

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
	return decide.SummaryStep(reverie.Step{Statement: p.narrative, ContentHash: text.SummaryHash("", p.narrative),
		Tags: []string{reverie.TagDream, reverie.TagSummary}, Evidence: s.evidenceOf(rests), Sources: joined(nil, rests),
		Reason: fmt.Sprintf("looks back on %s and %s up to %s", counted(len(s.state.Sessions), "session", "sessions"),
			counted(len(s.state.Material), "memory", "memories"), s.asOf)}, s.state.Narrative, time.Time{})
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
	for _, src := range s.sources() {
		if src.fresh && !src.fact {
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
