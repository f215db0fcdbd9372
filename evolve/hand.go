package evolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// HandStore is what applying a plan in hand reads and writes, besides the heads.
type HandStore interface {
	PlanState(ctx context.Context, groupID, planID string, messageIDs []string) (reverie.PlanState, error)
	Sealer
	ApplyWhole(ctx context.Context, lease reverie.Lease, whole reverie.WholeRun) (changes []reverie.Change, pending int, err error)
}

// ApplyPlan writes what a plan in hand says, without asking a model: all of it, in one
// transaction, or nothing. It becomes a run of its own, whose id is the plan's, with the
// lines that a run would have held waiting for a person, unless approve has them pass.
//
// Everything is checked anew. Where the memories or messages that the plan rests on are not
// as they were, it is refused with [reverie.ErrConflict], and where it says what no
// plan may with [reverie.ErrInvalid], each time with the lines. A plan that was applied
// already is told from that: the result's run has ended before, and nothing is written.
func (p *Pipeline) ApplyPlan(ctx context.Context, store HandStore, hold Hold, file *reverie.PlanFile, approve bool) (Result, error) {
	none := Result{Result: pipeline.Result{GroupID: file.GroupID, At: p.Now().UTC()}}
	if file.RunID != "" || file.Job != reverie.JobEvolve || file.Kind != reverie.KindGroup {
		return none, fmt.Errorf("it is no plan of evolve: %w: what a run holds goes to `reverie runs approve RUN --plan FILE`", reverie.ErrInvalid)
	}
	var ids []string
	for _, m := range file.Messages {
		ids = append(ids, m.MessageID)
	}
	state, err := store.PlanState(ctx, file.GroupID, file.PlanID, ids)
	if err != nil {
		return none, err
	}
	if state.Run != nil || state.Taken {
		return applied(none, file, state)
	}
	if len(file.Chunks) == 0 {
		none.NoNew = true
		return none, nil
	}
	h, err := p.hand(ctx, hold, file, state)
	if err != nil {
		return none, err
	}
	h.approve = approve
	if h.seals, err = seals(ctx, store, file); err != nil {
		return none, err
	}
	if err := h.check(); err != nil {
		return none, err
	}
	return h.write(ctx, store)
}

// applied says what became of a plan whose id a run has.
func applied(res Result, file *reverie.PlanFile, state reverie.PlanState) (Result, error) {
	run := state.Run
	switch {
	case run == nil:
		return res, fmt.Errorf("the id of the plan is that of another group's run: %w: plan again", reverie.ErrInvalid)
	case run.Stats.Plan == "":
		return res, fmt.Errorf("the id of the plan is that of run %s, which no plan made: %w: plan again", run.ID, reverie.ErrInvalid)
	case run.UndoneAt != nil:
		return res, fmt.Errorf("the plan was applied as run %s, and that was taken back at %s: %w: plan again",
			run.ID, run.UndoneAt.UTC().Format(time.RFC3339), reverie.ErrConflict)
	case run.Stats.Plan != file.Sum:
		return res, fmt.Errorf("the plan was applied as run %s at %s, with other lines than these: %w: nothing was changed now; `reverie runs show %s` tells what was",
			run.ID, run.StartedAt.UTC().Format(time.RFC3339), reverie.ErrConflict, run.ID)
	}
	res.RunID, res.At, res.Status, res.Stats, res.NoNew = run.ID, run.StartedAt, run.Status, run.Stats, true
	return res, nil
}

// hand is a plan in hand on its way to be applied.
type hand struct {
	*run
	file    *reverie.PlanFile
	state   reverie.State
	is      reverie.PlanState
	loc     *time.Location
	approve bool
	letPass int                        // lines that would be held, but for approve
	seals   []string                   // that the plan would have had if it was made as it is
	own     map[string]reverie.Message // masked, by id
	written map[string]string          // names that earlier chunks have given -> version ids
	moved   []string                   // what is not as it was
	unsound []string                   // what no plan may say
	plans   []reverie.Plan
	chunks  []reverie.Chunk
}

