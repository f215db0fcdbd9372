package store

import (
	"context"

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
