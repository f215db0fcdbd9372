package store

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/events"
	"reverie/store/pg"
)

const ChangeColumns = `group_id, change_id, run_id, action, memory_id, old_id, old_statement, new_statement,
	change_summary, version, evidence, created_at, undone_run_id`

// Changes lists the changes of a group in [since, until), newest first. Zero times are no bound, and a limit of 0 is no
// limit.
func (s *Store) Changes(ctx context.Context, groupID string, since, until time.Time, limit int) ([]reverie.Change,
	error) {
	what := fmt.Sprintf("list the changes of group %q", groupID)
	return read(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) ([]reverie.Change, error) {
		if _, err := GetGroup(ctx, t, groupID); err != nil {
			return nil, err
		}
		return pg.Select[reverie.Change](ctx, t, `select `+ChangeColumns+` from memory_change_log
			where group_id = $1 and created_at >= $2::timestamptz and created_at < $3::timestamptz
			order by created_at desc, change_id desc limit nullif($4::int, 0)`,
			groupID, pg.OrMinusInfinity(since), pg.OrInfinity(until), limit)
	})
}

// runChanges returns the changes of a run, or of one of its chunks, in order. A limit of 0 is no limit.
func runChanges(ctx context.Context, t *pg.Tx, groupID, runID string, chunkNo, limit int) ([]reverie.Change, error) {
	return pg.Select[reverie.Change](ctx, t, `select `+ChangeColumns+` from memory_change_log
		where group_id = $1 and run_id = $2 and ($3::int = 0 or chunk_no = $3)
		order by created_at, change_id limit nullif($4::int, 0)`, groupID, runID, chunkNo, limit)
}

const insertChangesQuery = `with logged as (
	insert into memory_change_log (group_id, change_id, run_id, chunk_no, action, memory_id, old_id, old_statement,
		new_statement,
		change_summary, version, evidence, created_at, undone_run_id, strength)
	select $1, u.id, $2::uuid, $3::int, u.action, u.memory_id, u.old_id, u.old_statement, u.new_statement,
		u.summary, u.version, u.evidence, $4::timestamptz, u.undone_run_id, (
			select m.strength from memories m left join memories o on o.group_id = $1 and o.memory_id = u.old_id
			where m.group_id = $1 and m.memory_id = u.memory_id
				and (u.action = 'strength' or u.action = 'restore' and m.strength > o.strength
					or u.action in ('create', 'update') and m.author <> '' and m.strength > coalesce(o.strength, 0)))
	from unnest($5::uuid[], $6::text[], $7::uuid[], $8::uuid[], $9::text[], $10::text[], $11::text[], $12::int[],
		$13::jsonb[],
			$14::uuid[])
		as u (id, action, memory_id, old_id, old_statement, new_statement, summary, version, evidence, undone_run_id)
	returning change_id, memory_id, run_id, action, created_at), ` + events.OfChanges + ` select 1`

// InsertChanges writes rows of the change log with one time. A nil runID means a person's edit or an undo; chunkNo is
// ignored then. A row stores the strength that a person set, or that a restore or a person's new text raised.
func InsertChanges(ctx context.Context, t *pg.Tx, groupID string, runID *string, chunkNo int, at time.Time,
	list []reverie.Change) error {
	var no any
	if runID != nil {
		no = chunkNo
	}
	var rows pg.Columns
	for _, c := range list {
		rows.Add(c.ID, c.Action, c.MemoryID, c.OldID, c.OldStatement, c.NewStatement, c.Summary, c.Version,
			pg.JSON[any]{V: append([]reverie.Evidence{}, c.Evidence...)}, c.UndoneRunID)
	}
	return rows.Exec(ctx, t, insertChangesQuery, groupID, runID, no, at)
}
