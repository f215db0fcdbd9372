package store

import (
	"context"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	entityChangeColumns = `group_id, change_id, run_id, undone_run_id, entity_id, action, other_id, claim_id, old_text,
		new_text, change_reason, evidence, created_at`

	// A person's and a run's changes of one instant keep their order by id.
	entityHistoryQuery = `select ` + entityChangeColumns + ` from entity_change_log
		where group_id = $1 and entity_id = any ($2::uuid[]) order by created_at, change_id`

	entityRunChangesQuery = `select ` + entityChangeColumns + ` from entity_change_log
		where group_id = $1 and run_id = $2 and ($3::int = 0 or chunk_no = $3)
		order by created_at, change_id limit nullif($4::int, 0)`

	insertEntityChangesQuery = `insert into entity_change_log (group_id, run_id, chunk_no, created_at, change_id,
		entity_id, action, other_id,
			claim_id, old_text, new_text, change_reason, evidence, undone_run_id)
		select $1, $2::uuid, $3::int, $4::timestamptz, u.*
		from unnest($5::uuid[], $6::uuid[], $7::text[], $8::uuid[], $9::uuid[], $10::text[], $11::text[], $12::text[],
			$13::jsonb[], $14::uuid[]) as u`
)

func entityChanges(ctx context.Context, t *pg.Tx, query string, args ...any) ([]reverie.EntityChange, error) {
	var rows []struct {
		reverie.EntityChange
		Evidence pg.JSON[[]reverie.Evidence] `db:"evidence"`
	}
	err := t.Select(ctx, &rows, query, args...)
	list := make([]reverie.EntityChange, len(rows))
	for i, r := range rows {
		list[i] = r.EntityChange
		list[i].Evidence = r.Evidence.V
	}
	return list, err
}

// insertEntityChanges writes log rows of one instant and completes them. A nil
// runID is a person's change, and then chunkNo does not count.
func insertEntityChanges(ctx context.Context, t *pg.Tx, groupID string, runID *string, chunkNo int, at time.Time,
	list []reverie.EntityChange) error {
	var no any
	if runID != nil {
		no = chunkNo
	}
	var rows pg.Columns
	for i := range list {
		c := &list[i]
		c.GroupID, c.ID, c.RunID, c.CreatedAt = groupID, reverie.NewID(), runID, at
		if c.Evidence == nil {
			c.Evidence = []reverie.Evidence{}
		}
		rows.Add(c.ID, c.EntityID, c.Action, c.OtherID, c.ClaimID, c.OldText, c.NewText, c.Reason, pg.JSON[any]{V: c.Evidence},
			c.UndoneRun)
	}
	_, err := rows.Exec(ctx, t, insertEntityChangesQuery, groupID, runID, no, at)
	return err
}
