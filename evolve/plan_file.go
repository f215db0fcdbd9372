package evolve

import (
	"cmp"
	"context"
	"crypto/hmac"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reverie/internal/decide"
	"reverie/internal/planfile"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Sealer makes seals that only the group's database can make.
type Sealer interface {
	PlanSeal(ctx context.Context, groupID, text string) (string, error)
}

// sealOf returns the seal of a plan file, and the checksum that it seals.
func sealOf(ctx context.Context, s Sealer, file *planfile.File) (seal, sum string, err error) {
	if sum, err = file.Sum(); err != nil {
		return "", "", err
	}
	if seal, err = s.PlanSeal(ctx, file.Run.GroupID, sum); err != nil {
		return "", "", fmt.Errorf("seal the plan: %w", err)
	}
	return seal, sum, nil
}

// beginFile begins the plan file of a dry run, before the run knows of pending messages.
func (r *run) beginFile() {
	r.result.Plan = &planfile.File{CreatedAt: r.now, Run: reverie.Run{ID: cmp.Or(r.req.PlanID, reverie.NewID()),
		GroupID: r.req.GroupID, Job: reverie.JobEvolve, Model: r.Model.Name()}}
}

// sealFile seals the plan file of a dry run, if it can be applied.
func (r *run) sealFile(ctx context.Context) (err error) {
	if file := r.result.Plan; file != nil && r.req.PlanID != "" {
		file.Seal, _, err = sealOf(ctx, r.Store, file)
	}
	return err
}

// addToFile adds the plan of a chunk to the file, with the checksums of the state it depends on: the heads before the
// first chunk, and the messages of each chunk.
func (r *run) addToFile(s *chunkInput, plan reverie.Plan) {
	f := r.result.Plan
	if len(f.Chunks) == 0 {
		f.Run.WindowSince, f.Run.WindowUntil = r.since, r.until
		if r.since.IsZero() {
			f.Run.WindowSince = s.state.Pending[0].SentAt
		}
		f.Heads = text.Each(slices.Concat(s.state.Heads, s.state.Again), planfile.SumOfHead)
	}
	f.Run.PromptVersion, f.Run.PromptSHA256 = r.recorder.Row.PromptVersion, r.recorder.Row.PromptSHA256
	for _, m := range s.state.Pending {
		f.Messages = append(f.Messages, planfile.SumOfMessage(m, true))
	}
	for _, m := range s.earlier {
		if !slices.ContainsFunc(f.Messages, func(o planfile.Sum) bool { return o.ID == m.ID }) {
			f.Messages = append(f.Messages, planfile.SumOfMessage(m, false))
		}
	}
	input := ""
	if len(s.fresh) > 0 {
		input = s.inputSHA256(r.Model.Name())
	}
	plan.RunID = f.Run.ID
	f.Chunks = append(f.Chunks, planfile.Chunk{Asked: r.row(s, input, strings.ToValidUTF8(s.answer, "\uFFFD"), reverie.ChunkAnswered),
		Plan: plan})
}

// PlanStore is what ApplyPlan reads and writes, besides the heads.
type PlanStore interface {
	Sealer
	PlanState(ctx context.Context, groupID, planID string, messageIDs []string) (reverie.PlanState, error)
	ApplyPlanned(ctx context.Context, lease reverie.Lease, run reverie.PlannedRun) (changes []reverie.Change, pending int, err error)
}

// ApplyPlan writes what a plan file says, without asking a model. It writes everything in one transaction, or nothing.
// The result is a run of its own, with the plan's id and the held lines of the plan.
//
// A file that this database did not write, or that was edited, is [reverie.ErrInvalid]. Where memories or messages that
// the plan depends on have changed, it is [reverie.ErrConflict]. A plan that was applied before writes nothing: the
// result is that of the earlier run, with NoNew set.
func (p *Pipeline) ApplyPlan(ctx context.Context, store PlanStore, hold Hold, file *planfile.File) (Result, error) {
	groupID := file.Run.GroupID
	none := Result{}
	none.GroupID, none.At = groupID, p.Now().UTC()
	seal, sum, err := sealOf(ctx, store, file)
	if err != nil {
		return none, err
	}
	if !hmac.Equal([]byte(seal), []byte(file.Seal)) {
		return none, fmt.Errorf("nothing was applied: it is not as `reverie plan` has written it here: "+
			"a plan cannot be edited, and no other database's applied: %w: plan again", reverie.ErrInvalid)
	}
	ids := text.Each(file.Messages, func(m planfile.Sum) string { return m.ID })
	now, err := store.PlanState(ctx, groupID, file.Run.ID, ids)
	switch {
	case err != nil:
		return none, err
	case now.Run != nil:
		return appliedBefore(none, *now.Run)
	case len(file.Chunks) == 0:
		none.NoNew = true
		return none, nil
	}
	state, err := p.Store.Gather(ctx, reverie.GatherQuery{GroupID: groupID, Kind: reverie.KindGroup, Until: none.At, Limit: 1})
	if err != nil {
		return none, fmt.Errorf("gather group %q: %w", groupID, err)
	}
	leaveWaiting(&state)
	if err := checkStale(file, state, p.Privacy.Messages(now.Messages)); err != nil {
		return none, err
	}
	r := p.newRun(hold, file.Run)
	if err := r.writePlan(ctx, store, file, sum, state); err != nil {
		return none, err
	}
	return r.result, nil
}

// appliedBefore returns the result of the run that has applied the plan already.
func appliedBefore(res Result, run reverie.Run) (Result, error) {
	if run.UndoneAt != nil {
		return res, fmt.Errorf("the plan was applied as run %s, which was undone at %s: %w: plan again",
			run.ID, run.UndoneAt.UTC().Format(time.RFC3339), reverie.ErrConflict)
	}
	res.RunID, res.At, res.Status, res.Stats, res.NoNew = run.ID, run.StartedAt, run.Status, run.Stats, true
	return res, nil
}

// writePlan writes the plans of all chunks as one run. The strength of a memory may have changed since the plan was
// made, so it is computed anew.
func (r *run) writePlan(ctx context.Context, store PlanStore, file *planfile.File, sum string, state reverie.State) error {
	r.recorder.Began, r.recorder.Row.StartedAt = true, r.now
	st := &r.recorder.Stats
	planned := reverie.PlannedRun{Heads: text.Each(state.Heads, func(h reverie.HeadState) string { return h.ID })}
	heads := slices.Concat(state.Heads, state.Again, state.Archived)
	for _, c := range file.Chunks {
		strengthen(c.Plan.Steps, heads)
		if err := r.recorder.Embed(ctx, r.Embeddings, r.EmbeddingsOptional, c.Plan.Steps); err != nil {
			return err
		}
		c.Asked.Answer = r.Privacy.Mask(c.Asked.Answer)
		planned.Plans, planned.Chunks = append(planned.Plans, c.Plan), append(planned.Chunks, c.Asked)
		*st = c.Plan.Stats
	}
	st.Plan = sum
	planned.Run = r.recorder.Row
	planned.Run.Status, planned.Run.Stats = reverie.EndOf(nil, st.Held), *st
	var changes []reverie.Change
	err := r.recorder.Write(func(lease reverie.Lease) (err error) {
		changes, st.Deferred, err = store.ApplyPlanned(ctx, lease, planned)
		return err
	})
	if err != nil {
		return err
	}
	for i, plan := range planned.Plans {
		if i > 0 {
			changes = nil
		}
		r.recorder.Record(&r.result.Result, plan, changes)
	}
	r.complete(nil)
	return nil
}

// strengthen sets the strength of steps on existing heads, in order, from their evidence. Steps on memories that the
// plan itself creates have their strength already.
func strengthen(steps []reverie.Step, heads []reverie.HeadState) {
	for i := range steps {
		step := &steps[i]
		at := slices.IndexFunc(heads, func(h reverie.HeadState) bool { return h.ID == step.Head.MemoryID })
		if at < 0 || ends(*step) {
			continue
		}
		step.Strength, step.LastSupportedAt = decide.Strengthen(heads[at], step.Evidence)
		if updateSupport(&heads[at], *step); step.Action == reverie.ActionUpdate {
			heads[at].ID = step.MemoryID
		}
	}
}

// updateSupport updates a head with the strength and the time of support of a step.
func updateSupport(h *reverie.HeadState, step reverie.Step) {
	h.Strength, h.LastSupportedAt = step.Strength, step.LastSupportedAt
	for _, e := range step.Evidence {
		if !slices.Contains(h.SupportDates, e.LocalDate) {
			h.SupportDates = append(slices.Clip(h.SupportDates), e.LocalDate)
		}
	}
}

// checkStale refuses a plan if a memory or a message that it depends on has changed.
func checkStale(file *planfile.File, state reverie.State, messages []reverie.Message) error {
	heads := text.Each(slices.Concat(state.Heads, state.Again), planfile.SumOfHead)
	said := text.Each(messages, func(m reverie.Message) planfile.Sum { return planfile.SumOfMessage(m, m.Pending()) })
	changed := append(differing("memory ", file.Heads, heads), differing("message ", file.Messages, said)...)
	if len(changed) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was applied: the plan of %s rests on what has changed since: %s: plan again: `reverie plan --group %s -o FILE`: %w",
		file.CreatedAt.UTC().Format(time.RFC3339), text.Excerpt(strings.Join(changed, ", "), 500), file.Run.GroupID, reverie.ErrConflict)
}

