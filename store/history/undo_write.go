package history

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

const (
	// Heads end before versions come back: a lineage has one active head, and only one active memory has a statement.
	// An archived head ended when it was archived.
	returnHeadsQuery = `with u as (
			select u.*, becomes <> '' as ends
			from unnest($3::uuid[], $4::text[], $5::float8[], $6::timestamptz[]) as u (id, becomes, strength, supported_at)),
		kept as (` + store.InsertValues + `null, $2::timestamptz
			from memories m join u on u.id = m.memory_id where m.group_id = $1 and not u.ends)
		update memories m set
			status = case when u.ends then u.becomes else m.status end,
			ended_at = case when u.ends then coalesce(m.ended_at, $2::timestamptz) else m.ended_at end,
			said_until = case when u.ends then coalesce(m.said_until, $2::timestamptz) else m.said_until end,
			strength = case when u.ends then m.strength else u.strength end,
			last_supported_at = case when u.ends then m.last_supported_at else u.supported_at end
		from u
		where m.group_id = $1 and m.memory_id = u.id and m.status <> 'superseded'`

	// A version that comes back is not new to dreams which took in its base, and it gets the sources of the base. Citus
	// runs the parts one after the other: the version comes first.
	bringBackQuery = `with back as (
			select * from unnest($5::uuid[], $6::uuid[], $7::uuid[], $8::float8[], $9::timestamptz[], $10::bool[])
				as u (id, head_id, base_id, strength, supported_at, held)),
		written as (insert into memories (group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version, status,
			tags, strength, weight, content_hash, embedding, embedding_model, change_summary, run_id, created_at, updated_at,
				last_supported_at,
			ended_at, said_at, said_until, author, type, due_on)
		select b.group_id, u.id, b.lineage_id, h.memory_id, b.kind, b.session_id, b.statement, h.version + 1, case
			when u.held then 'held' else 'active' end,
			b.tags, u.strength, h.weight, b.content_hash, b.embedding, b.embedding_model, $2, b.run_id, b.created_at,
			$3::timestamptz, u.supported_at,
			case when u.held then $3::timestamptz end, $3::timestamptz, case when u.held then $3::timestamptz end, b.author,
			b.type, b.due_on
		from back u
		join memories h on h.group_id = $1 and h.memory_id = u.head_id
		join memories b on b.group_id = $1 and b.memory_id = u.base_id),
		taken as (
			insert into memory_uses (group_id, job, memory_id, run_id)
			select x.group_id, x.job, u.id, x.run_id from back u
			cross join lateral (select * from memory_uses where group_id = $1 and memory_id = u.base_id offset 0) x),
		rests as (
			insert into memory_sources (group_id, memory_id, position, source_id, source_lineage_id, run_id)
			select x.group_id, u.id, x.position, x.source_id, x.source_lineage_id, x.run_id from back u
			cross join lateral (select * from memory_sources where group_id = $1 and memory_id = u.base_id
				and run_id <> $4::uuid offset 0) x)
		select 1`
)

// writeReturns writes the new state of the lineages and returns its rows of the change log. Memories made from these
// lineages are to be judged again.
func writeReturns(ctx context.Context, t *pg.Tx, q reverie.UndoQuery, at time.Time,
	list []lineageReturn) ([]reverie.Change, error) {
	if err := moveBack(ctx, t, q.GroupID, at, list); err != nil {
		return nil, err
	}
	if err := bringBack(ctx, t, q, at, list); err != nil {
		return nil, err
	}
	log := make([]reverie.Change, len(list))
	for i, w := range list {
		log[i] = w.change(q.Reason)
		log[i].GroupID, log[i].CreatedAt = q.GroupID, at
	}
	if err := store.InsertChanges(ctx, t, q.GroupID, nil, 0, at, log); err != nil {
		return nil, err
	}
	_, err := store.Cascade(ctx, t, q.GroupID, log, nil, at)
	return log, err
}

func moveBack(ctx context.Context, t *pg.Tx, groupID string, at time.Time, list []lineageReturn) error {
	var rows pg.Columns
	for _, w := range list {
		becomes := reverie.Status("")
		switch {
		case w.newID != "":
			becomes = reverie.StatusSuperseded
		case w.ends:
			becomes = reverie.StatusDeprecated
		case !w.weakens:
			continue
		}
		rows.Add(w.HeadID, string(becomes), w.strength, w.supported)
	}
	n, err := rows.ExecRows(ctx, t, returnHeadsQuery, groupID, at)
	if err == nil && n != rows.Len() {
		return fmt.Errorf("%d of %d heads were written: %w", n, rows.Len(), reverie.ErrConflict)
	}
	return err
}

func bringBack(ctx context.Context, t *pg.Tx, q reverie.UndoQuery, at time.Time, list []lineageReturn) error {
	var rows pg.Columns
	for _, w := range list {
		if w.newID != "" {
			rows.Add(w.newID, w.HeadID, w.BaseID, w.strength, w.supported, w.Held)
		}
	}
	return rows.Exec(ctx, t, bringBackQuery, q.GroupID, q.Reason, at, q.RunID)
}

// change returns the row of the change log for a lineage.
func (w lineageReturn) change(reason string) reverie.Change {
	c := reverie.Change{ID: reverie.NewID(), Action: reverie.ActionUndo, MemoryID: w.HeadID, OldID: &w.HeadID,
		OldStatement: w.Statement, Version: w.Version, Summary: reason, UndoneRunID: w.RunID}
	switch {
	case w.newID != "":
		c.MemoryID, c.NewStatement, c.Version = w.newID, w.BaseStatement, w.Version+1
	case w.weakens:
		c.NewStatement = w.Statement
		c.Summary = store.ValueSummary(reverie.Edit{Action: reverie.ActionStrength, Value: w.strength, Reason: reason}, w.Strength)
	}
	return c
}
