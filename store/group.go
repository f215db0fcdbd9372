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
	GroupColumns = `group_id, name, time_zone, language, paused, day_boundary, impressions, session_silence,
		dream_idle, dream_sessions, dream_interval, team, private`

	InsertGroupQuery = `insert into groups (` + GroupColumns + `, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9,
		$10, $11, $12, $13, $14)`
	EnsureGroupQuery = InsertGroupQuery + ` on conflict (group_id) do nothing`
)

// groupValues returns the values of groupColumns.
func groupValues(g reverie.Group) []any {
	return []any{g.ID, g.Name, g.TimeZone, g.Language, g.Paused, g.DayBoundary, g.Impressions, g.SessionSilence,
		g.DreamIdle, g.DreamSessions, g.DreamInterval, g.Team, g.Private}
}

// NewGroup returns the arguments of insertGroupQuery.
func NewGroup(g reverie.Group, at time.Time) []any { return append(groupValues(g), at) }

// EnsureGroup inserts a group if it does not exist, and does not change an existing one. An invalid id or setting, as
// in [reverie.Group.Normalize], is reverie.ErrInvalid. So is the id of a team: see [Store.AddTeam].
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
	var key string // each row has another key
	err = s.db.Run(ctx, pg.Work{What: fmt.Sprintf("add group %q", g.ID), Do: func(ctx context.Context, t *pg.Tx) error {
		err := t.Get(ctx, &key, EnsureGroupQuery+` returning plan_key`, args...)
		if created = err == nil; err != nil {
			return IgnoreNoRows(err)
		}
		return t.Exec(ctx, claimLeaseQuery, g.ID, reverie.LeaseGroup) // the row of the lease, for its first holder
	}, Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
		if !created {
			return true, nil // there was nothing to commit
		}
		if err := t.Exec(ctx, EnsureGroupQuery, args...); err != nil { // waits for another insert; is rolled back
			return false, err
		}
		return pg.Get[bool](ctx, t, `select plan_key = $2 from groups where group_id = $1`, g.ID, key)
	}})
	return created, err
}

// AddGroup inserts a group. An existing one is reverie.ErrConflict; see [Store.EnsureGroup] for the rest.
func (s *Store) AddGroup(ctx context.Context, g reverie.Group) error {
	created, err := s.EnsureGroup(ctx, g)
	if err == nil && !created {
		return fmt.Errorf("add group %q: %w: it already exists; `reverie groups set` changes it", g.ID, reverie.ErrConflict)
	}
	return err
}

// Group returns one group with its past calendars, or reverie.ErrNotFound.
func (s *Store) Group(ctx context.Context, id string) (reverie.Group, error) {
	return read(ctx, s, id, "read a group", func(ctx context.Context, t *pg.Tx) (g reverie.Group, err error) {
		if g, err = GetGroup(ctx, t, id); err == nil {
			err = readPast(ctx, t, &g)
		}
		return g, err
	})
}

const groupQuery = `select ` + GroupColumns + ` from groups where group_id = $1`

func GetGroup(ctx context.Context, t *pg.Tx, id string) (reverie.Group, error) {
	g, err := pg.Get[reverie.Group](ctx, t, groupQuery, id)
	return g, pg.NotFoundIfEmpty(err, "group %q", id)
}

// GroupTeam returns the team of a group, and whether anybody in it is linked with another group, or
// reverie.ErrNotFound.
func (s *Store) GroupTeam(ctx context.Context, id string) (team string, linked bool, err error) {
	var row struct {
		Team   string
		Linked bool
	}
	err = s.db.Of(ctx, id).QueryRow(ctx, fmt.Sprintf("read the team of group %q", id), &row,
		`select team, `+isLinked+` from groups where group_id = $1`, id)
	return row.Team, row.Linked, pg.NotFoundIfEmpty(err, "group %q", id)
}

const isLinked = `exists (select 1 from entity_links l where l.group_id = $1) as linked`

