package dream

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"reverie"
)

// gather chooses what to dream of, lays it out as the model is to see it, and saves
// which it is. It returns nil where there is to be no dream.
func (r *run) gather(ctx context.Context) (*sheet, error) {
	state, err := r.read(ctx)
	if err != nil || r.result.None != "" {
		return nil, err
	}
	s, err := r.newSheet(state)
	if err != nil {
		return nil, err
	}
	if s.through = state.Signs.Through; r.resume != nil && len(state.Sessions) > 0 {
		s.through = state.Sessions[len(state.Sessions)-1].ID
	}
	if lineages := s.lineages(); len(lineages) > 0 {
		if s.evidence, err = r.Store.EvidenceOf(ctx, r.req.GroupID, lineages); err != nil {
			return nil, fmt.Errorf("read what memories of group %q rest on: %w", r.req.GroupID, err)
		}
	}
	return s, r.open(ctx, s)
}

// read fetches the group with what is new, or with what a dream that was not applied
// had chosen of it. It notes why there is to be no dream.
func (r *run) read(ctx context.Context) (reverie.DreamState, error) {
	if r.resume != nil && r.resume.RunID == r.life.Row.ID {
		state, all, err := r.chosen(ctx, reverie.DreamQuery{GroupID: r.req.GroupID, Through: r.life.Row.SessionID})
		if all || err != nil {
			return state, err
		}
	}
	q := reverie.DreamQuery{GroupID: r.req.GroupID, Through: r.req.SessionID}
	var rule reverie.DreamRule
	if r.req.Due {
		var err error
		if rule, err = r.rule(ctx); err != nil {
			return reverie.DreamState{}, err
		}
		q.EndedBy = Ended(rule, r.now)
	}
	state, err := r.fetch(ctx, q)
	if err != nil {
		return state, err
	}
	if r.req.Due {
		due, why := Due(state.Signs, rule, r.now)
		if !due {
			r.result.None = why
			return state, nil
		}
		r.result.Reason = why
	}
	if len(state.Material) == 0 {
		r.result.None = nothingNew(state.Signs)
		return state, nil
	}
	if r.resume != nil && within(r.resume.MemoryIDs, state.Material) {
		if chosen, all, err := r.chosen(ctx, q); all || err != nil {
			return chosen, err
		}
	}
	r.resume = nil
	return state, nil
}

// chosen fetches what the dream that is resumed had chosen, in the order in which it
// was shown, and reports whether all of that is still new.
func (r *run) chosen(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, bool, error) {
	q.MemoryIDs = r.resume.MemoryIDs
	state, err := r.fetch(ctx, q)
	place := make(map[string]int, len(q.MemoryIDs))
	for i, id := range q.MemoryIDs {
		place[id] = i
	}
	slices.SortStableFunc(state.Material, func(a, b reverie.HeadState) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return state, err == nil && len(state.Material) == len(q.MemoryIDs), err
}

// within tells whether all versions are among the material.
func within(ids []string, material []reverie.HeadState) bool {
	there := make(map[string]bool, len(material))
	for _, h := range material {
		there[h.ID] = true
	}
	return !slices.ContainsFunc(ids, func(id string) bool { return !there[id] })
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
