package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"reverie/internal/reverie"
)

// shadowValues are what is changed of a version in place.
type shadowValues struct {
	Strength    float64
	Weight      float64
	SupportedAt time.Time  `db:"last_supported_at"`
	DecayedAt   *time.Time `db:"decayed_at"`
}

// moved is what becomes of values that a change makes of others: the same where those are
// equal, else as much of the way.
func (v shadowValues) moved(from, to shadowValues) shadowValues {
	switch {
	case v.Strength == from.Strength:
		v.Strength = to.Strength
	case to.Strength > from.Strength:
		v.Strength = 1 - (1-v.Strength)*(1-to.Strength)/(1-from.Strength)
	case to.Strength < from.Strength:
		v.Strength *= to.Strength / from.Strength
	}
	v.Weight = min(max(v.Weight+to.Weight-from.Weight, 0), reverie.MaxWeight)
	if v.Weight-to.Weight < 1e-9 && to.Weight-v.Weight < 1e-9 {
		v.Weight = to.Weight
	}
	if v.SupportedAt.Equal(from.SupportedAt) || to.SupportedAt.After(v.SupportedAt) {
		v.SupportedAt = to.SupportedAt
	}
	v.DecayedAt = to.DecayedAt
	return v
}

// The sorts of what happens to a lineage. What happens at one instant happens in this
// order: a statement is free once what made it has ended.
const (
	eventEnd = iota
	eventValues
	eventVersion
)

// carryEvent is what happened to a version of the live group, or made it.
type carryEvent struct {
	Is        int
	At        time.Time
	Action    reverie.Action
	ID        string `db:"memory_id"`
	LineageID string `db:"lineage_id"`
	Kind      string
	Hash      string `db:"content_hash"`
	Statement string
	Status    reverie.Status // after it
	EndedAt   *time.Time     `db:"ended_at"`
	BornAt    time.Time      `db:"created_at"`
	shadowValues

	BeforeID   *string        `db:"before_id"` // the version that it follows
	BeforeHash string         `db:"before_hash"`
	WasStatus  reverie.Status `db:"was_status"`

	OldStrength  float64    `db:"old_strength"`
	OldWeight    float64    `db:"old_weight"`
	OldSupported time.Time  `db:"old_supported_at"`
	OldDecayed   *time.Time `db:"old_decayed_at"`
}

func (e carryEvent) old() shadowValues {
	return shadowValues{Strength: e.OldStrength, Weight: e.OldWeight, SupportedAt: e.OldSupported, DecayedAt: e.OldDecayed}
}

