package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	supersedeQuery = `update memories set status = 'superseded', ended_at = $3::timestamptz, said_until = $3::timestamptz
		where group_id = $1 and memory_id = $2`

	// If only white space and the like differ, the vector stays.
	writeQuery = `insert into memories (group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version,
			status, tags, strength, weight, content_hash, embedding, embedding_model, change_summary, created_at, updated_at,
			last_supported_at, type, due_on, said_at, author)
		select $1, $2::uuid, $3::uuid, p.memory_id, $5, coalesce(p.session_id, ''), $6, $7::int, 'active', $8::text[],
			greatest(p.strength, $9::float8), greatest(p.weight, $10::float8), $11,
			case when p.content_hash = $11 then p.embedding end,
			case when p.content_hash = $11 then p.embedding_model else '' end, $12,
			coalesce(p.created_at, $13::timestamptz), $13::timestamptz, $17::timestamptz, $14, $15::date, $17::timestamptz, $16
		from (select 1) one left join memories p on p.group_id = $1 and p.memory_id = nullif($4, '')::uuid`
)

// write writes the version of a person's edit: the first of a new lineage, or the next after its head.
func write(ctx context.Context, t *pg.Tx, e reverie.Edit, head reverie.Memory, at time.Time) (reverie.Change, error) {
	m, err := worded(e, head)
	if err != nil {
		return reverie.Change{}, err
	}
	twin, err := twinOf(ctx, t, head.GroupID, head.Kind, m.ContentHash)
	if err != nil {
		return reverie.Change{}, err
	}
	if twin != "" && twin != head.ID {
		return reverie.Change{}, fmt.Errorf("memory %s says this already; edit that one: %w", twin, reverie.ErrConflict)
	}
	c := reverie.Change{Action: e.Action, MemoryID: m.ID, OldStatement: head.Statement, NewStatement: m.Statement,
		Summary: e.Reason, Version: m.Version}
	if head.ID != "" {
		c.OldID = &head.ID
		if err := t.Exec(ctx, supersedeQuery, head.GroupID, head.ID, at); err != nil {
			return c, err
		}
	}
	strength, saidAt := reverie.EstablishedStrength, at
	if e.System != "" {
		strength = reverie.TentativeStrength
		if !e.SaidAt.IsZero() && e.SaidAt.Before(at) {
			saidAt = e.SaidAt
		}
	}
	err = t.Exec(ctx, writeQuery, head.GroupID, m.ID, head.LineageID, head.ID, string(head.Kind), m.Statement, m.Version,
		m.Tags, strength, reverie.DefaultWeight, m.ContentHash, e.Reason, at, string(m.Type), m.DueOn, e.Author, saidAt)
	return c, err
}

// worded returns a head with the changes of an edit; what the edit leaves out stays. A date without a type makes a
// plan.
func worded(e reverie.Edit, head reverie.Memory) (reverie.Memory, error) {
	m := head
	if head.ID != "" {
		if head.Status != reverie.StatusActive {
			return m, fmt.Errorf("it is %s; restore it first: %w", head.Status, reverie.ErrConflict)
		}
		if err := head.Wordable(); err != nil {
			return m, err
		}
	}
	m.ID, m.Version = reverie.NewID(), head.Version+1
	if e.Statement != "" {
		m.Statement, m.ContentHash = e.Statement, e.ContentHash
	}
	if e.Tags != nil {
		m.Tags = e.Tags
	}
	switch due, err := time.Parse(time.DateOnly, e.DueOn); {
	case e.DueOn == reverie.NoDate || e.DueOn == "" && e.Type != "" && e.Type != reverie.TypePlan:
		m.DueOn = nil
	case e.DueOn == "":
	case err != nil:
		return m, fmt.Errorf("%q is not a date such as 2026-01-15: %w", e.DueOn, reverie.ErrInvalid)
	case e.Type != "" && e.Type != reverie.TypePlan:
		return m, fmt.Errorf("a memory of type %s has no date; only a plan has: %w", e.Type, reverie.ErrInvalid)
	default:
		m.DueOn, m.Type = &due, reverie.TypePlan
	}
	if e.Type != "" {
		m.Type = e.Type
	}
	if m.Statement == head.Statement && slices.Equal(m.Tags, head.Tags) && m.Type == head.Type && sameDay(m.DueOn, head.DueOn) {
		return m, fmt.Errorf("memory %s is like this already; nothing is changed: %w", head.ID, reverie.ErrConflict)
	}
	return m, nil
}

func sameDay(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Format(time.DateOnly) == b.Format(time.DateOnly)
}