// hand reads the group's heads, and lays out what the plan is held against.
func (p *Pipeline) hand(ctx context.Context, hold Hold, file *reverie.PlanFile, is reverie.PlanState) (*hand, error) {
	r := p.of(hold, reverie.Run{GroupID: file.GroupID, ID: file.PlanID, Job: reverie.JobEvolve, Model: file.Model, PromptVersion: file.PromptVersion,
		PromptSHA256: file.PromptSHA256, WindowSince: file.Since, WindowUntil: file.Until})
	state, err := p.Store.Gather(ctx, reverie.GatherQuery{GroupID: file.GroupID, Kind: file.Kind, Until: r.now, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("gather group %q: %w", file.GroupID, err)
	}
	leaveWaiting(&state)
	h := &hand{run: r, file: file, state: state, is: is, own: map[string]reverie.Message{}, written: map[string]string{}}
	if h.loc, err = state.Group.Location(); err != nil {
		return nil, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	for _, m := range p.Privacy.Messages(is.Messages) {
		h.own[m.ID] = m
	}
	r.life.Began, r.life.Row.StartedAt = true, r.now
	r.life.Stats.Base, r.life.Stats.Kept = len(state.Heads), len(state.Heads)
	return h, nil
}

// check holds the whole plan against the group, and makes the plans of its chunks.
func (h *hand) check() error {
	h.checkHeads()
	h.checkMessages()
	if len(h.moved) > 0 {
		return fmt.Errorf("nothing was applied: what the plan of %s rests on has changed since:\n%s\nplan again: `reverie plan --group %s -o FILE`: %w",
			h.file.CreatedAt.UTC().Format(time.RFC3339), listed(h.moved), h.file.GroupID, reverie.ErrConflict)
	}
	h.checkOrigin()
	for i := range h.file.Chunks {
		if len(h.unsound) == 0 { // what a chunk may name follows from those before
			h.chunk(&h.file.Chunks[i])
		}
	}
	if len(h.unsound) > 0 {
		return fmt.Errorf("nothing was applied: the plan says what no plan may:\n%s\n%w", listed(h.unsound), reverie.ErrInvalid)
	}
	return nil
}

// listed are the first lines of a list.
func listed(lines []string) string {
	const most = 10
	if n := len(lines) - most; n > 0 {
		lines = append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", n))
	}
	return "  " + strings.Join(lines, "\n  ")
}

// checkHeads looks for memories that have moved, and for new ones.
func (h *hand) checkHeads() {
	move := func(format string, args ...any) { h.moved = append(h.moved, fmt.Sprintf(format, args...)) }
	now := map[string]reverie.HeadState{}
	for _, head := range slices.Concat(h.state.Heads, h.state.Again) {
		now[head.LineageID] = head
	}
	for _, was := range h.file.Heads {
		is, found := now[was.LineageID]
		delete(now, was.LineageID)
		said := text.Excerpt(is.Statement, 60)
		switch {
		case !found:
			move("memory %s is not active any more, or was judged again", was.MemoryID)
		case is.ID != was.MemoryID:
			move("memory %s has moved: version %d, %s, says “%s”", was.MemoryID, is.Version, is.ID, said)
		case is.Version != was.Version || is.SHA256() != was.SHA256:
			move("memory %s is not as it was for the plan: version %d says “%s”", was.MemoryID, is.Version, said)
		}
	}
	for _, head := range slices.Concat(h.state.Heads, h.state.Again) {
		if _, unknown := now[head.LineageID]; unknown {
			move("memory %s is new to the plan: “%s”", head.ID, text.Excerpt(head.Statement, 60))
		}
	}
}

// checkMessages looks for messages that are not as they were.
func (h *hand) checkMessages() {
	for _, was := range h.file.Messages {
		name := text.Excerpt(was.MessageID, 60)
		switch is, found := h.own[was.MessageID]; {
		case !found:
			h.moved = append(h.moved, fmt.Sprintf("message %q is not there, or its text was removed", name))
		case is.SHA256() != was.SHA256:
			h.moved = append(h.moved, fmt.Sprintf("message %q says something else than it did for the plan", name))
		case was.Chunk > 0 && !is.Pending():
			h.moved = append(h.moved, fmt.Sprintf("message %q is not pending any more: %s%s", name, is.State(), byRun(is.RunID)))
		case was.Chunk == 0 && is.Pending():
			h.moved = append(h.moved, fmt.Sprintf("message %q, which was shown as context, is pending", name))
		}
	}
}

func byRun(id *string) string {
	if id == nil {
		return ""
	}
	return " by run " + *id
}

// checkOrigin refuses a plan that was not made here, for this group, or of which something
// else was changed than a person may change; and messages outside of its window.
func (h *hand) checkOrigin() {
	f := h.file
	if !sealed(f.Origin, h.seals[1]) {
		h.unsound = append(h.unsound, "line 1: it is none that `reverie plan` has written here: nothing of it may be edited, and no other database's plan applied")
		return
	}
	for i, c := range f.Chunks {
		if !sealed(c.Origin, h.seals[2+i]) {
			h.unsound = append(h.unsound, fmt.Sprintf("chunk %d: its question, answer, refusals and decisions are not those of this plan, and may not be edited", c.No))
		}
	}
	for _, m := range f.Messages {
		if at := h.own[m.MessageID].SentAt; m.Chunk > 0 && (at.Before(f.Since) || !at.Before(f.Until)) {
			h.unsound = append(h.unsound, fmt.Sprintf("line 1: message %q lies outside of the plan's window", text.Excerpt(m.MessageID, 60)))
		}
	}
}

// write applies the plans as one run.
func (h *hand) write(ctx context.Context, store HandStore) (Result, error) {
	st := &h.life.Stats
	st.Limit, st.Days, st.OpenEnded = 0, h.file.Days, h.file.OpenEnded
	st.Plan, st.Approved = h.file.Sum, h.letPass
	h.file.Edited = !sealed(h.file.Seal, h.seals[0])
	st.Edited = h.file.Edited
	for i := range h.plans {
		if err := h.life.Embed(ctx, h.Embeddings, h.EmbeddingsOptional, h.plans[i].Steps); err != nil {
			return h.result, err
		}
	}
	h.plans[len(h.plans)-1].Stats = *st
	whole := reverie.WholeRun{Run: h.life.Row, Chunks: h.chunks, Plans: h.plans}
	whole.Run.Status, whole.Run.Stats = reverie.EndOf(nil, st.Held), *st
	for _, head := range h.state.Heads {
		whole.Heads = append(whole.Heads, head.ID)
	}
	var changes []reverie.Change
	err := h.life.Write(func(lease reverie.Lease) (err error) {
		changes, st.Deferred, err = store.ApplyWhole(ctx, lease, whole)
		return err
	})
	if err != nil {
		return Result{Result: pipeline.Result{GroupID: h.file.GroupID, At: h.now}}, err
	}
	h.result.Changes = changes
	for _, plan := range h.plans {
		for _, step := range plan.Steps {
			if step.Action == reverie.ActionKeep {
				h.result.Supported = append(h.result.Supported, step)
			}
		}
		h.result.Refusals = append(h.result.Refusals, plan.Refusals...)
		if len(plan.Held) > 0 {
			h.result.Held = append(h.result.Held, cmp.Or(plan.HeldReason, "lines that wait for a person"))
		}
	}
	h.complete(nil)
	return h.result, nil
}
