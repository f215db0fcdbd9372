package store

import (
	"context"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	cleanWhere = ` from memories m where group_id = $1 and status = 'active' and ($2 = '' or kind = $2) and ($3 = ''
		or session_id = $3)
		and ($4 = '' or $4 = any (tags)) and ($5::float8 = 0 or least(strength, weight) < $5)
		and ($6::timestamptz is null or last_supported_at < $6
			and not exists (select 1 from memory_usage_log l where l.group_id = $1 and l.lineage_id = m.lineage_id
				and l.was_referenced and l.judged_at >= $6)
			and not exists (select 1 from memory_usage_totals u where u.group_id = $1 and u.lineage_id = m.lineage_id
				and u.referenced > 0 and u.last_offered_at >= $6))
		and ($7 or weight < $8::float8)`

	cleanListQuery = `select ` + MemoryColumns + cleanWhere + ` order by lineage_id`

	// Memories that have changed since the list was made are not deleted.
	cleanLockQuery = `select ` + MemoryColumns + cleanWhere + ` and memory_id = any ($9::uuid[]) order by lineage_id
		for update`

	cleanQuery = `update memories set status = 'deprecated', ended_at = $2::timestamptz, said_until = $2::timestamptz
		where group_id = $1 and memory_id = any ($3::uuid[]) and status = 'active'`
)

func cleanArgs(q reverie.CleanQuery) []any {
	return []any{q.GroupID, string(q.Kind), q.SessionID, q.Tag, q.Below, pg.OrNull(q.UnusedSince), q.Core,
		reverie.CoreWeight}
}

// checkClean refuses a query that would delete too much at once.
func checkClean(q reverie.CleanQuery) error {
	if q.Empty() {
		return fmt.Errorf("choose which memories to clean: all of a group cannot be cleaned at once: %w", reverie.ErrInvalid)
	}
	if _, ok := reverie.TeamOf(q.GroupID); ok {
		return fmt.Errorf("a team's memories are deleted one by one, with `reverie memory delete`: %w",
			reverie.ErrInvalid)
	}
	return nil
}

// CleanList returns the active memories of a group that a query selects, in the order in which Clean deletes them. A
// query without a condition is reverie.ErrInvalid; an unknown group is reverie.ErrNotFound.
func (s *Store) CleanList(ctx context.Context, q reverie.CleanQuery) ([]reverie.Memory, error) {
	what := fmt.Sprintf("list what to clean of group %q", q.GroupID)
	if err := checkClean(q); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return read(ctx, s, q.GroupID, what, func(ctx context.Context, t *pg.Tx) ([]reverie.Memory, error) {
		if _, err := GetGroup(ctx, t, q.GroupID); err != nil {
			return nil, err
		}
		return pg.Select[reverie.Memory](ctx, t, cleanListQuery, cleanArgs(q)...)
	})
}

// Clean deletes the named memories that the query still selects, in one transaction with their rows of the change log.
// It returns them as they were. It takes no lease: it locks the heads, in the order of their lineages.
func (s *Store) Clean(ctx context.Context, q reverie.CleanQuery, ids []string, reason string) ([]reverie.Memory,
	error) {
	what := fmt.Sprintf("clean %d memories of group %q", len(ids), q.GroupID)
	if err := checkClean(q); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var rows []reverie.Memory
	err := s.db.Run(ctx, pg.Work{
		What: what,
		Do: func(ctx context.Context, t *pg.Tx) error {
			rows = nil
			if err := t.Select(ctx, &rows, cleanLockQuery, append(cleanArgs(q), pq.StringArray(ids))...); err != nil ||
				len(rows) == 0 {
				return err
			}
			found := make(pq.StringArray, len(rows))
			log := make([]reverie.Change, len(rows))
			for i, r := range rows {
				found[i] = r.ID
				log[i] = reverie.Change{ID: reverie.NewID(), Action: reverie.ActionDelete, MemoryID: r.ID, OldID: &rows[i].ID,
					OldStatement: r.Statement, Summary: reason, Version: r.Version}
			}
			at, err := NextTimestamp(ctx, s.db, t, q.GroupID)
			if err != nil {
				return err
			}
			if err := t.Exec(ctx, cleanQuery, q.GroupID, at, found); err != nil {
				return err
			}
			return InsertChanges(ctx, t, q.GroupID, nil, 0, at, log)
		},
	}.Once(q.GroupID))
	return rows, err
}
