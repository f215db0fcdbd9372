package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"reverie/internal/reverie"
)

// TeamRule says whose memories a group recalls beside its own. The zero value is
// nobody's.
type TeamRule struct {
	On   bool
	Name string // the team of groups that name none themselves; "" = none
	// Beside is a context which may read a team's tenant, too, where one is confined to
	// the group; nil where none is.
	Beside func(ctx context.Context, tenant string) context.Context
}

// beside is a context that may read a tenant.
func (r TeamRule) beside(ctx context.Context, tenant string) context.Context {
	if r.Beside == nil {
		return ctx
	}
	return r.Beside(ctx, tenant)
}

// of is the tenant of a group's team, "" where it has none. A team has none.
func (r TeamRule) of(g reverie.Group) string {
	team := cmp.Or(g.Team, r.Name)
	if _, is := reverie.TeamOf(g.ID); is || !r.On || team == "" || team == reverie.GroupOff {
		return ""
	}
	return reverie.TeamGroupID(team)
}

// teamOf looks up what a group's team is.
func (s *Searcher) teamOf(ctx context.Context, groupID string) (string, error) {
	if !s.Teams.On {
		return "", nil
	}
	team, err := s.Store.GroupTeam(ctx, groupID)
	if errors.Is(err, reverie.ErrNotFound) {
		return "", nil // and nothing is found in it
	}
	if err != nil {
		return "", fmt.Errorf("search group %q: %w", groupID, err)
	}
	return s.Teams.of(reverie.Group{ID: groupID, Team: team}), nil
}

// ofTeam is the same question of the group's team, false where there is none to ask.
func (q Query) ofTeam() (Query, bool) {
	if q.team == "" || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, reverie.KindTeam) {
		return Query{}, false
	}
	q.GroupID, q.team = q.team, ""
	return q, true
}

// nearest are the hits of two tenants, best first.
func nearest(own, team []reverie.Hit, limit int) []reverie.Hit {
	if len(team) == 0 {
		return own
	}
	all := slices.Concat(own, team)
	slices.SortStableFunc(all, func(a, b reverie.Hit) int { return cmp.Compare(b.Score, a.Score) })
	if limit > 0 {
		all = all[:min(len(all), limit)]
	}
	return all
}
