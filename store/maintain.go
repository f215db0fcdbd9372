package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	newestMessageQuery = `select greatest(
		(select max(sent_at) from messages where group_id = $1 and run_id is null and outcome is null),
		(select max(sent_at) from messages where group_id = $1 and run_id is not null))`

	isRunningQuery = `select exists (select 1 from runs where group_id = $1 and job = $2 and status = 'running')`

	// backAt is when an undo made the archived version m active again, because a replay decides anew.
	backAt = `(select max(c.created_at) from memory_change_log c where c.group_id = $1 and c.memory_id = m.memory_id
			and c.action = 'undo' and not starts_with(c.change_summary, '` + reverie.ReplayReason + `')
			and exists (select 1 from memory_change_log a where a.group_id = $1 and a.memory_id = c.old_id and a.action = 'archive'))`

	// This does not decide whether a silent memory is stale, because that depends on its type.
	fadingQuery = `select ` + headColumns + `, used_at, back_at
		from (select m.*, ` + usedAt + ` as used_at, ` + backAt + ` as back_at, coalesce(nullif(g.time_zone, ''), 'UTC') as zone
			from memories m join groups g on g.group_id = $1
			where m.group_id = $1 and m.status = 'active' and m.lineage_id > $2::uuid and m.weight < $3::float8
				and m.kind <> 'team' and m.author = ''
				and not (m.kind = 'dream' and m.tags @> array['` + reverie.TagSummary + `'])) m
		where weight < $4::float8
			or kind = 'dream' and tags @> array['` + string(reverie.DreamTodo) + `', '` + reverie.TagDone + `']
				and updated_at <= $8::timestamptz
			or due_on < $9::date
			or (type in ('habit', 'plan', 'opinion') or strength < $5::float8 and used_at is null)
				and $6 <= (select count(*) from active_nights n where n.group_id = $1
					and n.night > (greatest(last_supported_at, used_at) at time zone zone)::date)
		order by lineage_id limit $7`

	// Writers to several lineages lock them in the order of their ids.
	lockFadingQuery = `select 1 from memories where group_id = $1 and memory_id = any ($2::uuid[])
		order by lineage_id for no key update`

	// A version that has changed since it was read stays.
	fadeQuery = `update memories m set status = 'archived', ended_at = $2::timestamptz,
			said_until = greatest(m.said_at, least(u.said_until, $2::timestamptz))
		from unnest($3::uuid[], $4::float8[], $5::float8[], $6::timestamptz[], $7::timestamptz[])
			as u (id, strength, weight, supported_at, said_until)
		where m.group_id = $1 and m.memory_id = u.id and m.status = 'active' and m.strength = u.strength
			and m.weight = u.weight and m.last_supported_at = u.supported_at
		returning m.memory_id`

	saveStatsQuery = `update runs set stats = $3::jsonb where group_id = $1 and run_id = $2 and status = 'running'`
)

// ZeroID is less than all ids.
const ZeroID = "00000000-0000-0000-0000-000000000000"

// Upkeep reads what is due in a group, without the memories to archive, in one snapshot. An unknown group is
// reverie.ErrNotFound.
func (s *Store) Upkeep(ctx context.Context, q reverie.UpkeepQuery) (reverie.Upkeep, error) {
	what := fmt.Sprintf("look what waits to be done in group %q", q.GroupID)
	return pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) (u reverie.Upkeep, err error) {
		if err = groupNights(ctx, t, q.GroupID, &u.Group, &u.Nights).Read(); err != nil {
			return u, err
		}
		if err := t.Get(ctx, &u.NewestAt, newestMessageQuery, q.GroupID); err != nil {
			return u, err
		}
		if err := t.Get(ctx, &u.Interrupted, isRunningQuery, q.GroupID, string(reverie.JobMaintain)); err != nil {
			return u, err
		}
		u.Expired, err = countExpired(ctx, t, q)
		return u, err
	})
}

