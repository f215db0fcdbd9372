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

// Sealer makes sums that only the group's database can make.
type Sealer interface {
	PlanSeal(ctx context.Context, groupID, text string) (string, error)
}

// sealOf is the seal of a plan, and the sum that it seals.
func sealOf(ctx context.Context, s Sealer, file *planfile.File) (seal, sum string, err error) {
	if sum, err = file.Sum(); err != nil {
		return "", "", err
	}
	if seal, err = s.PlanSeal(ctx, file.GroupID, sum); err != nil {
		return "", "", fmt.Errorf("seal the plan: %w", err)
	}
	return seal, sum, nil
}

// isSealed tells whether a plan has its seal, and returns its sum.
func isSealed(ctx context.Context, s Sealer, file *planfile.File) (sealed bool, sum string, err error) {
	seal, sum, err := sealOf(ctx, s, file)
	return err == nil && hmac.Equal([]byte(seal), []byte(file.Seal)), sum, err
}

// beginFile begins the plan of a dry run, before anything is known to be pending.
func (r *run) beginFile() {
	r.result.Plan = &planfile.File{PlanID: cmp.Or(r.req.PlanID, reverie.NewID()), GroupID: r.req.GroupID,
		CreatedAt: r.now, Model: r.Model.Name()}
}

// sealFile seals the plan of a dry run, if it is to be applied.
func (r *run) sealFile(ctx context.Context) (err error) {
	if file := r.result.Plan; file != nil && r.req.PlanID != "" {
		file.Seal, _, err = sealOf(ctx, r.Store, file)
	}
	return err
}

// addToFile adds what a chunk would write to the plan, and what that rests on: the heads
// before the first chunk, and the messages of each.
func (r *run) addToFile(s *chunkInput, plan reverie.Plan) {
	f := r.result.Plan
	if len(f.Chunks) == 0 {
		f.Since, f.Until, f.OpenEnded, f.Days = r.since, r.until, !r.bounded, r.req.Days
		if f.Since.IsZero() {
			f.Since = s.state.Pending[0].SentAt
		}
		for _, h := range slices.Concat(s.state.Heads, s.state.Again) {
			f.Heads = append(f.Heads, planfile.Head{MemoryID: h.ID, LineageID: h.LineageID, Version: h.Version, SHA256: planfile.HeadSHA256(h)})
		}
	}
	f.PromptVersion, f.PromptSHA256 = r.recorder.Row.PromptVersion, r.recorder.Row.PromptSHA256
	for _, m := range s.state.Pending {
		f.Messages = append(f.Messages, planfile.Message{Chunk: s.no, MessageID: m.ID, Outcome: plan.Outcomes[m.ID], SHA256: planfile.MessageSHA256(m)})
	}
	for _, m := range s.earlier {
		if !slices.ContainsFunc(f.Messages, func(o planfile.Message) bool { return o.MessageID == m.ID }) {
			f.Messages = append(f.Messages, planfile.Message{MessageID: m.ID, SHA256: planfile.MessageSHA256(m)})
		}
	}
	chunk := planfile.Chunk{No: s.no, Compared: s.compared, Steps: plan.Steps, Held: plan.Held, Whole: plan.HeldAll, Reason: plan.HeldReason,
		Judged: plan.Judged, Refusals: plan.Refusals, Decisions: plan.Decisions}
	chunk.Answer = strings.ReplaceAll(strings.ToValidUTF8(s.answer, "\uFFFD"), "\x00", "\uFFFD")
	for _, h := range s.shown {
		chunk.MemoryIDs = append(chunk.MemoryIDs, h.ID)
	}
	if len(s.fresh) > 0 {
		chunk.InputSHA256 = s.inputSHA256(r.Model.Name())
	}
	f.Chunks = append(f.Chunks, chunk)
}

// PlanStore is what applying a plan file reads and writes, besides the heads.
type PlanStore interface {
	Sealer
	PlanState(ctx context.Context, groupID, planID string, messageIDs []string) (reverie.PlanState, error)
	ApplyPlanned(ctx context.Context, lease reverie.Lease, run reverie.PlannedRun) (changes []reverie.Change, pending int, err error)
}

