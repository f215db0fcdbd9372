package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// A lineage is deleted if its newest version is deprecated.
	statsKindsQuery = `with heads as (
			select distinct on (group_id, lineage_id) group_id, lineage_id, kind, status, version from memories
			where ($1 = '' or group_id = $1) order by group_id, lineage_id, version desc)
		select kind, count(*) filter (where status = 'active') as active, count(*)
			filter (where status = 'archived') as archived,
			count(*) filter (where status = 'held') as held, count(*) filter (where status = 'deprecated') as deleted,
			sum(version)::bigint as versions
		from heads group by kind order by array_position(array['group', 'session', 'dream', 'team'], kind)`

	// The last bar includes the highest value.
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
				on least(floor(a.strength * $4)::int + 1, $4) = b group by b order by b) as strength,
			array(select count(a.weight) from generate_series(1, $4::int) b left join active a
				on least(floor(a.weight / $5::float8 * $4)::int + 1, $4) = b group by b order by b) as weight,
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
		group by m.group_id, m.memory_id, m.statement having sum(u.referenced) > 0
		order by sum(u.referenced) desc, sum(u.offered), m.memory_id limit $2::int`
)

// MemoryStats counts the memories of a group, or of all groups if none is named, in one snapshot and six statements. An
// unknown group is reverie.ErrNotFound.
func (s *Store) MemoryStats(ctx context.Context, groupID string) (reverie.MemoryStats, error) {
	what := "count memories"
	return read(ctx, s, groupID, what, func(ctx context.Context, t *pg.Tx) (st reverie.MemoryStats, err error) {
		st = reverie.MemoryStats{GroupID: groupID, Kinds: []reverie.KindStats{}, Used: []reverie.MemoryUsageStats{}}
		if groupID != "" {
			if _, err := GetGroup(ctx, t, groupID); err != nil {
				return st, err
			}
		}
		for _, fill := range []func(context.Context, *pg.Tx, *reverie.MemoryStats) error{statsMemories, statsVectors,
			s.statsDays, statsUsage} {
			if err := fill(ctx, t, &st); err != nil {
				return st, err
			}
		}
		return st, nil
	})
}

func statsMemories(ctx context.Context, t *pg.Tx, st *reverie.MemoryStats) error {
	if err := t.Select(ctx, &st.Kinds, statsKindsQuery, st.GroupID); err != nil {
		return err
	}
	for _, k := range st.Kinds {
		st.Lineages += k.Active + k.Archived + k.Held + k.Deleted
		st.Versions += k.Versions
	}
	err := t.Get(ctx, st, statsActiveQuery, st.GroupID, reverie.CoreWeight, reverie.EstablishedStrength,
		reverie.StatsBars, reverie.MaxWeight)
	st.Tentative = st.Active - st.Established
	return err
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
			continue // from a clock ahead of ours
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
	st.Used = []reverie.MemoryUsageStats{}
	return t.Select(ctx, &st.Used, statsMostUsedQuery, st.GroupID, reverie.StatsUsed)
}

const callColumns = `group_id, call_id, run_id, purpose, provider, model, input_tokens, output_tokens, cost_usd,
	latency_ms, outcome, created_at, tier, cached_tokens`

const recordCallQuery = `insert into llm_calls (` + callColumns + `)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict (group_id, call_id) do nothing`

// RecordCall writes one request to a model. It sets an empty id and time. Two calls with the same id are one row. If
// the context collects calls, it does not write the call yet.
func (s *Store) RecordCall(ctx context.Context, c reverie.Call) error {
	if c.ID == "" {
		c.ID = reverie.NewID()
	}
	if c.CreatedAt.IsZero() {
		c.CreatedAt = s.db.Now()
	}
	if c.Keep(ctx) {
		return nil
	}
	return s.db.Of(ctx, c.GroupID).Exec(ctx, fmt.Sprintf("record a call to %s", c.Model), recordCallQuery, callValues(c)...)
}

// InsertCall is [Store.RecordCall] in a transaction, for a call with its id and time.
func InsertCall(ctx context.Context, t *pg.Tx, c reverie.Call) error {
	return t.Exec(ctx, recordCallQuery, callValues(c)...)
}

func callValues(c reverie.Call) []any {
	return []any{c.GroupID, c.ID, c.RunID, c.Purpose, c.Provider, c.Model, c.InputTokens, c.OutputTokens, c.CostUSD,
		c.Latency.Milliseconds(), c.Outcome, c.CreatedAt, cmp.Or(c.Tier, "standard"), c.CachedTokens}
}

func calls(ctx context.Context, t *pg.Tx, groupID, runID string, limit int) ([]reverie.Call, error) {
	var rows []struct {
		reverie.Call
		LatencyMS int64 `db:"latency_ms"`
	}
	err := t.Select(ctx, &rows, `select `+callColumns+` from llm_calls where group_id = $1 and run_id = $2
		order by created_at, call_id limit nullif($3::int, 0)`, groupID, runID, limit)
	list := []reverie.Call{}
	for _, r := range rows {
		r.Latency = time.Duration(r.LatencyMS) * time.Millisecond
		list = append(list, r.Call)
	}
	return list, err
}

// costsQuery sums the calls by all keys in one pass, and those sums four times: in total, by day, by group, and by
// model. Of each part it returns the limit and one more row: the newest days, and the most expensive rows of the
// others.
const costsQuery = `with sums as (
		select (created_at at time zone 'UTC')::date as day, group_id, provider, model, tier, purpose, count(*)
			filter (where outcome <> 'ok') as failed,
			` + SpendColumns + `
		from llm_calls where ($1 = '' or group_id = $1) and created_at >= $2::timestamptz and created_at < $3::timestamptz
			group by 1, 2, 3, 4, 5, 6)
	select part, coalesce(to_char(day, 'YYYY-MM-DD'), '') as date, coalesce(group_id, '') as group_id,
		coalesce(provider || '/' || model, '') as model, coalesce(tier, '') as tier, coalesce(purpose, '') as purpose,
			failed, calls, input_tokens, output_tokens, cached_tokens, cost_usd, no
	from (select *, row_number() over (partition by part order by day desc nulls last, cost_usd desc,
		input_tokens + output_tokens desc,
				group_id, provider, model, tier, purpose) as no
		from (select grouping(day, group_id, model) as part, day, group_id, provider, model, tier, purpose,
				coalesce(sum(failed), 0)::bigint as failed, coalesce(sum(calls), 0)::bigint as calls, coalesce(sum(input_tokens),
					0)::bigint as input_tokens,
				coalesce(sum(output_tokens), 0)::bigint as output_tokens,
				coalesce(sum(cached_tokens), 0)::bigint as cached_tokens, coalesce(sum(cost_usd), 0) as cost_usd
			from sums group by grouping sets ((), (day), (group_id), (provider, model, tier, purpose))) s) ranked
	where no <= $4::int + 1 order by part, no`

// The parts of costsQuery, as bits: the columns by which a row is not grouped.
const (
	costDay   = 0b011
	costGroup = 0b101
	costModel = 0b110
	costTotal = 0b111
)

// Costs sums the costs of calls in [since, until), in one pass over the calls. A named group that does not exist is
// reverie.ErrNotFound. Calls of the offline model cost nothing, but are listed.
func (s *Store) Costs(ctx context.Context, q reverie.CostQuery) (reverie.CostsReply, error) {
	type row struct {
		Part, No int
		reverie.Cost
	}
	const what = "sum up what models have cost"
	rows, err := pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) ([]row, error) {
		if q.GroupID != "" {
			if _, err := GetGroup(ctx, t, q.GroupID); err != nil {
				return nil, err
			}
		}
		return pg.Select[row](ctx, t, costsQuery, q.GroupID, q.Since, q.Until, q.Limit)
	})
	reply := reverie.CostsReply{Success: true, GroupID: q.GroupID, Since: q.Since.UTC(), Until: q.Until.UTC(),
		Days: []reverie.Cost{}, Groups: []reverie.Cost{}, Models: []reverie.Cost{}}
	parts := map[int]*[]reverie.Cost{costDay: &reply.Days, costGroup: &reply.Groups, costModel: &reply.Models}
	for _, r := range rows {
		if r.Part == costTotal {
			reply.Total = r.Spend
			continue
		}
		if r.No > q.Limit {
			reply.Cut = true
			continue
		}
		*parts[r.Part] = append(*parts[r.Part], r.Cost)
	}
	slices.Reverse(reply.Days)
	return reply, err
}

// SpendColumns are the columns of reverie.Spend, summed over llm_calls.
const SpendColumns = `count(*) as calls, coalesce(sum(input_tokens), 0) as input_tokens,
	coalesce(sum(output_tokens), 0) as output_tokens, coalesce(sum(cached_tokens), 0) as cached_tokens,
	coalesce(sum(cost_usd), 0) as cost_usd`

// SpendSince sums the calls since a time over all groups, without those of the offline model and of recordings, which
// cost nothing.
func (s *Store) SpendSince(ctx context.Context, since time.Time) (reverie.Spend, error) {
	var spend reverie.Spend
	err := s.db.QueryRow(asLogin(ctx), "sum up what was spent", &spend, `select `+SpendColumns+` from llm_calls
		where created_at >= $1::timestamptz and provider not in ('offline', 'recorded')`, pg.OrMinusInfinity(since))
	return spend, err
}

// LastAsked returns the group of the last call for a purpose, "" for none. A fan-out that a budget cut short continues
// after that group.
func (s *Store) LastAsked(ctx context.Context, purpose string) (groupID string, err error) {
	err = s.db.QueryRow(asLogin(ctx), "look for the group that was worked on last", &groupID,
		`select group_id from llm_calls where purpose = $1 order by created_at desc, call_id desc limit 1`, purpose)
	return groupID, IgnoreNoRows(err)
}

const meanOutputQuery = `select coalesce(avg(output_tokens), 0)::float8 as tokens, count(*) as calls
	from (select output_tokens from llm_calls where purpose = $1 and model = $2 and outcome = 'ok'
		order by created_at desc limit 200) latest`

// MeanOutput returns the mean number of output tokens of the latest successful calls for a purpose, at most 200 of
// them, and their number. The model is named as in llm_calls, without its provider.
func (s *Store) MeanOutput(ctx context.Context, purpose, model string) (tokens float64, calls int, err error) {
	var mean struct {
		Tokens float64
		Calls  int
	}
	err = s.db.QueryRow(asLogin(ctx), fmt.Sprintf("look at earlier answers of %s", model), &mean, meanOutputQuery,
		purpose, model)
	return mean.Tokens, mean.Calls, err
}
