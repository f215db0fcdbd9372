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

	fadingQuery = `select ` + MemoryColumns + `, decayed_at from memories
		where group_id = $1 and status = 'active' and lineage_id > $2::uuid and weight < $3::float8
			and kind <> 'team'
			and not (kind = 'dream' and tags @> array['` + reverie.TagSummary + `'])
			and (least(strength, weight) < $4::float8
				or last_supported_at < case kind when 'dream' then $8::timestamptz else $5::timestamptz end
				or kind = 'dream' and tags @> array['` + string(reverie.DreamTodo) + `', '` + reverie.TagDone + `']
					and updated_at <= $7::timestamptz)
		order by lineage_id limit $6`

	// Whoever writes to several lineages locks them in the order of their ids.
	lockFadingQuery = `select 1 from memories where group_id = $1 and memory_id = any ($2::uuid[])
		order by lineage_id for no key update`

	fadeQuery = `with u as (
			select * from unnest($4::uuid[], $5::float8[], $6::float8[], $7::timestamptz[], $8::float8[], $9::timestamptz[],
				$10::bool[])
				as u (id, strength, weight, supported_at, to_strength, to_at, archives)),
		kept as (` + InsertValues + `$3::uuid, $2::timestamptz
			from memories m join u on u.id = m.memory_id where m.group_id = $1 and ` + asRead + `
				and u.to_strength <> u.strength)
		update memories m set strength = u.to_strength, decayed_at = u.to_at,
			status = case when u.archives then 'archived' else m.status end,
			ended_at = case when u.archives then $2::timestamptz else m.ended_at end,
			said_until = case when u.archives then $2::timestamptz else m.said_until end
		from u
		where m.group_id = $1 and m.memory_id = u.id and ` + asRead + `
		returning m.memory_id`

	// asRead is true of a version m that nobody has changed since it was read as u.
	asRead = `m.status = 'active' and m.strength = u.strength and m.weight = u.weight
		and m.last_supported_at = u.supported_at`

	saveStatsQuery = `update runs set stats = $3::jsonb where group_id = $1 and run_id = $2 and status = 'running'`
)

// ZeroID comes before all ids.
const ZeroID = "00000000-0000-0000-0000-000000000000"

// Upkeep reads what waits to be done in a group, memories that fade left out, in
// one snapshot. An unknown group is reverie.ErrNotFound.
func (s *Store) Upkeep(ctx context.Context, q reverie.UpkeepQuery) (reverie.Upkeep, error) {
	what := fmt.Sprintf("look what waits to be done in group %q", q.GroupID)
	return pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) (u reverie.Upkeep, err error) {
		if u.Group, err = GetGroup(ctx, t, q.GroupID); err != nil {
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

// FadingMemories returns a page of active memories that are not core, nor a team's, nor
// the narrative of dreams, and may have faded, by lineage.
func (s *Store) FadingMemories(ctx context.Context, q reverie.FadingQuery) ([]reverie.Fading, error) {
	what := fmt.Sprintf("look for memories of group %q that fade", q.GroupID)
	return pg.Lookup(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) ([]reverie.Fading, error) {
		return pg.Select[reverie.Fading](ctx, t, fadingQuery, q.GroupID, cmp.Or(q.After, ZeroID), reverie.CoreWeight,
			q.Threshold, q.Before, q.Limit, pg.OrNull(q.ClosedBy), q.DreamsBefore)
	})
}

// Fade writes what time has made of memories, with the change log's rows of those
// that are archived and the stats of their run, which it returns. A memory that
// somebody has changed since it was read is left as it is, for the next time. Once
// another holder has taken the lease the error is reverie.ErrLeaseLost, and nothing
// is written; a run that has ended is reverie.ErrConflict.
func (s *Store) Fade(ctx context.Context, lease reverie.Lease, run reverie.Run, fades []reverie.Fade) (reverie.Stats,
	[]reverie.Change, error) {
	var stats reverie.Stats
	var archived []reverie.Change
	err := s.upkeep(ctx, lease, run, "let memories fade", func(ctx context.Context,
		t *pg.Tx, _ time.Time) (reverie.Stats, error) {
		var ids pq.StringArray
		var rows pg.Columns
		for _, f := range fades {
			ids = append(ids, f.ID)
			rows.Add(f.ID, f.Strength, f.Weight, f.LastSupportedAt, f.To, f.ToAt, f.Archive)
		}
		if _, err := t.Exec(ctx, lockFadingQuery, lease.GroupID, ids); err != nil {
			return reverie.Stats{}, err
		}
		at, err := NextTimestamp(ctx, s.db, t, lease.GroupID)
		if err != nil {
			return reverie.Stats{}, err
		}
		var written []string
		if err := rows.Select(ctx, t, &written, fadeQuery, lease.GroupID, at, run.ID); err != nil {
			return reverie.Stats{}, err
		}
		stats, archived = run.Stats, nil
		for _, f := range fades {
			if !slices.Contains(written, f.ID) {
				continue
			}
			if f.Decays() {
				stats.Decayed++
			}
			if f.Archive {
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

// upkeep is a transaction of maintenance: by the lease's holder, with the stats of
// its run that fn returns.
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
			n, err := t.Exec(ctx, saveStatsQuery, lease.GroupID, run.ID, pg.JSON[any]{V: stats})
			if err == nil && n == 0 {
				err = fmt.Errorf("run %s has ended, or is not this group's: %w", run.ID, reverie.ErrConflict)
			}
			return err
		},
	}.ByID(relockLease(lease)))
}

const allGroupsQuery = `select ` + GroupColumns + `, null as first_pending, false as moved,
		exists (select 1 from setbacks s where s.group_id = g.group_id and s.job = $1) as failed
	from groups g where group_id > $2 and ($4 = '' or group_id = $4) order by group_id limit nullif($3::int, 0)`

// Upkeeps is the store as maintenance sees it: every group may be due.
type Upkeeps struct{ *Store }

// Upkeeps returns the store as maintenance sees it.
func (s *Store) Upkeeps() Upkeeps { return Upkeeps{s} }

// DueGroups lists all groups, by id: memories fade in those that are paused, too,
// so that none is said to be. A named group that does not exist is
// reverie.ErrNotFound.
func (u Upkeeps) DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error) {
	list, err := u.dueGroups(ctx, "list the groups", q, allGroupsQuery,
		[]any{string(q.Job), q.After, q.Limit, q.GroupID})
	for i := range list {
		list[i].Paused = false
	}
	return list, err
}
