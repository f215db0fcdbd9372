package history

import (
	"context"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

const (
	overviewQuery = `select
		(select max(started_at) from runs where ($1 = '' or group_id = $1) and job <> 'propose') as last_run,
		(select count(distinct (group_id, run_id)) from held_plans
			where status = 'waiting' and ($1 = '' or group_id = $1)) as waiting`

	lateRunsQuery = `select status, count(*) as runs, coalesce(sum((stats->>'created')::int), 0) as created,
			coalesce(sum((stats->>'updated')::int), 0) as updated, coalesce(sum((stats->>'deleted')::int), 0) as deleted
		from runs where started_at >= $2::timestamptz and job <> 'propose' and ($1 = '' or group_id = $1)
		group by status order by status`

	lateSpendQuery = `select created_at >= $2::timestamptz as today, ` + store.SpendColumns + ` from llm_calls
		where created_at >= $2::timestamptz - interval '24 hours' and ($1 = '' or group_id = $1) group by 1`

	failingQuery = `select group_id, job, failures, error, retry_at, parked_at, updated_at, count(*) over () as total
		from setbacks where $1 = '' or group_id = $1
		order by parked_at is null, updated_at desc, group_id, job limit $2::int`

	// One of two indexes ends with the newest message of each group.
	silentQuery = `select g.group_id, g.name, greatest(a.at, b.at) as last, count(*) over () as total from groups g
		cross join lateral (
			select max(sent_at) as at from messages where group_id = g.group_id and run_id is null and outcome is null) a
		cross join lateral (select max(sent_at) as at from messages where group_id = g.group_id and run_id is not null) b
		where ($1 = '' or g.group_id = $1) and not g.paused and greatest(a.at, b.at) >= $2::timestamptz
			and greatest(a.at, b.at) < $3::timestamptz
		order by last desc, g.group_id limit $4::int`

	activityQuery = `select group_id, floor(extract(epoch from created_at - $2::timestamptz) / 86400)::int as day,
			count(*) as changes
		from memory_change_log where group_id = any ($1::text[]) and created_at >= $2::timestamptz
			and created_at < $2::timestamptz + make_interval(days => $3::int) group by 1, 2`

	// Pending messages of the window are counted for evolve only: other jobs keep their pending messages elsewhere.
	underWayQuery = `select r.*, c.chunks, c.applied, c.read, l.changes, p.pending, exists (select 1 from leases s
			where s.group_id = r.group_id and s.expires_at > statement_timestamp()) as alive
		from (select ` + store.RunColumns + ` from runs where status = 'running') r
		cross join lateral (select count(*) as chunks, count(*) filter (where status in ('applied', 'held')) as applied,
				coalesce(sum(cardinality(message_ids)) filter (where status in ('applied', 'held')), 0) as read
			from run_chunks where group_id = r.group_id and run_id = r.run_id) c
		cross join lateral (select count(*) as changes from memory_change_log
			where group_id = r.group_id and run_id = r.run_id) l
		cross join lateral (select count(*) as pending from messages
			where r.job = 'evolve' and group_id = r.group_id and run_id is null and outcome is null
				and sent_at >= r.window_since and sent_at < r.window_until) p
		order by r.started_at desc, r.run_id desc limit $1::int`
)

// Overview reports on one group, or on all groups if none is named: recent runs and costs, failures, pending reviews,
// and silent groups.
func (h *History) Overview(ctx context.Context, q reverie.OverviewQuery) (reverie.Overview, error) {
	return pg.Read(ctx, h.db, "read the overview", func(ctx context.Context, t *pg.Tx) (o reverie.Overview, err error) {
		if err = t.Get(ctx, &o, overviewQuery, q.GroupID); err != nil {
			return o, err
		}
		if o.Runs, err = pg.Select[reverie.RunCount](ctx, t, lateRunsQuery, q.GroupID, q.Night); err != nil {
			return o, err
		}
		spent, err := pg.Select[struct {
			Today bool
			reverie.Spend
		}](ctx, t, lateSpendQuery, q.GroupID, q.Today)
		for _, s := range spent {
			if s.Today {
				o.Today = s.Spend
			} else {
				o.Yesterday = s.Spend
			}
		}
		if err != nil {
			return o, err
		}
		if o.Failing, err = pg.Select[reverie.Failing](ctx, t, failingQuery, q.GroupID, q.Limit); err != nil {
			return o, err
		}
		o.Silent, err = pg.Select[reverie.SilentGroup](ctx, t, silentQuery, q.GroupID, q.SpokeSince, q.SilentSince, q.Limit)
		return o, err
	})
}

// Activity counts the changes of memories by group, for each of a number of days from since on. Groups without changes
// are left out.
func (h *History) Activity(ctx context.Context, groupIDs []string, since time.Time, days int) (map[string][]int, error) {
	rows, err := pg.QueryAll[struct {
		GroupID string `db:"group_id"`
		Day     int
		Changes int
	}](ctx, h.db, "count changes of memories", activityQuery, pq.StringArray(groupIDs), since, days)
	found := map[string][]int{}
	for _, r := range rows {
		if found[r.GroupID] == nil {
			found[r.GroupID] = make([]int, days)
		}
		found[r.GroupID][r.Day] = r.Changes
	}
	return found, err
}

// UnderWay lists the runs in progress with their progress, newest first, at most limit.
func (h *History) UnderWay(ctx context.Context, limit int) ([]reverie.RunProgress, error) {
	return pg.QueryAll[reverie.RunProgress](ctx, h.db, "look how far runs have come", underWayQuery, limit)
}