// FadingMemories returns a page of active memories that may have to be archived, by lineage. It leaves out core
// memories, those of teams and of persons, and the narrative.
func (s *Store) FadingMemories(ctx context.Context, q reverie.FadingQuery) ([]reverie.Fading, error) {
	what := fmt.Sprintf("look for memories of group %q to archive", q.GroupID)
	return pg.QueryByKey[reverie.Fading](ctx, s.db.Of(ctx, q.GroupID), what, fadingQuery, q.GroupID, cmp.Or(q.After, ZeroID),
		reverie.CoreWeight, q.Rule.Threshold, reverie.EstablishedStrength, q.Silent, q.Limit, pg.OrNull(q.ClosedBy),
		cmp.Or(q.Today, "-infinity"))
}

// Fade archives memories in one transaction with the rows of the change log and the stats of the run, which it returns.
// A memory that has changed since it was read is skipped until the next time. A lost lease is reverie.ErrLeaseLost, and
// nothing is written. A run that has ended is reverie.ErrConflict.
func (s *Store) Fade(ctx context.Context, lease reverie.Lease, run reverie.Run, fades []reverie.Fading) (reverie.Stats,
	[]reverie.Change, error) {
	var stats reverie.Stats
	var archived []reverie.Change
	err := s.upkeep(ctx, lease, run, "archive memories", func(ctx context.Context,
		t *pg.Tx, _ time.Time) (reverie.Stats, error) {
		var ids pq.StringArray
		var rows pg.Columns
		for _, f := range fades {
			ids = append(ids, f.ID)
			rows.Add(f.ID, f.Strength, f.Weight, f.LastSupportedAt, f.SaidUntil)
		}
		if err := t.Exec(ctx, lockFadingQuery, lease.GroupID, ids); err != nil {
			return reverie.Stats{}, err
		}
		at, err := NextTimestamp(ctx, s.db, t, lease.GroupID)
		if err != nil {
			return reverie.Stats{}, err
		}
		var written []string
		if err := rows.Select(ctx, t, &written, fadeQuery, lease.GroupID, at); err != nil {
			return reverie.Stats{}, err
		}
		stats, archived = run.Stats, nil
		for _, f := range fades {
			if slices.Contains(written, f.ID) {
				c := f.Change()
				c.RunID, c.CreatedAt = &run.ID, at
				archived = append(archived, c)
			}
		}
		stats.Archived += len(archived)
		return stats, InsertChanges(ctx, t, lease.GroupID, &run.ID, 0, at, archived)
	})
	return stats, archived, err
}

// upkeep runs a transaction of maintenance under the lease, and writes the stats of its run that fn returns.
func (s *Store) upkeep(ctx context.Context, lease reverie.Lease, run reverie.Run, what string,
	fn func(ctx context.Context, t *pg.Tx, at time.Time) (reverie.Stats, error)) error {
	return s.underLease(ctx, lease, pg.Work{
		What:    fmt.Sprintf("%s of group %q", what, lease.GroupID),
		Prepare: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			stats, err := fn(ctx, t, s.db.Now())
			if err != nil {
				return err
			}
			n, err := t.ExecRows(ctx, saveStatsQuery, lease.GroupID, run.ID, pg.JSON[any]{V: stats})
			if err == nil && n == 0 {
				err = fmt.Errorf("run %s has ended, or is not this group's: %w", run.ID, reverie.ErrConflict)
			}
			return err
		},
	}.Once(lease.GroupID))
}

const allGroupsQuery = `select ` + GroupColumns + `, null as first_pending, null as past, ` + dueSetback + `$1) as setback
	from groups g where group_id > $2 and ($4 = '' or group_id = $4) order by group_id limit nullif($3::int, 0)`

// Upkeeps is the [Store] for maintenance: every group may be due.
type Upkeeps struct{ *Store }

// Upkeeps returns the store for maintenance.
func (s *Store) Upkeeps() Upkeeps { return Upkeeps{s} }

// DueGroups lists all groups by id. Maintenance also works on paused groups, so none is returned as paused. A named
// group that does not exist is reverie.ErrNotFound.
func (u Upkeeps) DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error) {
	list, err := u.dueGroups(ctx, "list the groups", q, allGroupsQuery,
		[]any{string(q.Job), q.After, q.Limit, q.GroupID})
	for i := range list {
		list[i].Paused = false
	}
	return list, err
}