// differing names the items that have changed, or are new.
func differing(what string, were, are []planfile.Sum) (names []string) {
	for _, s := range slices.Concat(were, are) {
		if !slices.Contains(were, s) || !slices.Contains(are, s) {
			names = append(names, what+s.ID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// simulation is the state of a dry run: the heads after its plans, the memories still to be judged again, and the
// number of messages consumed.
type simulation struct {
	heads []reverie.HeadState
	again []reverie.HeadState
	taken map[string]bool
	skip  int

	archived []reverie.HeadState
	nights   []string
}

// ends reports whether a step ends a memory.
func ends(s reverie.Step) bool {
	return s.Action == reverie.ActionDelete || s.Action == reverie.ActionArchive
}

// read replaces the heads of a state by those of the dry run.
func (d *simulation) read(state *reverie.State) {
	state.Heads, state.Again, state.Taken = slices.Clone(d.heads), slices.Clone(d.again), maps.Clone(d.taken)
	state.Archived, state.Nights = slices.Clone(d.archived), d.nights
}

// simulate does in memory what Store.Apply does in the database.
func (r *run) simulate(s *chunkInput, plan reverie.Plan) {
	if r.simulated == nil {
		r.simulated = &simulation{}
	}
	d := r.simulated
	d.skip += len(s.state.Pending)
	d.taken = maps.Clone(s.state.Taken)
	d.nights = s.nights
	all := slices.Concat(s.state.Heads, s.state.Again, s.state.Archived)
	at := func(lineage string) int {
		return slices.IndexFunc(all, func(h reverie.HeadState) bool { return h.LineageID == lineage })
	}
	runID := plan.RunID
	for _, step := range plan.Steps {
		switch step.Action {
		case reverie.ActionDelete, reverie.ActionArchive:
			i := at(step.LineageID)
			if i < 0 {
				continue
			}
			if step.Action == reverie.ActionArchive {
				all[i].Status = reverie.StatusArchived
				continue
			}
			delete(d.taken, all[i].Text())
			all = slices.Delete(all, i, i+1)
		case reverie.ActionCreate:
			all = append(all, reverie.HeadState{Memory: reverie.Memory{GroupID: plan.GroupID, ID: step.MemoryID,
				LineageID: step.LineageID, Kind: plan.Kind, Version: 1, Status: reverie.StatusActive, CreatedAt: r.now,
				Weight: reverie.DefaultWeight}})
		}
		if ends(step) {
			continue
		}
		i := at(step.LineageID)
		if i < 0 {
			continue
		}
		h := &all[i]
		if updateSupport(h, step); step.Action == reverie.ActionKeep {
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
		h.Type, h.DueOn = step.Type, step.DueOn
		h.Status, h.EmbeddingModel = reverie.StatusActive, "" // a dry run stores no vector that a search could find
	}
	s.noteJudged(all, plan)
	slices.SortStableFunc(all, func(a, b reverie.HeadState) int { // for those no longer held
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.LineageID, b.LineageID))
	})
	d.heads, d.again, d.archived = nil, nil, nil
	for _, h := range all {
		switch {
		case h.Status == reverie.StatusArchived:
			d.archived = append(d.archived, h)
		case h.Kind == plan.Kind && !h.Held():
			d.heads = append(d.heads, h)
		case h.JudgeAgain != "":
			d.again = append(d.again, h)
		}
	}
}
