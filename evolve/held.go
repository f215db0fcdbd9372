package evolve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"reverie/internal/decide"
	"reverie/internal/reverie"
)

// HeldStore is what Approve reads and writes.
type HeldStore interface {
	ApplyHeld(ctx context.Context, lease reverie.Lease, held reverie.HeldPlan, steps []reverie.Step, refused []reverie.Refusal) ([]reverie.Change, error)
	// StandingLineages reports which of the lineages have a head that is active or archived.
	StandingLineages(ctx context.Context, groupID string, lineageIDs []string) (map[string]bool, error)
}

// ruleStale refuses a held line whose memory has changed since it was held.
const ruleStale = "stale"

// Approve applies the plans that a run holds, after a person has approved them. Each plan is its own transaction. Lines
// are refused and reported where the memory has changed, the group has the statement by now, or all sources are
// deleted. A run without held lines is [reverie.ErrConflict]. So is a dream of which no line is left: it stays held,
// and can be rejected.
func (p *Pipeline) Approve(ctx context.Context, store HeldStore, hold Hold, row reverie.Run, plans []reverie.HeldPlan) (Result, error) {
	r := p.newRun(hold, row)
	if row.UndoneAt != nil {
		return r.result, fmt.Errorf("run %s was undone at %s, and what it held is rejected; its messages wait for a new run: %w",
			row.ID, row.UndoneAt.UTC().Format(time.RFC3339), reverie.ErrConflict)
	}
	waiting := 0
	for _, held := range plans {
		if held.Status != reverie.HeldWaiting {
			continue
		}
		waiting++
		if err := r.approve(ctx, store, held); err != nil {
			r.complete(err)
			return r.result, err
		}
	}
	if waiting == 0 {
		return r.result, fmt.Errorf("run %s has nothing pending review: %w", row.ID, reverie.ErrConflict)
	}
	r.recorder.Stats = approvedStats(row.Stats, plans, r.result)
	r.complete(nil)
	if r.result.Status = row.Status; row.Status == reverie.RunHeld {
		r.result.Status = reverie.RunSucceeded
	}
	return r.result, nil
}

// approve applies one held plan.
func (r *run) approve(ctx context.Context, store HeldStore, held reverie.HeldPlan) error {
	kind := held.Kind
	state, err := r.Store.Gather(ctx, reverie.GatherQuery{GroupID: r.req.GroupID, Kind: kind, Until: r.now, Limit: 1})
	if err != nil {
		return fmt.Errorf("gather group %q: %w", r.req.GroupID, err)
	}
	standing, err := sourcesThatStand(ctx, store, held)
	if err != nil {
		return err
	}
	steps, refused := recheck(state, standing, held, r.Limits.most(kind))
	if len(steps) == 0 && len(refused) > 0 && r.recorder.Row.Job == reverie.JobDream {
		return fmt.Errorf("nothing is left of what run %s holds (%s): nothing was changed, and `reverie runs reject --requeue %s` makes what it took in new again: %w",
			held.RunID, refused[0].Detail, held.RunID, reverie.ErrConflict)
	}
	if r.recorder.Row.Job == reverie.JobPropose {
		countApproval(steps, r.now)
	}
	if err := r.recorder.Embed(ctx, r.Embeddings, r.EmbeddingsOptional, steps); err != nil {
		return err
	}
	var changes []reverie.Change
	err = r.recorder.Write(func(lease reverie.Lease) (err error) {
		changes, err = store.ApplyHeld(ctx, lease, held, steps, refused)
		return err
	})
	if err != nil {
		return fmt.Errorf("apply what run %s holds: %w", held.RunID, err)
	}
	r.result.Changes = append(r.result.Changes, changes...)
	r.result.Refusals = append(r.result.Refusals, refused...)
	return nil
}