// Groups returns the named groups with their past calendars, by id. Unknown ones are left out.
func (s *Store) Groups(ctx context.Context, ids []string) (map[string]reverie.Group, error) {
	what := "read groups"
	return pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) (found map[string]reverie.Group, err error) {
		list, err := pg.Select[reverie.Group](ctx, t, `select `+GroupColumns+` from groups
			where group_id = any ($1::text[])`, ids)
		if err != nil {
			return nil, err
		}
		past, err := pastCalendars(ctx, t, ids)
		found = map[string]reverie.Group{}
		for _, g := range list {
			g.Past = past[g.ID]
			found[g.ID] = g
		}
		return found, err
	})
}

const (
	parkedWhere = `exists (select 1 from setbacks s where s.group_id = g.group_id and s.parked_at is not null)`

	groupListQuery = `select ` + GroupColumns + `, p.pending, p.oldestpending, a.active from groups g
		cross join lateral (
			select count(*) as pending, min(m.sent_at) as oldestpending from messages m
			where m.group_id = g.group_id and m.run_id is null and m.outcome is null) p
		cross join lateral (
			select count(*) as active from memories m where m.group_id = g.group_id and m.status = 'active') a
		where group_id > $1 and ($2 = '' or group_id = $2) and case $3
			when '' then true
			when 'paused' then paused
			when 'parked' then ` + parkedWhere + `
			when 'active' then not paused and not ` + parkedWhere + `
			else false end
			and ($5 = '' or position(lower($5) in lower(group_id)) > 0 or position(lower($5) in lower(name)) > 0)
		order by group_id limit nullif($4::int, 0)`

	lastRunsQuery = `select r.* from groups g cross join lateral (
			select ` + RunColumns + ` from runs where group_id = g.group_id and job <> 'propose' order by started_at desc,
				run_id desc limit 1) r
		where g.group_id = any ($1::text[])`
)

// GroupList lists groups by id with their state, in one snapshot and at most five statements. A named group that does
// not exist is reverie.ErrNotFound.
func (s *Store) GroupList(ctx context.Context, q reverie.GroupQuery) ([]reverie.GroupEntry, error) {
	what := "list groups"
	return pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) (list []reverie.GroupEntry, err error) {
		err = t.Select(ctx, &list, groupListQuery, q.After, q.GroupID, string(q.State), q.Limit, q.Name)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			if q.GroupID != "" {
				_, err = GetGroup(ctx, t, q.GroupID)
			}
			return list, err
		}
		ids := make([]string, len(list))
		for i, g := range list {
			ids[i] = g.ID
		}
		runs, err := pg.Select[reverie.Run](ctx, t, lastRunsQuery, pq.StringArray(ids))
		if err != nil {
			return list, err
		}
		last := map[string]*reverie.Run{}
		for _, r := range runs {
			last[r.GroupID] = &r
		}
		set, err := setbacks(ctx, t, ids, "")
		if err != nil {
			return list, err
		}
		past, err := pastCalendars(ctx, t, ids)
		for i, id := range ids {
			list[i].LastRun, list[i].Setbacks, list[i].Past = last[id], set[id], past[id]
		}
		return list, err
	})
}

const (
	lockGroupQuery = groupQuery + ` for no key update`

	pastQuery = `select group_id, time_zone, day_boundary, valid_until from past_calendars
		where group_id = any ($1::text[]) order by group_id, valid_until`

	// A calendar without any run need not be stored.
	keepCalendarQuery = `insert into past_calendars (group_id, valid_until, time_zone, day_boundary)
		select $1, $2::timestamptz, $3, $4
		where exists (select 1 from runs where group_id = $1 and job <> 'propose')
			and not exists (select 1 from past_calendars where group_id = $1 and valid_until >= $2)`

	changeGroupQuery = `update groups set name = $2, time_zone = $3, language = $4, paused = $5, day_boundary = $6,
		impressions = $7, session_silence = $8, dream_idle = $9, dream_sessions = $10, dream_interval = $11, team = $12,
		private = $13 where group_id = $1`
)

