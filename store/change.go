package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const changeColumns = `group_id, change_id, run_id, action, memory_id, old_id, old_statement, new_statement,
	change_summary, version, evidence, created_at, undone_run_id`

type changeRow struct {
	GroupID      string    `db:"group_id"`
	ID           string    `db:"change_id"`
	RunID        *string   `db:"run_id"`
	Action       string    `db:"action"`
	MemoryID     string    `db:"memory_id"`
	OldID        *string   `db:"old_id"`
	OldStatement string    `db:"old_statement"`
	NewStatement string    `db:"new_statement"`
	Summary      string    `db:"change_summary"`
	Version      int       `db:"version"`
	Evidence     []byte    `db:"evidence"`
	CreatedAt    time.Time `db:"created_at"`
	UndoneRunID  *string   `db:"undone_run_id"`
}

func (r changeRow) change() (reverie.Change, error) {
	c := reverie.Change{GroupID: r.GroupID, ID: r.ID, RunID: r.RunID, Action: reverie.Action(r.Action),
		MemoryID: r.MemoryID,
		OldID:    r.OldID, OldStatement: r.OldStatement, NewStatement: r.NewStatement, Summary: r.Summary, Version: r.Version,
		CreatedAt: r.CreatedAt.UTC(), UndoneRunID: r.UndoneRunID}
	if err := json.Unmarshal(r.Evidence, &c.Evidence); err != nil {
		return c, fmt.Errorf("read the evidence of change %s: %w", r.ID, err)
	}
	return c, nil
}

func changes(rows []changeRow) ([]reverie.Change, error) {
	list := make([]reverie.Change, len(rows))
	for i, r := range rows {
		var err error
		if list[i], err = r.change(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Changes lists a group's changes in [since, until), newest first. Zero times are
// no bound, a limit of 0 is no limit.
func (s *Store) Changes(ctx context.Context, groupID string, since, until time.Time, limit int) ([]reverie.Change,
	error) {
	var list []reverie.Change
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("list the changes of group %q", groupID), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := GetGroup(ctx, t, groupID); err != nil {
				return err
			}
			var rows []changeRow
			err := t.Select(ctx, &rows, `select `+changeColumns+` from memory_change_log
			where group_id = $1 and created_at >= $2::timestamptz and created_at < $3::timestamptz
			order by created_at desc, change_id desc limit nullif($4::int, 0)`,
				groupID, pg.OrMinusInfinity(since), pg.OrInfinity(until), limit)
			if err != nil {
				return err
			}
			list, err = changes(rows)
			return err
		}})
	return list, err
}

// runChanges returns what a run changed, or one chunk of it, in order. A limit of 0 is
// no limit.
func runChanges(ctx context.Context, t *pg.Tx, groupID, runID string, chunkNo, limit int) ([]reverie.Change, error) {
	var rows []changeRow
	err := t.Select(ctx, &rows, `select `+changeColumns+` from memory_change_log
		where group_id = $1 and run_id = $2 and ($3::int = 0 or chunk_no = $3)
		order by created_at, change_id limit nullif($4::int, 0)`, groupID, runID, chunkNo, limit)
	if err != nil {
		return nil, err
	}
	return changes(rows)
}

const insertChangesQuery = `
	insert into memory_change_log (group_id, change_id, run_id, chunk_no, action, memory_id, old_id, old_statement,
		new_statement,
		change_summary, version, evidence, created_at, undone_run_id, strength)
	select $1, u.id, $2::uuid, $3::int, u.action, u.memory_id, u.old_id, u.old_statement, u.new_statement,
		u.summary, u.version, u.evidence, $4::timestamptz, u.undone_run_id, (
			select m.strength from memories m left join memories o on o.group_id = m.group_id and o.memory_id = u.old_id
			where m.group_id = $1 and m.memory_id = u.memory_id
				and (u.action = 'strength' or u.action = 'restore' and m.strength > o.strength))
	from unnest($5::uuid[], $6::text[], $7::uuid[], $8::uuid[], $9::text[], $10::text[], $11::text[], $12::int[],
		$13::jsonb[],
			$14::uuid[])
		as u (id, action, memory_id, old_id, old_statement, new_statement, summary, version, evidence, undone_run_id)`

// insertChanges writes log rows of one instant. A nil runID is a person's edit, or an undo,
// and then chunkNo does not count. A row of a strength that was set, or lifted by
// restoring, keeps it.
func insertChanges(ctx context.Context, t *pg.Tx, groupID string, runID *string, chunkNo int, at time.Time,
	list []reverie.Change) error {
	if len(list) == 0 {
		return nil
	}
	var no any
	if runID != nil {
		no = chunkNo
	}
	var ids, actions, memoryIDs, olds, news, summaries, evidence pq.StringArray
	var oldIDs, undone []*string
	var versions pq.Int64Array
	for _, c := range list {
		ev := c.Evidence
		if ev == nil {
			ev = []reverie.Evidence{}
		}
		text, err := pg.JSONText(ev)
		if err != nil {
			return err
		}
		ids, actions, memoryIDs = append(ids, c.ID), append(actions, string(c.Action)), append(memoryIDs, c.MemoryID)
		oldIDs, undone = append(oldIDs, c.OldID), append(undone, c.UndoneRunID)
		olds, news = append(olds, c.OldStatement), append(news, c.NewStatement)
		summaries, versions, evidence = append(summaries, c.Summary), append(versions, int64(c.Version)), append(evidence,
			text)
	}
	_, err := t.Exec(ctx, insertChangesQuery, groupID, runID, no, at,
		ids, actions, memoryIDs, pq.Array(oldIDs), olds, news, summaries, versions, evidence, pq.Array(undone))
	return err
}