// ApplyPlan writes what a plan file says, without asking a model: all of it, in one
// transaction, or nothing. It becomes a run of its own, whose id is the plan's, with the
// lines that wait for a person, unless approve has them pass.
//
// A file that is not as this database wrote it is [reverie.ErrInvalid]. Where the memories or
// messages that the plan rests on are not as they were, it is [reverie.ErrConflict]. A plan
// that was applied already is told from that: the result's run has ended before, and nothing
// is written.
func (p *Pipeline) ApplyPlan(ctx context.Context, store PlanStore, hold Hold, file *planfile.File, approve bool) (Result, error) {
	none := Result{}
	none.GroupID, none.At = file.GroupID, p.Now().UTC()
	sealed, sum, err := isSealed(ctx, store, file)
	if err != nil {
		return none, err
	}
	if !sealed {
		return none, fmt.Errorf("nothing was applied: it is not as `reverie plan` has written it here: "+
			"a plan cannot be edited, and no other database's applied: %w: plan again", reverie.ErrInvalid)
	}
	ids := make([]string, len(file.Messages))
	for i, m := range file.Messages {
		ids[i] = m.MessageID
	}
	now, err := store.PlanState(ctx, file.GroupID, file.PlanID, ids)
	if err != nil {
		return none, err
	}
	if now.Run != nil {
		return appliedBefore(none, *now.Run)
	}
	if len(file.Chunks) == 0 {
		none.NoNew = true
		return none, nil
	}
	a, err := p.planApplier(ctx, hold, file)
	if err != nil {
		return none, err
	}
	if err := a.checkStale(p.Privacy.Messages(now.Messages)); err != nil {
		return none, err
	}
	a.recorder.Stats.Plan = sum
	for i := range file.Chunks {
		if err := a.chunk(&file.Chunks[i], approve); err != nil {
			return none, err
		}
	}
	return a.write(ctx, store)
}

// appliedBefore says what became of a plan that a run has applied.
func appliedBefore(res Result, run reverie.Run) (Result, error) {
	if run.UndoneAt != nil {
		return res, fmt.Errorf("the plan was applied as run %s, and that was taken back at %s: %w: plan again",
			run.ID, run.UndoneAt.UTC().Format(time.RFC3339), reverie.ErrConflict)
	}
	res.RunID, res.At, res.Status, res.Stats, res.NoNew = run.ID, run.StartedAt, run.Status, run.Stats, true
	return res, nil
}

// planApplier is a plan file on its way to be applied.
type planApplier struct {
	*run
	file    *planfile.File
	state   reverie.State // of the group, before the first chunk
	planned reverie.PlannedRun
}

