package store

import (
	"context"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// A deleted lineage is one whose newest version is deprecated.
	statsKindsQuery = `with heads as (
			select distinct on (group_id, lineage_id) group_id, lineage_id, kind, status, version from memories
			where ($1 = '' or group_id = $1) order by group_id, lineage_id, version desc)
		select kind, count(*) filter (where status = 'active') as active, count(*)
			filter (where status = 'archived') as archived,
			count(*) filter (where status = 'held') as held, count(*) filter (where status = 'deprecated') as deleted,
			sum(version)::bigint as versions
		from heads group by kind order by array_position(array['group', 'session', 'dream', 'team'], kind)`

	// The last bar holds the highest value too.
	statsActiveQuery = `with active as (
			select strength, weight, created_at, updated_at, embedding_model, group_id, session_id, 'summary' = any (tags)
				and kind = 'session' as summary
			from memories where ($1 = '' or group_id = $1) and status = 'active')
		select count(*) as active, count(*) filter (where weight >= $2::float8) as core, count(*)
			filter (where strength >= $3::float8) as established,
			min(created_at) as oldest, max(updated_at) as newest,
			count(distinct (group_id, session_id)) filter (where session_id <> '') as sessions, count(*)
				filter (where summary) as summaries,
			array(select count(a.strength) from generate_series(1, $4::int) b left join active a
				on least(floor(a.strength * $4)::int + 1, $4) = b group by b order by b) as strengths,
			array(select count(a.weight) from generate_series(1, $4::int) b left join active a
				on least(floor(a.weight / $5::float8 * $4)::int + 1, $4) = b group by b order by b) as weights,
			(select count(*) from groups where ($1 = '' or group_id = $1)) as groups
		from active`

	statsModelsQuery = `select embedding_model as model, count(*) as memories from memories
		where ($1 = '' or group_id = $1) and status = 'active' group by 1 order by 1`

	statsDaysQuery = `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as date, action, count(*) as changes
		from memory_change_log
		where ($1 = '' or group_id = $1) and created_at >= $2::timestamptz group by 1, 2`

	statsUses = `with uses as (
			select group_id, lineage_id, count(*) as offered, count(*) filter (where was_referenced) as referenced,
				count(*) filter (where not was_referenced) as ignored
			from memory_usage_log where ($1 = '' or group_id = $1) group by 1, 2
			union all select group_id, lineage_id, offered, referenced, ignored
			from memory_usage_totals where ($1 = '' or group_id = $1))`

	statsUsageQuery = statsUses + ` select coalesce(sum(offered), 0)::bigint as offered, coalesce(sum(referenced),
		0)::bigint as referenced,
			coalesce(sum(ignored), 0)::bigint as ignored, (select count(*) from memories m
				where ($1 = '' or m.group_id = $1) and m.status = 'active'
					and not exists (select 1 from uses u where u.group_id = m.group_id and u.lineage_id = m.lineage_id)) as never
		from uses`

	statsMostUsedQuery = statsUses + ` select m.group_id, m.memory_id, m.statement, sum(u.offered)::bigint as offered,
		sum(u.referenced)::bigint as referenced
		from uses u join memories m on m.group_id = u.group_id and m.lineage_id = u.lineage_id and m.status = 'active'
		group by m.group_id, m.memory_id having sum(u.referenced) > 0
		order by sum(u.referenced) desc, sum(u.offered), m.memory_id limit $2::int`
)

// MemoryStats says how the memories of a group stand, or of all groups together
// where none is named, in one snapshot and six statements. A group that does not
// exist is reverie.ErrNotFound.
func (s *Store) MemoryStats(ctx context.Context, groupID string) (reverie.MemoryStats, error) {
	var st reverie.MemoryStats
	err := s.db.Run(ctx, pg.Work{What: "count memories", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		st = reverie.MemoryStats{GroupID: groupID, Kinds: []reverie.KindStats{}, Used: []reverie.MemoryUsageStats{}}
		if groupID != "" {
			if _, err := GetGroup(ctx, t, groupID); err != nil {
				return err
			}
		}
		for _, fill := range []func(context.Context, *pg.Tx, *reverie.MemoryStats) error{statsMemories, statsVectors,
			s.statsDays, statsUsage} {
			if err := fill(ctx, t, &st); err != nil {
				return err
			}
		}
		return nil
	}})
	return st, err
}

func statsMemories(ctx context.Context, t *pg.Tx, st *reverie.MemoryStats) error {
	if err := t.Select(ctx, &st.Kinds, statsKindsQuery, st.GroupID); err != nil {
		return err
	}
	for _, k := range st.Kinds {
		st.Lineages += k.Active + k.Archived + k.Held + k.Deleted
		st.Versions += k.Versions
	}
	var row struct {
		Active, Core, Established, Sessions, Summaries, Groups int
		Oldest, Newest                                         *time.Time
		Strengths, Weights                                     pq.Int64Array
	}
	if err := t.Get(ctx, &row, statsActiveQuery, st.GroupID, reverie.CoreWeight, reverie.EstablishedStrength,
		reverie.StatsBars, reverie.MaxWeight); err != nil {
		return err
	}
	st.Active, st.Core, st.Established, st.Tentative = row.Active, row.Core, row.Established, row.Active-row.Established
	st.Sessions, st.Summaries, st.Groups, st.Oldest, st.Newest = row.Sessions, row.Summaries, row.Groups,
		pg.UTC(row.Oldest), pg.UTC(row.Newest)
	for i := range reverie.StatsBars {
		st.Strength, st.Weight = append(st.Strength, int(row.Strengths[i])), append(st.Weight, int(row.Weights[i]))
	}
	return nil
}

func statsVectors(ctx context.Context, t *pg.Tx, st *reverie.MemoryStats) error {
	st.Vectors.Models = map[string]int{}
	var rows []struct {
		Model    string
		Memories int
	}
	err := t.Select(ctx, &rows, statsModelsQuery, st.GroupID)
	for _, r := range rows {
		if r.Model == "" {
			st.Vectors.Missing = r.Memories
			continue
		}
		st.Vectors.Present += r.Memories
		st.Vectors.Models[r.Model] = r.Memories
	}
	return err
}

func (s *Store) statsDays(ctx context.Context, t *pg.Tx, st *reverie.MemoryStats) error {
	first := s.db.Now().Truncate(24*time.Hour).AddDate(0, 0, 1-reverie.StatsDays)
	at := map[string]int{}
	for i := range reverie.StatsDays {
		date := first.AddDate(0, 0, i).Format(time.DateOnly)
		at[date] = i
		st.Days = append(st.Days, reverie.DayStats{Date: date})
	}
	var rows []struct {
		Date    string
		Action  reverie.Action
		Changes int
	}
	err := t.Select(ctx, &rows, statsDaysQuery, st.GroupID, first)
	for _, r := range rows {
		i, ok := at[r.Date]
		if !ok {
			continue // of a clock ahead of ours
		}
		if st.Days[i].Actions == nil {
			st.Days[i].Actions = map[reverie.Action]int{}
		}
		st.Days[i].Changes += r.Changes
		st.Days[i].Actions[r.Action] = r.Changes
	}
	return err
}

func statsUsage(ctx context.Context, t *pg.Tx, st *reverie.MemoryStats) error {
	if err := t.Get(ctx, &st.Usage, statsUsageQuery, st.GroupID); err != nil {
		return err
	}
	return t.Select(ctx, &st.Used, statsMostUsedQuery, st.GroupID, reverie.StatsUsed)
}
