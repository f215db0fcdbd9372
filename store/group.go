package store

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"reverie"
)

const groupColumns = `group_id, name, time_zone, language, paused`

// EnsureGroup inserts the group if it is not there, and leaves it as it is if it
// is. An id or time zone that cannot be is reverie.ErrInvalid.
func (s *Store) EnsureGroup(ctx context.Context, g reverie.Group) (created bool, err error) {
	if g.ID == "" || len(g.ID) > reverie.MaxGroupIDLength || strings.ContainsRune(g.ID, 0) || !utf8.ValidString(g.ID) {
		return false, fmt.Errorf("group id %q: must have 1 to %d bytes of text: %w", g.ID, reverie.MaxGroupIDLength, reverie.ErrInvalid)
	}
	if _, err := g.Location(); err != nil {
		return false, err
	}
	err = s.run(ctx, work{what: fmt.Sprintf("add group %q", g.ID), do: func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, `insert into groups (`+groupColumns+`, created_at) values ($1, $2, $3, $4, $5, $6)
			on conflict (group_id) do nothing`, g.ID, g.Name, g.TimeZone, g.Language, g.Paused, s.now())
		created = n == 1
		return err
	}})
	return created, err
}

// Group returns one group, or reverie.ErrNotFound.
func (s *Store) Group(ctx context.Context, id string) (reverie.Group, error) {
	var g reverie.Group
	err := s.run(ctx, work{what: "read a group", readOnly: true, do: func(ctx context.Context, t *tx) error {
		var err error
		g, err = getGroup(ctx, t, id)
		return err
	}})
	return g, err
}

const groupQuery = `select ` + groupColumns + ` from groups where group_id = $1`

func getGroup(ctx context.Context, t *tx, id string) (reverie.Group, error) {
	var g reverie.Group
	err := t.get(ctx, &g, groupQuery, id)
	return g, one(err, "group %q", id)
}

// Groups lists groups by id, those after the given one ("" for the first page),
// at most limit. A limit of 0 is no limit.
func (s *Store) Groups(ctx context.Context, after string, limit int) ([]reverie.Group, error) {
	var list []reverie.Group
	err := s.run(ctx, work{what: "list groups", readOnly: true, do: func(ctx context.Context, t *tx) error {
		list = nil
		return t.list(ctx, &list, `select `+groupColumns+` from groups where group_id > $1 order by group_id limit nullif($2::int, 0)`, after, limit)
	}})
	return list, err
}

// PendingGroups lists the groups that are not paused and have pending messages
// sent before until (zero: at any time), by id, those after the given one, at
// most limit. A limit of 0 is no limit.
func (s *Store) PendingGroups(ctx context.Context, until time.Time, after string, limit int) ([]reverie.Group, error) {
	var list []reverie.Group
	err := s.run(ctx, work{what: "list groups with pending messages", readOnly: true, do: func(ctx context.Context, t *tx) error {
		list = nil
		return t.list(ctx, &list, `select `+groupColumns+` from groups g
			where not paused and group_id > $2 and exists (
				select 1 from messages m where m.group_id = g.group_id
					and m.run_id is null and m.outcome is null and m.sent_at < $1::timestamptz)
			order by group_id limit nullif($3::int, 0)`, orInfinity(until), after, limit)
	}})
	return list, err
}
