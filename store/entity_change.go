package store

import (
	"context"
	"encoding/json"
	"fmt"
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
		GroupID   string    `db:"group_id"`
		ID        string    `db:"change_id"`
		RunID     *string   `db:"run_id"`
		UndoneRun *string   `db:"undone_run_id"`
		EntityID  string    `db:"entity_id"`
		Action    string    `db:"action"`
		OtherID   *string   `db:"other_id"`
		ClaimID   *string   `db:"claim_id"`
		OldText   string    `db:"old_text"`
		NewText   string    `db:"new_text"`
		Reason    string    `db:"change_reason"`
		Evidence  []byte    `db:"evidence"`
		CreatedAt time.Time `db:"created_at"`
	}
	if err := t.Select(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	list := make([]reverie.EntityChange, len(rows))
	for i, r := range rows {
		list[i] = reverie.EntityChange{GroupID: r.GroupID, ID: r.ID, RunID: r.RunID, UndoneRun: r.UndoneRun,
			EntityID: r.EntityID, Action: reverie.EntityAction(r.Action),
			OtherID: r.OtherID, ClaimID: r.ClaimID, OldText: r.OldText, NewText: r.NewText, Reason: r.Reason,
			CreatedAt: r.CreatedAt.UTC()}
		if err := json.Unmarshal(r.Evidence, &list[i].Evidence); err != nil {
			return nil, fmt.Errorf("read the evidence of change %s: %w", r.ID, err)
		}
	}
	return list, nil
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
