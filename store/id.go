package store

import (
	"context"
	"strings"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

// mostCandidates is how many ids an error lists for an ambiguous beginning.
const mostCandidates = 10

// idQueries find the ids from $2 to $3, in a group or, if $1 is "", in all groups.
var idQueries = map[reverie.IDKind]string{
	reverie.IDMemory: `select memory_id as id, 'v' || version || '  ' || statement as about from memories
		where ($1 = '' or group_id = $1) and memory_id between $2::uuid and $3::uuid order by memory_id limit $4::int`,
	reverie.IDRun: `select run_id as id, job || '  ' || status || '  ' || group_id as about from runs
		where ($1 = '' or group_id = $1) and run_id between $2::uuid and $3::uuid order by run_id limit $4::int`,
	reverie.IDEntity: `select entity_id as id, kind || '  ' || subject as about from entities
		where ($1 = '' or group_id = $1) and entity_id between $2::uuid and $3::uuid order by entity_id limit $4::int`,
}

// WholeID returns the id with the given beginning, in a group, or in all groups if groupID is "". If no id begins so,
// it returns the text unchanged, and the caller's lookup reports the error. Several ids are a
// *reverie.AmbiguousIDError.
func (s *Store) WholeID(ctx context.Context, kind reverie.IDKind, groupID, given string) (string, error) {
	first, last, ok := reverie.IDPrefix(given)
	if !ok {
		return given, nil
	}
	found, err := pg.QueryAll[struct{ ID, About string }](ctx, s.db, "look up an id by its beginning", idQueries[kind],
		groupID, first, last, mostCandidates+1)
	switch {
	case err != nil || len(found) == 0:
		return given, err
	case len(found) == 1:
		return found[0].ID, nil
	}
	several := &reverie.AmbiguousIDError{Kind: kind, Given: given}
	for i, f := range found {
		if i == mostCandidates {
			several.Candidates = append(several.Candidates, "and more")
			break
		}
		several.Candidates = append(several.Candidates, f.ID+"  "+text.Excerpt(f.About, 60))
	}
	return "", several
}

// shortIDsQueries find the neighbours of ids in their groups.
var shortIDsQueries = map[reverie.IDKind]string{
	reverie.IDMemory: idNeighbours("memories", "memory_id"),
	reverie.IDRun:    idNeighbours("runs", "run_id"),
	reverie.IDEntity: idNeighbours("entities", "entity_id"),
}

func idNeighbours(table, id string) string {
	return strings.NewReplacer("{table}", table, "{id}", id).Replace(`select u.{id} as id,
		coalesce((select x.{id}::text from {table} x where x.group_id = u.group_id and x.{id} < u.{id}
			order by x.{id} desc limit 1), '') as before,
		coalesce((select x.{id}::text from {table} x where x.group_id = u.group_id and x.{id} > u.{id}
			order by x.{id} limit 1), '') as after
		from {table} u where (u.group_id, u.{id}) in (select * from unnest($1::text[], $2::uuid[]))`)
}

// ShortIDs returns the shortest unique beginning of each id in its group. groups[i] is the group of ids[i].
func (s *Store) ShortIDs(ctx context.Context, kind reverie.IDKind, groups, ids []string) (map[string]string, error) {
	rows, err := pg.QueryAll[struct{ ID, Before, After string }](ctx, s.db, "shorten ids", shortIDsQueries[kind],
		pq.StringArray(groups), pq.StringArray(ids))
	short := make(map[string]string, len(rows))
	for _, r := range rows {
		short[r.ID] = reverie.ShortID(r.ID, r.Before, r.After)
	}
	return short, err
}