// ChangeGroup changes a group and returns it. A new time zone or day boundary is valid from openUntil, the end of the
// date that is open now in the group's present calendar. The old calendar stays valid for earlier times. If the group
// never had a run, or its calendar cannot be read, no date was ever made by it: then the new one replaces it, and
// openUntil is ignored. A second change on the same open date replaces the first. An unknown group is
// reverie.ErrNotFound; an invalid value is reverie.ErrInvalid.
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
		if c != (reverie.GroupChange{Paused: c.Paused}) { // a group with an invalid calendar can still be paused
			if err := g.Normalize(); err != nil {
				return err
			}
		}
		if before.HasCalendar() && !g.SameCalendar(before) {
			if openUntil.IsZero() {
				return fmt.Errorf("the end of its open date is needed to change its calendar: %w", reverie.ErrInvalid)
			}
			if err := t.Exec(ctx, keepCalendarQuery, id, openUntil, before.TimeZone, before.DayBoundary); err != nil {
				return err
			}
		}
		if err := t.Exec(ctx, changeGroupQuery, groupValues(g)...); err != nil {
			return err
		}
		return readPast(ctx, t, &g)
	}})
	return g, err
}

// PauseGroup excludes a group from all jobs that work through the groups, until [Store.ResumeGroup]. An unknown group
// is reverie.ErrNotFound.
func (s *Store) PauseGroup(ctx context.Context, id string) (reverie.Group, error) {
	paused := true
	return s.ChangeGroup(ctx, id, reverie.GroupChange{Paused: &paused}, time.Time{})
}

// ResumeGroup ends the pause of a group. It deletes and returns the setbacks of the group and of its sessions, so that
// work continues at once. An unknown group is reverie.ErrNotFound.
func (s *Store) ResumeGroup(ctx context.Context, id string) (reverie.Group, []reverie.Setback, error) {
	var g reverie.Group
	var gone []reverie.Setback
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("resume group %q", id), Do: func(ctx context.Context, t *pg.Tx) error {
		var err error
		if g, err = LockGroup(ctx, t, id); err != nil {
			return err
		}
		g.Paused = false
		if err := readPast(ctx, t, &g); err != nil {
			return err
		}
		found, err := setbacks(ctx, t, []string{id}, "")
		if err != nil {
			return err
		}
		if err := t.Exec(ctx, `update groups set paused = false where group_id = $1`, id); err != nil {
			return err
		}
		if err := t.Exec(ctx, `delete from setbacks where group_id = $1`, id); err != nil {
			return err
		}
		sessions, err := forgetSessions(ctx, t, id)
		if err != nil {
			return err
		}
		gone = append(found[id], sessions...)
		return nil
	}}.Once(id))
	return g, gone, err
}

// LockGroup reads a group and locks it until the commit, against changes and notes of failures. Messages may still be
// imported.
func LockGroup(ctx context.Context, t *pg.Tx, id string) (reverie.Group, error) {
	g, err := pg.Get[reverie.Group](ctx, t, lockGroupQuery, id)
	return g, pg.NotFoundIfEmpty(err, "group %q", id)
}

// readPast adds the past calendars of a group.
func readPast(ctx context.Context, t *pg.Tx, g *reverie.Group) error {
	past, err := pastCalendars(ctx, t, []string{g.ID})
	g.Past = past[g.ID]
	return err
}

// pastCalendars returns the past calendars of groups, oldest first.
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
		found[r.GroupID] = append(found[r.GroupID], r.PastCalendar)
	}
	return found, nil
}

// AddTeam creates the tenant of a team, if it does not exist.
func (s *Store) AddTeam(ctx context.Context, team string) (created bool, err error) {
	if err := reverie.CheckTeam(team); err != nil {
		return false, err
	}
	return s.ensureTenant(ctx, reverie.Group{ID: reverie.TeamGroupID(team), Name: team})
}
