package evolve

import (
	"cmp"
	"maps"
	"slices"

	"reverie/internal/reverie"
)

// shadow is what a dry run believes to have written: the heads after its plans,
// what is still to be judged again, and how many messages they have consumed.
type shadow struct {
	heads []reverie.HeadState
	again []reverie.HeadState
	taken map[string]bool
	skip  int
}

// read gives a state what the dry run believes.
func (d *shadow) read(state *reverie.State) {
	state.Heads, state.Again, state.Taken = slices.Clone(d.heads), slices.Clone(d.again), maps.Clone(d.taken)
}

// shadowApply does in memory what Store.Apply does in the database.
func (r *run) shadowApply(s *sheet, plan reverie.Plan) {
	if r.shadow == nil {
		r.shadow = &shadow{}
	}
	d := r.shadow
	d.skip += len(s.state.Pending)
	d.taken = maps.Clone(s.state.Taken)
	all := slices.Concat(s.state.Heads, s.state.Again)
	at := func(lineage string) int {
		return slices.IndexFunc(all, func(h reverie.HeadState) bool { return h.LineageID == lineage })
	}
	runID := plan.RunID
	for _, step := range plan.Steps {
		switch step.Action {
		case reverie.ActionDelete:
			i := at(step.LineageID)
			if i < 0 {
				continue
			}
			delete(d.taken, all[i].Text())
			all = slices.Delete(all, i, i+1)
		case reverie.ActionCreate:
			all = append(all, reverie.HeadState{Memory: reverie.Memory{GroupID: plan.GroupID, ID: step.MemoryID,
				LineageID: step.LineageID, Kind: plan.Kind, Version: 1, Status: reverie.StatusActive, CreatedAt: r.now,
				Weight: reverie.DefaultWeight}})
		}
		if step.Action == reverie.ActionDelete {
			continue
		}
		i := at(step.LineageID)
		if i < 0 {
			continue
		}
		h := &all[i]
		h.Strength, h.LastSupportedAt = step.Strength, step.LastSupportedAt
		for _, e := range step.Evidence {
			if !slices.Contains(h.SupportDates, e.LocalDate) {
				h.SupportDates = append(slices.Clip(h.SupportDates), e.LocalDate)
			}
		}
		if step.Action == reverie.ActionKeep {
			continue
		}
		if step.Action == reverie.ActionUpdate {
			h.ID, h.Version = step.MemoryID, h.Version+1
		}
		if h.Kind != plan.Kind {
			if !h.Held() {
				delete(d.taken, h.Text())
			}
			d.taken[reverie.Memory{Kind: h.Kind, ContentHash: step.ContentHash}.Text()] = true
		}
		h.Statement, h.ContentHash, h.Tags, h.UpdatedAt, h.RunID = step.Statement, step.ContentHash, step.Tags, r.now, &runID
		h.Status, h.EmbeddingModel = reverie.StatusActive, "" // nothing is stored that could be found
	}
	s.judged(all, plan)
	slices.SortStableFunc(all, func(a, b reverie.HeadState) int { // one that is held no more has its place again
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.LineageID, b.LineageID))
	})
	d.heads, d.again = nil, nil
	for _, h := range all {
		switch {
		case h.Kind == plan.Kind && !h.Held():
			d.heads = append(d.heads, h)
		case h.JudgeAgain != "":
			d.again = append(d.again, h)
		}
	}
}