// planApplier reads the group's heads.
func (p *Pipeline) planApplier(ctx context.Context, hold Hold, file *planfile.File) (*planApplier, error) {
	r := p.of(hold, reverie.Run{GroupID: file.GroupID, ID: file.PlanID, Job: reverie.JobEvolve, Model: file.Model,
		PromptVersion: file.PromptVersion, PromptSHA256: file.PromptSHA256, WindowSince: file.Since, WindowUntil: file.Until})
	state, err := p.Store.Gather(ctx, reverie.GatherQuery{GroupID: file.GroupID, Kind: reverie.KindGroup, Until: r.now, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("gather group %q: %w", file.GroupID, err)
	}
	leaveWaiting(&state)
	r.recorder.Began, r.recorder.Row.StartedAt = true, r.now
	r.recorder.Stats = reverie.Stats{Base: len(state.Heads), Kept: len(state.Heads), Days: file.Days, OpenEnded: file.OpenEnded}
	return &planApplier{run: r, file: file, state: state}, nil
}

// checkStale refuses a plan of which a memory or a message is not as it was.
func (a *planApplier) checkStale(messages []reverie.Message) error {
	moved := append(a.movedHeads(), a.movedMessages(messages)...)
	if len(moved) == 0 {
		return nil
	}
	const most = 10
	if n := len(moved) - most; n > 0 {
		moved = append(moved[:most], fmt.Sprintf("and %d more", n))
	}
	return fmt.Errorf("nothing was applied: what the plan of %s rests on has changed since:\n  %s\nplan again: `reverie plan --group %s -o FILE`: %w",
		a.file.CreatedAt.UTC().Format(time.RFC3339), strings.Join(moved, "\n  "), a.file.GroupID, reverie.ErrConflict)
}

// movedHeads are memories that are not as they were, and new ones.
func (a *planApplier) movedHeads() (moved []string) {
	heads := slices.Concat(a.state.Heads, a.state.Again)
	now := map[string]reverie.HeadState{}
	for _, h := range heads {
		now[h.LineageID] = h
	}
	for _, was := range a.file.Heads {
		is, found := now[was.LineageID]
		delete(now, was.LineageID)
		said := text.Excerpt(is.Statement, 60)
		switch {
		case !found:
			moved = append(moved, fmt.Sprintf("memory %s is not active any more, or was judged again", was.MemoryID))
		case is.ID != was.MemoryID:
			moved = append(moved, fmt.Sprintf("memory %s has moved: version %d, %s, says “%s”", was.MemoryID, is.Version, is.ID, said))
		case is.Version != was.Version || planfile.HeadSHA256(is) != was.SHA256:
			moved = append(moved, fmt.Sprintf("memory %s is not as it was for the plan: version %d says “%s”", was.MemoryID, is.Version, said))
		}
	}
	for _, h := range heads {
		if _, unknown := now[h.LineageID]; unknown {
			moved = append(moved, fmt.Sprintf("memory %s is new to the plan: “%s”", h.ID, text.Excerpt(h.Statement, 60)))
		}
	}
	return moved
}

// movedMessages are messages that are not as they were.
func (a *planApplier) movedMessages(messages []reverie.Message) (moved []string) {
	now := map[string]reverie.Message{}
	for _, m := range messages {
		now[m.ID] = m
	}
	for _, was := range a.file.Messages {
		name := text.Excerpt(was.MessageID, 60)
		switch is, found := now[was.MessageID]; {
		case !found:
			moved = append(moved, fmt.Sprintf("message %q is not there, or its text was removed", name))
		case planfile.MessageSHA256(is) != was.SHA256:
			moved = append(moved, fmt.Sprintf("message %q says something else than it did for the plan", name))
		case was.Chunk > 0 && !is.Pending():
			by := ""
			if is.RunID != nil {
				by = " by run " + *is.RunID
			}
			moved = append(moved, fmt.Sprintf("message %q is not pending any more: %s%s", name, is.State(), by))
		case was.Chunk == 0 && is.Pending():
			moved = append(moved, fmt.Sprintf("message %q, which was shown as context, is pending", name))
		}
	}
	return moved
}

// chunk adds the plan of a chunk, on what those before it will have left. The strength of
// what it supports is computed anew.
func (a *planApplier) chunk(c *planfile.Chunk, approve bool) error {
	s := &chunkInput{no: c.No, state: a.state, compared: c.Compared}
	if a.simulated != nil {
		a.simulated.read(&s.state)
	}
	plan := reverie.Plan{GroupID: a.file.GroupID, RunID: a.file.PlanID, ChunkNo: c.No, Kind: reverie.KindGroup, Steps: c.Steps, Held: c.Held,
		HeldAll: c.Whole, HeldReason: c.Reason, Judged: c.Judged, Refusals: c.Refusals, Decisions: c.Decisions,
		Outcomes: map[string]reverie.Outcome{}, Impressions: a.Impressions}
	row := reverie.Chunk{RunID: plan.RunID, No: c.No, InputSHA256: c.InputSHA256, Answer: a.Privacy.Mask(c.Answer), MemoryIDs: c.MemoryIDs}
	s.state.Pending = nil
	for _, m := range a.file.Messages {
		if m.Chunk == c.No {
			s.state.Pending = append(s.state.Pending, reverie.Message{ID: m.MessageID})
			row.MessageIDs = append(row.MessageIDs, m.MessageID)
			plan.Outcomes[m.MessageID] = m.Outcome
		}
	}
	if approve {
		a.recorder.Stats.Approved += letPass(&plan)
	}
	if err := a.strengthen(s, plan.Steps); err != nil {
		return err
	}
	plan.Stats = a.count(s, plan)
	plan.Stats.Limit = 0
	a.recorder.Stats = plan.Stats
	a.simulate(s, plan)
	a.planned.Plans, a.planned.Chunks = append(a.planned.Plans, plan), append(a.planned.Chunks, row)
	return nil
}

// letPass has what a plan holds be done with the rest, and returns how many writes that are.
// Support of a memory that then ends goes with it.
func letPass(plan *reverie.Plan) (n int) {
	ended := map[string]bool{}
	for _, step := range plan.Held {
		ended[step.LineageID] = ended[step.LineageID] || step.Action == reverie.ActionDelete
		if step.Action != reverie.ActionKeep {
			n++
		}
	}
	plan.Steps = slices.DeleteFunc(slices.Concat(plan.Steps, plan.Held), func(step reverie.Step) bool {
		return step.Action == reverie.ActionKeep && ended[step.LineageID]
	})
	plan.Held, plan.HeldAll, plan.HeldReason = nil, false, ""
	return n
}

// strengthen gives steps the strength that their evidence makes of the heads of now. A step
// on a version that earlier chunks do not leave is [reverie.ErrConflict]: they were let pass,
// and this one was planned as if they waited.
func (a *planApplier) strengthen(s *chunkInput, steps []reverie.Step) error {
	for i := range steps {
		step := &steps[i]
		if step.Action == reverie.ActionCreate {
			continue
		}
		heads := slices.Concat(s.state.Heads, s.state.Again)
		at := slices.IndexFunc(heads, func(h reverie.HeadState) bool { return h.ID == step.Head.MemoryID })
		if at < 0 {
			return fmt.Errorf("nothing was applied: chunk %d was planned as if memory %s stood, which what waits in an earlier chunk changes: "+
				"apply without --approve, then approve the run: %w", s.no, step.Head.MemoryID, reverie.ErrConflict)
		}
		if step.Action != reverie.ActionDelete {
			step.Strength, step.LastSupportedAt = decide.Strengthen(heads[at], step.Evidence)
		}
	}
	return nil
}

// write applies the plans as one run.
func (a *planApplier) write(ctx context.Context, store PlanStore) (Result, error) {
	st := &a.recorder.Stats
	for i := range a.planned.Plans {
		if err := a.recorder.Embed(ctx, a.Embeddings, a.EmbeddingsOptional, a.planned.Plans[i].Steps); err != nil {
			return a.result, err
		}
	}
	a.planned.Run = a.recorder.Row
	a.planned.Run.Status, a.planned.Run.Stats = reverie.EndOf(nil, st.Held), *st
	for _, head := range a.state.Heads {
		a.planned.Heads = append(a.planned.Heads, head.ID)
	}
	var changes []reverie.Change
	err := a.recorder.Write(func(lease reverie.Lease) (err error) {
		changes, st.Deferred, err = store.ApplyPlanned(ctx, lease, a.planned)
		return err
	})
	if err != nil {
		none := Result{}
		none.GroupID, none.At = a.file.GroupID, a.now
		return none, err
	}
	for i, plan := range a.planned.Plans {
		if i > 0 {
			changes = nil
		}
		a.recorder.Record(&a.result.Result, plan, changes)
	}
	a.complete(nil)
	return a.result, nil
}

// simulation is what a dry run believes to have written: the heads after its plans,
// what is still to be judged again, and how many messages they have consumed.
type simulation struct {
	heads []reverie.HeadState
	again []reverie.HeadState
	taken map[string]bool
	skip  int
}

// read gives a state what the dry run believes.
func (d *simulation) read(state *reverie.State) {
	state.Heads, state.Again, state.Taken = slices.Clone(d.heads), slices.Clone(d.again), maps.Clone(d.taken)
}

// simulate does in memory what Store.Apply does in the database.
func (r *run) simulate(s *chunkInput, plan reverie.Plan) {
	if r.simulated == nil {
		r.simulated = &simulation{}
	}
	d := r.simulated
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
