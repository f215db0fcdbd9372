package evolve

import (
	"cmp"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// draft is the plan of a dry run on its way into a file.
type draft struct {
	file  *reverie.PlanFile
	names map[string]string // of versions, by id: heads have their ids, what the plan writes has names
}

// beginDraft begins the plan of a dry run, which nothing is pending for yet.
func (r *run) beginDraft() {
	r.draft = &draft{names: map[string]string{}, file: &reverie.PlanFile{PlanHeader: reverie.PlanHeader{
		PlanID: cmp.Or(r.req.PlanID, reverie.NewID()), GroupID: r.req.GroupID, Job: reverie.JobEvolve, Kind: reverie.KindGroup,
		CreatedAt: r.now, Model: r.Model.Name()}}}
	r.result.Plan = r.draft.file
}

// addDraft adds what a chunk would write to the plan, and what that rests on: the heads
// before the first chunk, and the messages of each.
func (r *run) addDraft(s *sheet, plan reverie.Plan) {
	d := r.draft
	f := d.file
	if len(f.Chunks) == 0 {
		f.Since, f.Until, f.OpenEnded = r.since, r.until, !r.bounded
		f.Days = r.req.Days
		if f.Since.IsZero() {
			f.Since = s.state.Pending[0].SentAt
		}
		f.Heads = planHeads(s.state)
		for _, h := range f.Heads {
			d.names[h.MemoryID] = h.MemoryID
		}
	}
	f.PromptVersion, f.PromptSHA256 = r.life.Row.PromptVersion, r.life.Row.PromptSHA256
	for _, m := range s.state.Pending {
		f.Messages = append(f.Messages, reverie.PlanMessage{Chunk: plan.ChunkNo, MessageID: m.ID, Outcome: plan.Outcomes[m.ID], SHA256: m.SHA256()})
	}
	for _, m := range s.earlier {
		if !slices.ContainsFunc(f.Messages, func(o reverie.PlanMessage) bool { return o.MessageID == m.ID }) {
			f.Messages = append(f.Messages, reverie.PlanMessage{MessageID: m.ID, SHA256: m.SHA256()})
		}
	}
	chunk := reverie.PlanChunk{Answer: strings.ReplaceAll(s.answer, "\x00", "\uFFFD"), Compared: s.compared}
	if len(s.fresh) > 0 {
		chunk.InputSHA256 = s.inputSHA256(r.Model.Name())
	}
	for _, h := range slices.Concat(s.state.Heads, s.state.Again) {
		if slices.Contains(plan.Judged, h.LineageID) {
			chunk.Judged = append(chunk.Judged, d.names[h.ID])
		}
	}
	f.Add(chunk, plan, d.names)
}

// planHeads are all heads that a plan rests on.
func planHeads(state reverie.State) (list []reverie.PlanHead) {
	for _, h := range slices.Concat(state.Heads, state.Again) {
		list = append(list, reverie.PlanHead{MemoryID: h.ID, LineageID: h.LineageID, Version: h.Version, SHA256: h.SHA256()})
	}
	return list
}
