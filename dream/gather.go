package dream

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"reverie/internal/reverie"
)

// gather chooses what to dream of, lays it out as the model is to see it, and saves
// which it is. It returns nil where there is to be no dream; then a dream that was
// interrupted is over, if nothing is left of it, or waits for whoever asks for it.
func (r *run) gather(ctx context.Context) (*chunkInput, error) {
	state, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	if r.result.None != "" {
		if r.begun != nil && !r.remains() {
			err = r.abandon(ctx, errGone)
		}
		return nil, err
	}
	answered, err := r.answered(ctx)
	if err != nil {
		return nil, err
	}
	s, err := r.newChunkInput(state, answered)
	if err != nil {
		return nil, err
	}
	if s.through = state.Signs.Through; s.through == "" && len(state.Sessions) > 0 {
		s.through = state.Sessions[len(state.Sessions)-1].ID
	}
	if lineages := s.lineages(); len(lineages) > 0 {
		if s.evidence, err = r.Store.EvidenceOf(ctx, r.req.GroupID, lineages); err != nil {
			return nil, fmt.Errorf("read what memories of group %q rest on: %w", r.req.GroupID, err)
		}
	}
	return s, r.open(ctx, s)
}

// read fetches the group with what is new of what is asked for, whatever a dream that
// was not applied had chosen. It notes why there is to be no dream.
func (r *run) read(ctx context.Context) (reverie.DreamState, error) {
	q := reverie.DreamQuery{GroupID: r.req.GroupID, Through: r.req.SessionID}
	if r.req.Due {
		return r.readDue(ctx, q)
	}
	state, err := r.fetch(ctx, q)
	if err == nil && len(state.Material) == 0 {
		r.result.None = nothingNew(state.Signs)
	}
	return state, err
}

// readDue fetches what is new of sessions that have ended, where the rule says so. Where
// it does not, what was begun is finished: a dream that was interrupted goes on with
// what is left of its choice.
func (r *run) readDue(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error) {
	rule, err := r.rule(ctx)
	if err != nil {
		return reverie.DreamState{}, err
	}
	q.EndedBy = Ended(rule, r.now)
	state, err := r.fetch(ctx, q)
	if err != nil {
		return state, err
	}
	if r.req.DryRun && state.Signs.UnderWay {
		r.result.None = UnderWay
		return state, nil
	}
	signs := state.Signs
	signs.Interrupted = false // what the rule says, and not what was begun
	due, why := Due(signs, rule, r.now)
	switch {
	case due:
		r.result.Reason = why
		return state, nil
	case r.begun != nil && r.remains():
		r.result.Reason = interrupted
		return r.chosen(ctx)
	}
	if r.result.None = why; r.begun == nil && state.Signs.Interrupted {
		r.result.None = interrupted + ", and goes on with what it had chosen, which a dry run does not: leave out " +
			"--dry-run"
	}
	return state, nil
}

// chosen fetches what is left of what the dream that was interrupted had chosen, in the
// order in which it was shown.
func (r *run) chosen(ctx context.Context) (reverie.DreamState, error) {
	ids := r.resume.MemoryIDs
	state, err := r.fetch(ctx, reverie.DreamQuery{GroupID: r.req.GroupID, Through: r.begun.SessionID, MemoryIDs: ids})
	place := make(map[string]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortStableFunc(state.Material, func(a, b reverie.HeadState) int {
		return cmp.Compare(place[a.ID],
			place[b.ID])
	})
	return state, err
}

// remains tells whether anything is new still of what the dream that was interrupted
// had chosen.
func (r *run) remains() bool { return r.resume != nil && r.resume.RunID == r.begun.ID }

// answered are the questions that a dream which was not applied has asked, each by the
// versions that it was about: those that its answers may be to. They are asked in order,
// and once a question is changed its answer is paid for again; what nobody was asked
// about is laid out anew with all that has come since.
func (r *run) answered(ctx context.Context) (list [][]string, err error) {
	if r.resume == nil || r.Journal == nil {
		return nil, nil
	}
	kept, err := r.Journal.Answers(ctx, r.req.GroupID, r.resume.RunID, purposeDream)
	if err != nil {
		return nil, fmt.Errorf("read the answers of run %s: %w", r.resume.RunID, err)
	}
	ids := r.resume.MemoryIDs
	for _, n := range r.resume.Questions[:min(len(kept), len(r.resume.Questions))] {
		n = min(n, len(ids))
		list, ids = append(list, ids[:n]), ids[n:]
	}
	return list, nil
}

// rule is that by which the group dreams.
func (r *run) rule(ctx context.Context) (reverie.DreamRule, error) {
	group, err := r.Store.Group(ctx, r.req.GroupID)
	if err != nil {
		return reverie.DreamRule{}, fmt.Errorf("read group %q: %w", r.req.GroupID, err)
	}
	rule, err := group.DreamRule(r.Rule)
	if err != nil {
		return rule, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	return rule, nil
}

func (r *run) fetch(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error) {
	state, err := r.Store.GatherDream(ctx, q)
	if err != nil {
		err = fmt.Errorf("gather what is new in group %q: %w", r.req.GroupID, err)
	}
	return state, err
}
