package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	lockGroupQuery = groupQuery + ` for no key update`

	pastQuery = `select group_id, time_zone, day_boundary, valid_until from past_calendars
		where group_id = any ($1::text[]) order by group_id, valid_until`

	// Dates that were never worked on need no calendar of their own.
	keepCalendarQuery = `insert into past_calendars (group_id, valid_until, time_zone, day_boundary)
		select $1, $2::timestamptz, $3, $4
		where exists (select 1 from runs where group_id = $1 and job <> 'propose')
			and not exists (select 1 from past_calendars where group_id = $1 and valid_until >= $2)`

	changeGroupQuery = `update groups set name = $2, time_zone = $3, language = $4, paused = $5, day_boundary = $6,
		impressions = $7, session_silence = $8, dream_idle = $9, dream_sessions = $10, dream_interval = $11, team = $12
			where group_id = $1`
)

// ChangeGroup changes a group and returns it as it is then. A time zone or day
// boundary that differs holds from openUntil on, the end of the date that is open
// now in the group's calendar so far; that calendar stays for what lies before,
// unless the group never had a run, or its calendar cannot be read: no date ever
// came of that one, and openUntil is not looked at. A second change on the same open date
// replaces the first. An unknown group is reverie.ErrNotFound; a value that cannot
// be is reverie.ErrInvalid.
func (s *Store) ChangeGroup(ctx context.Context, id string, c reverie.GroupChange,
	openUntil time.Time) (reverie.Group, error) {
	var g reverie.Group
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("change group %q", id), Do: func(ctx context.Context, t *pg.Tx) error {
		before, err := LockGroup(ctx, t, id)
		if err != nil {
			return err
		}
		g = before
		c.Apply(&g)
		if c != (reverie.GroupChange{Paused: c.Paused}) { // one that cannot be read may still be paused
			if err := g.Normalize(); err != nil {
				return err
			}
		}
		if before.HasCalendar() && !g.SameCalendar(before) {
			if openUntil.IsZero() {
				return fmt.Errorf("the end of its open date is needed to change its calendar: %w", reverie.ErrInvalid)
			}
			if _, err := t.Exec(ctx, keepCalendarQuery, id, openUntil, before.TimeZone, before.DayBoundary); err != nil {
				return err
			}
		}
		if _, err := t.Exec(ctx, changeGroupQuery, groupValues(g)...); err != nil {
			return err
		}
		past, err := pastCalendars(ctx, t, []string{id})
		g.Past = past[id]
		return err
	}})
	return g, err
}

// PauseGroup leaves a group out of all that is done for groups in turn, until
// [Store.ResumeGroup]. An unknown group is reverie.ErrNotFound.
func (s *Store) PauseGroup(ctx context.Context, id string) (reverie.Group, error) {
	paused := true
	return s.ChangeGroup(ctx, id, reverie.GroupChange{Paused: &paused}, time.Time{})
}

// ResumeGroup lets work on a group go on at once: it is not paused any more, and
// its setbacks and those of its sessions are deleted and returned. An unknown group
// is reverie.ErrNotFound.
func (s *Store) ResumeGroup(ctx context.Context, id string) (reverie.Group, []reverie.Setback, error) {
	var g reverie.Group
	var gone []reverie.Setback
	var xid string
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("resume group %q", id), Do: func(ctx context.Context, t *pg.Tx) error {
		var err error
		if g, err = LockGroup(ctx, t, id); err != nil {
			return err
		}
		g.Paused = false
		past, err := pastCalendars(ctx, t, []string{id})
		if err != nil {
			return err
		}
		g.Past = past[id]
		found, err := setbacks(ctx, t, []string{id}, "")
		if err != nil {
			return err
		}
		gone = found[id]
		if _, err := t.Exec(ctx, `update groups set paused = false where group_id = $1`, id); err != nil {
			return err
		}
		if _, err := t.Exec(ctx, `delete from setbacks where group_id = $1`, id); err != nil {
			return err
		}
		sessions, err := forgetSessions(ctx, t, id)
		if err != nil {
			return err
		}
		gone = append(gone, sessions...)
		return t.Get(ctx, &xid, pg.XIDQuery)
	}, Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
		if _, err := LockGroup(ctx, t, id); err != nil {
			return false, err
		}
		return pg.WasCommitted(ctx, t, xid)
	}})
	return g, gone, err
}

// LockGroup reads a group and lets nobody else change it, or note a failure of
// it, before the commit. Messages may still come in.
func LockGroup(ctx context.Context, t *pg.Tx, id string) (reverie.Group, error) {
	var g reverie.Group
	err := t.Get(ctx, &g, lockGroupQuery, id)
	return g, pg.NotFoundIfEmpty(err, "group %q", id)
}

// pastCalendars are those of the groups, oldest first.
func pastCalendars(ctx context.Context, t *pg.Tx, ids []string) (map[string][]reverie.PastCalendar, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []struct {
		GroupID string `db:"group_id"`
		reverie.PastCalendar
	}
	if err := t.Select(ctx, &rows, pastQuery, pq.StringArray(ids)); err != nil {
		return nil, err
	}
	found := map[string][]reverie.PastCalendar{}
	for _, r := range rows {
		r.ValidUntil = r.ValidUntil.UTC()
		found[r.GroupID] = append(found[r.GroupID], r.PastCalendar)
	}
	return found, nil
}
