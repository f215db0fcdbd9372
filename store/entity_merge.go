package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	lockByIDQuery = `select ` + entityColumns + ` from entities
		where group_id = $1 and entity_id = any ($2::uuid[]) order by entity_id for update`

	pointQuery = `update entities set status = case when $3::uuid is null then 'active' else 'merged' end,
		merged_into = $3::uuid
		where group_id = $1 and entity_id = $2`
)

// MergeEntities merges entity b into entity a, because a person says that they are the same. Readers of a then read
// both. Nothing is moved, so [Store.UnmergeEntity] restores both exactly. It takes no lease: it locks both.
//
// An empty groupID searches all groups. An entity that does not exist, or belongs to another group, is
// reverie.ErrNotFound. An entity that is merged already, or withdrawn, is reverie.ErrConflict. An entity with itself is
// reverie.ErrInvalid.
func (s *Store) MergeEntities(ctx context.Context, groupID, a, b, reason string) (into, merged reverie.Entity,
	err error) {
	what := fmt.Sprintf("merge entity %s into %s", b, a)
	if a == b {
		return into, merged, fmt.Errorf("%s: it is the same entity: %w", what, reverie.ErrInvalid)
	}
	err = s.join(ctx, what, groupID, a, func(ctx context.Context, t *pg.Tx, target reverie.Entity) error {
		if _, _, err := getEntity(ctx, t, target.GroupID, b); err != nil {
			return err
		}
		locked, err := lockEntities(ctx, t, target.GroupID, []string{a, b})
		if err != nil {
			return err
		}
		into, merged = locked[a], locked[b]
		for _, e := range []reverie.Entity{into, merged} {
			if e.Status == reverie.EntityGone {
				return fmt.Errorf("%q (%s) was withdrawn: the run that made it was undone: %w", e.Subject, e.ID,
					reverie.ErrConflict)
			}
			if e.MergedInto != nil {
				return fmt.Errorf("%q (%s) is part of %s already; name that one, or unmerge it first: %w", e.Subject, e.ID,
					*e.MergedInto, reverie.ErrConflict)
			}
		}
		if err := t.Exec(ctx, pointQuery, into.GroupID, b, &a); err != nil {
			return err
		}
		return s.noteJoin(ctx, t, reverie.EntityMerge, into, merged, []string{a, b}, reason)
	})
	return s.joined(ctx, err, into, merged)
}

// UnmergeEntity separates entity b from the entity that it is merged into. Both are as they were before, with what was
// written to either since. It also returns the other entity. An entity that is not merged is reverie.ErrConflict; see
// [Store.MergeEntities] for the rest.
func (s *Store) UnmergeEntity(ctx context.Context, groupID, b, reason string) (from, merged reverie.Entity, err error) {
	err = s.join(ctx, fmt.Sprintf("unmerge entity %s", b), groupID, b, func(ctx context.Context, t *pg.Tx,
		e reverie.Entity) error {
		pointers, err := readMerges(ctx, t, mergesQuery, e.GroupID)
		if err != nil {
			return err
		}
		above := pointers.above(b)
		if len(above) == 0 {
			return fmt.Errorf("%q is not part of another entity: %w", e.Subject, reverie.ErrConflict)
		}
		// Readers of the entities above read b, so their versions rise, too.
		touched := append([]string{b}, above...)
		locked, err := lockEntities(ctx, t, e.GroupID, touched)
		if err != nil {
			return err
		}
		from, merged = locked[above[0]], locked[b]
		if err := t.Exec(ctx, pointQuery, e.GroupID, b, nil); err != nil {
			return err
		}
		return s.noteJoin(ctx, t, reverie.EntityUnmerge, from, merged, touched, reason)
	})
	return s.joined(ctx, err, from, merged)
}

// join runs a person's change of merges. The lock of the group prevents other such changes; writers of claims lock the
// entities.
func (s *Store) join(ctx context.Context, what, groupID, entityID string, do func(context.Context, *pg.Tx,
	reverie.Entity) error) error {
	return s.db.Run(ctx, pg.Work{What: what, Do: func(ctx context.Context, t *pg.Tx) error {
		e, _, err := getEntity(ctx, t, groupID, entityID)
		if err != nil {
			return err
		}
		if _, err := LockGroup(ctx, t, e.GroupID); err != nil {
			return err
		}
		return do(ctx, t, e)
	}}.Once(groupID))
}

// joined reads both entities after a change.
func (s *Store) joined(ctx context.Context, err error, whole, part reverie.Entity) (reverie.Entity, reverie.Entity,
	error) {
	if err != nil {
		return reverie.Entity{}, reverie.Entity{}, err
	}
	if whole, err = s.Entity(ctx, whole.GroupID, whole.ID); err != nil {
		return whole, part, err
	}
	part, err = s.Entity(ctx, part.GroupID, part.ID)
	return whole, part, err
}

// lockEntities locks entities in the order of their ids, as all writers do.
func lockEntities(ctx context.Context, t *pg.Tx, groupID string, ids []string) (map[string]reverie.Entity, error) {
	rows, err := pg.Select[reverie.Entity](ctx, t, lockByIDQuery, groupID, pq.StringArray(ids))
	found := make(map[string]reverie.Entity, len(rows))
	for _, e := range rows {
		found[e.ID] = e
	}
	return found, err
}

// noteJoin increments the versions of all affected entities, and writes a row of the change log for both.
func (s *Store) noteJoin(ctx context.Context, t *pg.Tx, action reverie.EntityAction, whole, part reverie.Entity,
	touched []string, reason string) error {
	at := s.db.Now()
	if err := t.Exec(ctx, RaiseEntitiesQuery, whole.GroupID, at, pq.StringArray(touched)); err != nil {
		return err
	}
	return InsertEntityChanges(ctx, t, whole.GroupID, nil, 0, at, []reverie.EntityChange{
		{EntityID: whole.ID, Action: action, OtherID: &part.ID, NewText: part.Subject, Reason: reason},
		{EntityID: part.ID, Action: action, OtherID: &whole.ID, NewText: whole.Subject, Reason: reason},
	})
}

const mergesQuery = `select entity_id, merged_into from entities where group_id = $1 and merged_into is not null`

// merges maps each merged entity of a group to the one that it was merged into. Nothing else of a merge is stored:
// readers of an entity also read those merged into it.
type merges map[string]string

func readMerges(ctx context.Context, t *pg.Tx, query string, args ...any) (merges, error) {
	var rows []struct {
		EntityID   string `db:"entity_id"`
		MergedInto string `db:"merged_into"`
	}
	err := t.Select(ctx, &rows, query, args...)
	m := make(merges, len(rows))
	for _, r := range rows {
		m[r.EntityID] = r.MergedInto
	}
	return m, err
}

// above returns the entities that an entity is merged into, nearest first; none if it is not merged.
func (m merges) above(id string) []string {
	var list []string
	for up, ok := m[id]; ok && !slices.Contains(list, up); up, ok = m[up] {
		list = append(list, up)
	}
	return list
}

// root returns the entity that an entity is finally merged into, or itself.
func (m merges) root(id string) string {
	if up := m.above(id); len(up) > 0 {
		return up[len(up)-1]
	}
	return id
}

// members maps the given entities, and all merged into them, directly or not, to the given ones that include them.
func (m merges) members(ids []string) map[string][]string {
	tops := make(map[string][]string, len(ids))
	for _, id := range ids {
		tops[id] = []string{id}
	}
	for id := range m {
		for _, up := range m.above(id) {
			if slices.Contains(ids, up) {
				tops[id] = append(tops[id], up)
			}
		}
	}
	return tops
}
