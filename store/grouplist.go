package store

import (
	"context"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	parkedWhere = `exists (select 1 from setbacks s where s.group_id = g.group_id and s.parked_at is not null)`

	groupListQuery = `select ` + GroupColumns + ` from groups g
		where group_id > $1 and ($2 = '' or group_id = $2) and case $3
			when '' then true
			when 'paused' then paused
			when 'parked' then ` + parkedWhere + `
			when 'active' then not paused and not ` + parkedWhere + `
			else false end
			and ($5 = '' or position(lower($5) in lower(group_id)) > 0 or position(lower($5) in lower(name)) > 0)
		order by group_id limit nullif($4::int, 0)`

	groupCountsQuery = `select g.id as group_id, p.pending, p.oldest, a.active
		from unnest($1::text[]) as g (id)
		cross join lateral (
			select count(*) as pending, min(m.sent_at) as oldest from messages m
			where m.group_id = g.id and m.run_id is null and m.outcome is null) p
		cross join lateral (
			select count(*) as active from memories m where m.group_id = g.id and m.status = 'active') a`

	lastRunsQuery = `select r.* from unnest($1::text[]) as g (id)
		cross join lateral (
			select ` + runColumns + ` from runs where group_id = g.id and job <> 'propose' order by started_at desc,
				run_id desc limit 1) r`
)

// GroupList lists groups by id with how they stand, in one snapshot and at most
// six statements. A named group that does not exist is reverie.ErrNotFound.
func (s *Store) GroupList(ctx context.Context, q reverie.GroupQuery) ([]reverie.GroupEntry, error) {
	var list []reverie.GroupEntry
	err := s.db.Run(ctx, pg.Work{What: "list groups", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		list = nil
		var groups []reverie.Group
		if err := t.Select(ctx, &groups, groupListQuery, q.After, q.GroupID, string(q.State), q.Limit, q.Name); err != nil {
			return err
		}
		if len(groups) == 0 {
			if q.GroupID == "" {
				return nil
			}
			_, err := GetGroup(ctx, t, q.GroupID)
			return err
		}
		list = make([]reverie.GroupEntry, len(groups))
		ids, entries := make([]string, len(groups)), map[string]*reverie.GroupEntry{}
		for i, g := range groups {
			list[i].Group = g
			ids[i], entries[g.ID] = g.ID, &list[i]
		}
		type filler = func(context.Context, *pg.Tx, []string, map[string]*reverie.GroupEntry) error
		for _, fill := range []filler{fillCounts, fillLastRuns, fillSetbacks, fillPast} {
			if err := fill(ctx, t, ids, entries); err != nil {
				return err
			}
		}
		return nil
	}})
	return list, err
}

func fillCounts(ctx context.Context, t *pg.Tx, ids []string, entries map[string]*reverie.GroupEntry) error {
	var rows []struct {
		GroupID string     `db:"group_id"`
		Pending int        `db:"pending"`
		Oldest  *time.Time `db:"oldest"`
		Active  int        `db:"active"`
	}
	if err := t.Select(ctx, &rows, groupCountsQuery, pq.StringArray(ids)); err != nil {
		return err
	}
	for _, r := range rows {
		e := entries[r.GroupID]
		e.Pending, e.OldestPending, e.Active = r.Pending, pg.UTC(r.Oldest), r.Active
	}
	return nil
}

func fillLastRuns(ctx context.Context, t *pg.Tx, ids []string, entries map[string]*reverie.GroupEntry) error {
	var rows []runRow
	if err := t.Select(ctx, &rows, lastRunsQuery, pq.StringArray(ids)); err != nil {
		return err
	}
	for _, r := range rows {
		run, err := r.run()
		if err != nil {
			return err
		}
		entries[r.GroupID].LastRun = &run
	}
	return nil
}

func fillSetbacks(ctx context.Context, t *pg.Tx, ids []string, entries map[string]*reverie.GroupEntry) error {
	found, err := setbacks(ctx, t, ids, "")
	for id, list := range found {
		entries[id].Setbacks = list
	}
	return err
}

func fillPast(ctx context.Context, t *pg.Tx, ids []string, entries map[string]*reverie.GroupEntry) error {
	found, err := pastCalendars(ctx, t, ids)
	for id, list := range found {
		entries[id].Past = list
	}
	return err
}
