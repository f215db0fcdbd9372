package store

import (
	"context"
	"maps"
	"slices"

	"reverie"
)

const mergesQuery = `select entity_id, merged_into from entities where group_id = $1 and merged_into is not null`

// merges says of each entity of a group that a person has merged into another
// which that is. Nothing else of a merge is written down: whoever reads an entity
// reads those merged into it too.
type merges map[string]string

func readMerges(ctx context.Context, t *tx, groupID string) (merges, error) {
	var rows []struct {
		EntityID   string `db:"entity_id"`
		MergedInto string `db:"merged_into"`
	}
	if err := t.list(ctx, &rows, mergesQuery, groupID); err != nil {
		return nil, err
	}
	m := make(merges, len(rows))
	for _, r := range rows {
		m[r.EntityID] = r.MergedInto
	}
	return m, nil
}

// above are the entities that one is part of, the nearest first; none for one
// that stands for itself.
func (m merges) above(id string) []string {
	var list []string
	for up, ok := m[id]; ok && !slices.Contains(list, up); up, ok = m[up] {
		list = append(list, up)
	}
	return list
}

// root is the entity that an entity is read as.
func (m merges) root(id string) string {
	if up := m.above(id); len(up) > 0 {
		return up[len(up)-1]
	}
	return id
}

// members are the entities, and all that are merged into one of them, directly or
// not, each with those of the given ones that it is read with.
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

// whole fills entities with the names in force and the claims of their own and of
// all that are merged into them, the oldest first. What is merged keeps its entity
// id; a relation's target is the one that it is read as. evidence asks for the
// claims' evidence too.
func whole(ctx context.Context, t *tx, groupID string, list []reverie.Entity, merged merges, evidence bool) error {
	if len(list) == 0 {
		return nil
	}
	at, ids := map[string]int{}, make([]string, len(list))
	for i, e := range list {
		at[e.ID], ids[i] = i, e.ID
	}
	tops := merged.members(ids)
	members := slices.Sorted(maps.Keys(tops))
	names, err := entityNames(ctx, t, groupID, members)
	if err != nil {
		return err
	}
	for _, n := range names {
		for _, top := range tops[n.EntityID] {
			e := &list[at[top]]
			n.Entity = e.Kind
			e.Names = append(e.Names, n)
		}
	}
	claims, err := activeClaims(ctx, t, groupID, members)
	if err != nil {
		return err
	}
	if evidence {
		if err := fillClaimEvidence(ctx, t, groupID, claims); err != nil {
			return err
		}
	}
	for _, c := range claims {
		if c.TargetID != nil {
			target := merged.root(*c.TargetID)
			c.TargetID = &target
		}
		for _, top := range tops[c.EntityID] {
			e := &list[at[top]]
			e.Claims = append(e.Claims, c)
		}
	}
	return nil
}