const (
	// What the runs $4 did while they ran is theirs: a change of run id at an instant. What
	// a person approved of them came later.
	ownRun = `exists (select 1 from live.runs o where o.group_id = $1 and o.run_id = any ($4::uuid[]) and o.run_id = `
	ownAt  = ` and (`
	ownEnd = ` <= coalesce(o.finished_at, 'infinity')
			or not exists (select 1 from live.held_plans p where p.group_id = $1 and p.run_id = o.run_id and p.status = 'approved')))`

	eventVersionsQuery = `select 2 as is, m.updated_at as at, m.memory_id, m.lineage_id, m.kind, m.content_hash, m.statement, m.created_at,
			case when m.ended_at = m.updated_at then 'held' else 'active' end as status,
			coalesce((select c.action from live.memory_change_log c where c.group_id = $1 and c.memory_id = m.memory_id
				and c.old_id is distinct from c.memory_id order by c.created_at limit 1), 'create') as action,
			b.memory_id as before_id, coalesce(b.content_hash, '') as before_hash,
			case when b.ended_at >= m.updated_at then 'active' else coalesce(b.status, '') end as was_status,
			coalesce(v.strength, m.strength) as strength, coalesce(v.weight, m.weight) as weight,
			coalesce(v.last_supported_at, m.last_supported_at) as last_supported_at,
			case when v.value_no is null then m.decayed_at else v.decayed_at end as decayed_at,
			coalesce(b.strength, 0) as old_strength, coalesce(b.weight, 0) as old_weight,
			coalesce(b.last_supported_at, m.last_supported_at) as old_supported_at, b.decayed_at as old_decayed_at
		from live.memories m
		left join live.memories b on b.group_id = $1 and b.memory_id = m.parent_id
		left join lateral (select * from live.memory_values v where v.group_id = $1 and v.memory_id = m.memory_id
			order by v.valid_until, v.value_no limit 1) v on true
		where m.group_id = $1 and m.updated_at >= $3::timestamptz and m.updated_at < $2::timestamptz
			and not exists (select 1 from live.memory_change_log c where c.group_id = $1 and c.memory_id = m.memory_id
				and c.action in ('create', 'update') and ` + ownRun + `c.run_id` + ownAt + `c.created_at` + ownEnd + `)`

	// What ended without another version: by the change log, and what an erasure held.
	eventEndsQuery = `select 0 as is, c.created_at as at, c.action, m.memory_id, m.lineage_id, m.kind, m.content_hash, m.statement,
			case c.action when 'archive' then 'archived' else 'deprecated' end as status, m.ended_at,
			case when m.ended_at >= c.created_at - interval '1 second' then 'active' when exists (select 1 from live.memory_change_log a
				where a.group_id = $1 and a.memory_id = m.memory_id and a.action = 'archive') then 'archived' else 'held' end as was_status
		from live.memory_change_log c join live.memories m on m.group_id = $1 and m.memory_id = c.memory_id
		where c.group_id = $1 and c.created_at >= $3::timestamptz and c.created_at < $2::timestamptz
			and c.action in ('delete', 'archive', 'undo') and c.new_statement = '' and c.old_id = c.memory_id
			and not ` + ownRun + `c.run_id` + ownAt + `c.created_at` + ownEnd + `
		union all
		select 0, m.ended_at, 'hold', m.memory_id, m.lineage_id, m.kind, m.content_hash, m.statement, 'held', m.ended_at, 'active'
		from live.memories m
		where m.group_id = $1 and m.status = 'held' and m.ended_at > m.updated_at and m.ended_at >= $3 and m.ended_at < $2`

	eventValuesQuery = `with w as (
			select v.*, lead(v.value_no) over next as next_no, lead(v.strength) over next as to_strength, lead(v.weight) over next as to_weight,
				lead(v.last_supported_at) over next as to_supported, lead(v.decayed_at) over next as to_decayed
			from live.memory_values v
			where v.group_id = $1 and v.memory_id in (select n.memory_id from live.memory_values n
				where n.group_id = $1 and n.valid_until >= $3::timestamptz and n.valid_until < $2::timestamptz)
			window next as (partition by v.memory_id order by v.valid_until, v.value_no))
		select 1 as is, w.valid_until as at, 'values' as action, m.memory_id, m.lineage_id, m.kind, m.content_hash, m.statement,
			case when w.next_no is null then m.strength else w.to_strength end as strength,
			case when w.next_no is null then m.weight else w.to_weight end as weight,
			case when w.next_no is null then m.last_supported_at else w.to_supported end as last_supported_at,
			case when w.next_no is null then m.decayed_at else w.to_decayed end as decayed_at,
			w.strength as old_strength, w.weight as old_weight, w.last_supported_at as old_supported_at, w.decayed_at as old_decayed_at
		from w join live.memories m on m.group_id = $1 and m.memory_id = w.memory_id
		where w.valid_until >= $3 and w.valid_until < $2 and not ` + ownRun + `w.run_id` + ownAt + `w.valid_until` + ownEnd + `
		order by w.value_no`

	// Version $2 of the live group, in lineage $3 behind version $4.
	carryVersionQuery = `insert into memories (group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version, status, tags,
			strength, weight, content_hash, embedding, embedding_model, change_summary, run_id, created_at, updated_at, ended_at,
			last_supported_at, decayed_at)
		select group_id, memory_id, $3::uuid, $4::uuid, kind, session_id, statement, $5::int, $7, tags, $8::float8, $9::float8, content_hash,
			embedding, embedding_model, change_summary, (select r.run_id from runs r where r.group_id = $1 and r.run_id = m.run_id),
			$6::timestamptz, updated_at, case when $7 <> 'active' then updated_at end, $10::timestamptz, $11::timestamptz
		from live.memories m where group_id = $1 and memory_id = $2::uuid`
)

// events are what others did in the stretch, in its order.
func (c *carrier) events(ctx context.Context) ([]carryEvent, error) {
	var all []carryEvent
	for _, query := range []string{eventEndsQuery, eventValuesQuery, eventVersionsQuery} {
		var rows []carryEvent
		if err := c.t.Select(ctx, &rows, c.x.fromLive(query), c.group, c.to, c.from, c.except); err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	slices.SortStableFunc(all, func(a, b carryEvent) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Is, b.Is)) })
	return all, nil
}
