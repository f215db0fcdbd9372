package store

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	GroupColumns = `group_id, name, time_zone, language, paused, day_boundary, impressions, session_silence,
		dream_idle, dream_sessions, dream_interval, team`

	InsertGroupQuery = `insert into groups (` + GroupColumns + `, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9,
		$10, $11, $12, $13)`
	ensureGroupQuery = InsertGroupQuery + ` on conflict (group_id) do nothing`
)

// groupValues are the values of groupColumns.
func groupValues(g reverie.Group) []any {
	return []any{g.ID, g.Name, g.TimeZone, g.Language, g.Paused, g.DayBoundary, g.Impressions, g.SessionSilence,
		g.DreamIdle, g.DreamSessions, g.DreamInterval, g.Team}
}

// NewGroup are the arguments of insertGroupQuery.
func NewGroup(g reverie.Group, at time.Time) []any { return append(groupValues(g), at) }

// EnsureGroup inserts the group if it is not there, and leaves it as it is if it
// is. An id or a setting that cannot be, as in [reverie.Group.Normalize], is
// reverie.ErrInvalid, and so is the id of a team: see [Store.AddTeam].
func (s *Store) EnsureGroup(ctx context.Context, g reverie.Group) (created bool, err error) {
	if err := reverie.CheckChat(g.ID); err != nil {
		return false, err
	}
	return s.ensureTenant(ctx, g)
}

func (s *Store) ensureTenant(ctx context.Context, g reverie.Group) (created bool, err error) {
	if err := g.Normalize(); err != nil {
		return false, err
	}
	args := NewGroup(g, s.db.Now())
	var xid string
	err = s.db.Run(ctx, pg.Work{What: fmt.Sprintf("add group %q", g.ID), Do: func(ctx context.Context, t *pg.Tx) error {
		n, err := t.Exec(ctx, ensureGroupQuery, args...)
		if created = n == 1; err != nil || !created {
			return err
		}
		return t.Get(ctx, &xid, pg.XIDQuery)
	}, Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
		if !created {
			return true, nil // there was nothing to commit
		}
		if _, err := t.Exec(ctx, ensureGroupQuery, args...); err != nil { // waits for one under way, and is rolled back
			return false, err
		}
		return pg.WasCommitted(ctx, t, xid)
	}})
	return created, err
}

// AddGroup inserts a group. One that exists is reverie.ErrConflict; see
// [Store.EnsureGroup] for the rest.
func (s *Store) AddGroup(ctx context.Context, g reverie.Group) error {
	created, err := s.EnsureGroup(ctx, g)
	if err == nil && !created {
		return fmt.Errorf("add group %q: %w: it exists; `reverie groups set` changes it", g.ID, reverie.ErrConflict)
	}
	return err
}

// Group returns one group with its past calendars, or reverie.ErrNotFound.
func (s *Store) Group(ctx context.Context, id string) (reverie.Group, error) {
	var g reverie.Group
	err := s.db.Run(ctx, pg.Work{What: "read a group", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		var err error
		if g, err = GetGroup(ctx, t, id); err != nil {
			return err
		}
		past, err := pastCalendars(ctx, t, []string{id})
		g.Past = past[id]
		return err
	}})
	return g, err
}

const groupQuery = `select ` + GroupColumns + ` from groups where group_id = $1`

func GetGroup(ctx context.Context, t *pg.Tx, id string) (reverie.Group, error) {
	var g reverie.Group
	err := t.Get(ctx, &g, groupQuery, id)
	return g, pg.NotFoundIfEmpty(err, "group %q", id)
}

// GroupTeam returns what a group says about its team, or reverie.ErrNotFound.
func (s *Store) GroupTeam(ctx context.Context, id string) (string, error) {
	var team string
	err := s.db.QueryRow(ctx, fmt.Sprintf("read the team of group %q", id), &team, `select team from groups
		where group_id = $1`, id)
	return team, pg.NotFoundIfEmpty(err, "group %q", id)
}