// countApproval counts the approval of an agent's proposal as support. A person confirms it on this day, whatever
// messages the proposal cites.
func countApproval(steps []reverie.Step, now time.Time) {
	for i := range steps {
		if s := &steps[i]; !ends(*s) {
			s.Strength, s.LastSupportedAt = max(s.Strength, reverie.EstablishedStrength), now
		}
	}
}

// sourcesThatStand returns the lineages among the sources of a plan's steps that are not deleted.
func sourcesThatStand(ctx context.Context, store HeldStore, held reverie.HeldPlan) (map[string]bool, error) {
	var lineages []string
	for _, s := range held.Steps {
		for _, src := range s.Sources {
			lineages = append(lineages, src.LineageID)
		}
	}
	if len(lineages) == 0 {
		return nil, nil
	}
	standing, err := store.StandingLineages(ctx, held.GroupID, lineages)
	if err != nil {
		return nil, fmt.Errorf("look for what run %s rests on: %w", held.RunID, err)
	}
	return standing, nil
}

// recheck compares the steps of a plan with the present heads and with the lineages of their sources. A step loses the
// sources that are deleted. It is pure.
func recheck(state reverie.State, standing map[string]bool, held reverie.HeldPlan, maxActive int) (steps []reverie.Step, refused []reverie.Refusal) {
	byLineage := map[string]reverie.HeadState{}
	for _, h := range slices.Concat(state.Heads, state.Again, state.Archived) {
		byLineage[h.LineageID] = h
	}
	off := staleSteps(byLineage, state.Taken, standing, held)
	for i, s := range held.Steps {
		refusal := reverie.Refusal{Line: i + 1, Action: string(s.Action), Handle: s.Head.MemoryID, Rule: ruleStale, Detail: off[i]}
		if refusal.Detail != "" {
			refused = append(refused, refusal)
			continue
		}
		s.Sources = slices.DeleteFunc(slices.Clone(s.Sources), func(src reverie.Source) bool { return !standing[src.LineageID] })
		if h, ok := byLineage[s.LineageID]; ok && !ends(s) {
			s.Strength, s.LastSupportedAt = decide.Strengthen(h, s.Evidence)
		}
		if ends(s) { // a memory archived since is deleted all the same
			if status := byLineage[s.LineageID].Status; status == reverie.StatusHeld {
				s.Judged = status
			} else {
				s.Returns = status == reverie.StatusArchived
			}
		}
		steps = append(steps, s)
	}
	plan := reverie.Plan{Kind: held.Kind, Steps: steps}
	for _, s := range decide.MakeRoom(&plan, slices.Concat(state.Heads, state.Again), maxActive) {
		refusal := decide.NoRoom(s)
		refusal.Line = 1 + slices.IndexFunc(held.Steps, func(h reverie.Step) bool { return h.LineageID == s.LineageID })
		refused = append(refused, refusal)
	}
	return plan.Steps, refused
}

// staleSteps returns, by index, why steps can no longer be applied. A refused step leaves the statement of its memory
// active, which may block another step. So the loop repeats until no further step is refused. A step that replaces a
// memory is refused with the deletion of that memory, unless the memory is deleted already.
func staleSteps(byLineage map[string]reverie.HeadState, taken, standing map[string]bool,
	held reverie.HeldPlan) map[int]string {
	steps, off := held.Steps, unfounded(byLineage, standing, held.Steps)
	text := func(s reverie.Step) string {
		return reverie.Memory{Kind: cmp.Or(byLineage[s.LineageID].Kind, held.Kind), ContentHash: s.ContentHash}.Text()
	}
	for before := -1; before < len(off); {
		before = len(off)
		stands, stays := map[string]bool{}, map[string]bool{} // active texts, and lineages that are not deleted
		maps.Copy(stands, taken)
		for _, h := range byLineage {
			if h.Status == reverie.StatusActive {
				stands[h.Text()] = true
			}
		}
		for i, s := range steps {
			switch {
			case s.Action != reverie.ActionCreate && byLineage[s.LineageID].ID != s.Head.MemoryID:
				off[i] = "the memory has changed since the plan was held"
				stays[s.LineageID] = s.Action == reverie.ActionDelete && byLineage[s.LineageID].ID != ""
			case s.Action != reverie.ActionCreate && !ends(s) && byLineage[s.LineageID].Status != restsOn(s):
				off[i] = "the memory is " + string(byLineage[s.LineageID].Status) + " now"
			case s.Judged == reverie.StatusHeld || s.Returns: // it has no active text
			case off[i] == "" && (ends(s) || s.Action == reverie.ActionUpdate):
				delete(stands, byLineage[s.LineageID].Text())
			}
		}
		for i, s := range steps {
			switch {
			case off[i] != "" || s.ContentHash == "":
			case stays[s.Replaces]:
				off[i] = "the memory that it takes the place of has changed since the plan was held"
			case stands[text(s)]:
				off[i] = "an active memory now says this"
			default:
				stands[text(s)] = true
			}
		}
	}
	return off
}

