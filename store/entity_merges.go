package store

import (
	"context"
	"slices"

	"reverie/store/pg"
)

const mergesQuery = `select entity_id, merged_into from entities where group_id = $1 and merged_into is not null`

// merges says of each entity of a group that a person has merged into another
// which that is. Nothing else of a merge is written down: whoever reads an entity
// reads those merged into it too.
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
