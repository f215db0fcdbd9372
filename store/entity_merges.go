package store

import (
	"context"
	"maps"
	"slices"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const mergesQuery = `select entity_id, merged_into from entities where group_id = $1 and merged_into is not null`

// merges says of each entity of a group that a person has merged into another
// which that is. Nothing else of a merge is written down: whoever reads an entity
// reads those merged into it too.
type merges map[string]string

type mergeRow struct {
	EntityID   string `db:"entity_id"`
	MergedInto string `db:"merged_into"`
}

func readMerges(ctx context.Context, t *pg.Tx, groupID string) (merges, error) {
	var rows []mergeRow
	err := t.Select(ctx, &rows, mergesQuery, groupID)
	return mergesOf(rows), err
}

func mergesOf(rows []mergeRow) merges {
	m := make(merges, len(rows))
	for _, r := range rows {
		m[r.EntityID] = r.MergedInto
	}
	return m
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
func whole(ctx context.Context, t *pg.Tx, groupID string, list []reverie.Entity, merged merges, evidence bool) error {
	if len(list) == 0 {
		return nil
	}
	members := merged.all(list)
	names, err := entityNames(ctx, t, groupID, members)
	if err != nil {
		return err
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
	merged.fill(list, names, claims)
	return nil
}

// all are the ids of entities and of what is merged into one of them.
func (m merges) all(list []reverie.Entity) []string {
	return slices.Sorted(maps.Keys(m.members(idsOf(list))))
}

func idsOf(list []reverie.Entity) []string {
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	return ids
}

// fill gives entities the names and claims of their own and of what is merged into them.
func (m merges) fill(list []reverie.Entity, names []reverie.EntityName, claims []reverie.Claim) {
	at := make(map[string]int, len(list))
	for i, e := range list {
		at[e.ID] = i
	}
	tops := m.members(idsOf(list))
	for _, n := range names {
		for _, top := range tops[n.EntityID] {
			e := &list[at[top]]
			n.Entity = e.Kind
			e.Names = append(e.Names, n)
		}
	}
	for _, c := range claims {
		if c.TargetID != nil {
			target := m.root(*c.TargetID)
			c.TargetID = &target
		}
		for _, top := range tops[c.EntityID] {
			e := &list[at[top]]
			e.Claims = append(e.Claims, c)
		}
	}
}