// restsOn is the status that the head had when the step was made.
func restsOn(s reverie.Step) reverie.Status {
	if s.Returns {
		return reverie.StatusArchived
	}
	return cmp.Or(s.Judged, reverie.StatusActive)
}

// unfounded returns, by index, the steps whose sources are all deleted, and those that would write a second narrative.
// The deletion of a memory is refused where every step that replaces it is.
func unfounded(byLineage map[string]reverie.HeadState, standing map[string]bool, steps []reverie.Step) map[int]string {
	off := map[int]string{}
	kept, replaced := map[string]bool{}, map[string]bool{} // lineages whose replacement is refused, and replaced ones
	for i, s := range steps {
		switch {
		case len(s.Sources) > 0 && !slices.ContainsFunc(s.Sources, func(src reverie.Source) bool { return standing[src.LineageID] }):
			off[i], kept[s.Replaces] = "all that it rests on was deleted since the plan was held", true
		case s.Action == reverie.ActionCreate && slices.Contains(s.Tags, reverie.TagSummary) && hasNarrative(byLineage):
			off[i] = "the group now has a narrative"
		default:
			replaced[s.Replaces] = true
		}
	}
	for i, s := range steps {
		if s.Action == reverie.ActionDelete && kept[s.LineageID] && !replaced[s.LineageID] {
			off[i] = "all that speaks against it was deleted since the plan was held"
		}
	}
	return off
}

// hasNarrative reports whether the group has the narrative of its dreams. There is at most one.
func hasNarrative(heads map[string]reverie.HeadState) bool {
	for _, h := range heads {
		if reverie.IsNarrative(h.Memory) {
			return true
		}
	}
	return false
}

// approvedStats counts the changes of an approval, without those that the run made before. Only Kept continues the
// run's count. Summaries and held memories are not part of Kept.
func approvedStats(before reverie.Stats, plans []reverie.HeldPlan, r Result) (st reverie.Stats) {
	beside := map[string]bool{} // versions that were not part of Kept, by their new id
	for _, p := range plans {
		for _, s := range p.Steps {
			id := cmp.Or(s.MemoryID, s.Head.MemoryID)
			beside[id] = s.Judged == reverie.StatusHeld || s.Returns || s.MemoryID != "" && slices.Contains(s.Tags, reverie.TagSummary)
		}
	}
	st.Kept = before.Kept
	for _, c := range r.Changes {
		switch c.Action {
		case reverie.ActionCreate:
			st.Created++
		case reverie.ActionUpdate:
			if st.Updated++; !beside[c.MemoryID] {
				st.Kept--
			}
		case reverie.ActionDelete:
			if st.Deleted++; !beside[c.MemoryID] {
				st.Kept--
			}
		case reverie.ActionArchive:
			st.Archived++
			st.Kept--
		}
	}
	st.Kept, st.Refused = max(st.Kept, 0), len(r.Refusals) // a proposal has counted none as kept
	return st
}
