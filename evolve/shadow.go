package evolve

import (
	"slices"

	"reverie"
)

// shadow is what a dry run believes to have written: the heads after its plans,
// and how many messages they have consumed.
type shadow struct {
	heads []reverie.HeadState
	skip  int
}

// shadowApply does in memory what Store.Apply does in the database.
func (r *run) shadowApply(s *sheet, plan reverie.Plan) {
	if r.shadow == nil {
		r.shadow = &shadow{}
	}
	r.shadow.skip += len(s.state.Pending)
	heads := slices.Clone(s.state.Heads)
	at := func(lineage string) int {
		return slices.IndexFunc(heads, func(h reverie.HeadState) bool { return h.LineageID == lineage })
	}
	runID := plan.RunID
	for _, step := range plan.Steps {
		switch step.Action {
		case reverie.ActionDelete:
			i := at(step.LineageID)
			heads = slices.Delete(heads, i, i+1)
		case reverie.ActionCreate:
			heads = append(heads, reverie.HeadState{Memory: reverie.Memory{GroupID: plan.GroupID, ID: step.MemoryID,
				LineageID: step.LineageID, Kind: plan.Kind, Version: 1, Status: reverie.StatusActive, CreatedAt: r.now,
				Weight: reverie.DefaultWeight}})
		}
		if step.Action == reverie.ActionDelete {
			continue
		}
		h := &heads[at(step.LineageID)]
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
		h.Statement, h.ContentHash, h.Tags, h.UpdatedAt, h.RunID = step.Statement, step.ContentHash, step.Tags, r.now, &runID
		h.EmbeddingModel = "" // nothing is stored that could be found
	}
	r.shadow.heads = heads
}
