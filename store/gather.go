package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// headColumns are the columns of reverie.HeadState, for memories m.
	headColumns = MemoryColumns + `, array(
			select distinct to_char(e.local_date, 'YYYY-MM-DD') from memory_evidence e
			where e.group_id = $1 and e.lineage_id = m.lineage_id and e.action <> 'delete' and e.withdrawn_at is null
			order by 1) as support_dates`

	// usedAt is when an answer last used a memory m, null for never.
	usedAt = `greatest((select max(l.created_at) from memory_usage_log l
			where l.group_id = $1 and l.lineage_id = m.lineage_id and l.was_referenced),
		(select t.last_used_at from memory_usage_totals t where t.group_id = $1 and t.lineage_id = m.lineage_id))`

	// nights are the newest active nights of group $1. They suffice, because no memory becomes stale only after more.
	nights = `array(select to_char(night, 'YYYY-MM-DD') from (select night from active_nights where group_id = $1
		order by night desc limit 1000) n order by night)`

	nightsQuery = `select ` + GroupColumns + `, ` + nights + ` as nights from groups where group_id = $1`

	// archivedOf and newestArchived select the newest archived heads of a kind, which new facts may make active again.
	archivedOf     = ` in (select memory_id from memories where group_id = $1 and kind = `
	newestArchived = ` and status = 'archived' order by last_supported_at desc, lineage_id limit 200)`

	// A memory that this run has queued is left to the next run.
	waitsFor = `q.run_id is null and not exists (select 1 from memory_change_log c
				where c.group_id = $1 and c.change_id = q.change_id and c.run_id::text = $3)`

	// heldLines has, for each version of group $1, the run with a pending plan for it. It also has the steps that a
	// person has rejected since the newest evidence of the version. Undoing a run is no decision on its held steps.
	heldLines = `held as materialized (
			select s -> 'head' ->> 'memory_id' as memory_id, max(h.run_id::text) filter (where h.status = 'waiting') as waits,
				array_agg(concat_ws(' ', s ->> 'action', s ->> 'content_hash')) filter (where h.status = 'rejected') as rejected
			from held_plans h join runs r on r.group_id = $1 and r.run_id = h.run_id
				cross join lateral jsonb_array_elements(h.plan) s
			where h.group_id = $1 and s ? 'head' and (h.status = 'waiting' or h.status = 'rejected' and r.undone_at is null
				and not exists (select 1 from memory_evidence e where e.group_id = $1 and e.withdrawn_at is null
					and e.lineage_id = (s ->> 'lineage_id')::uuid and e.created_at > coalesce(r.finished_at, h.created_at)))
			group by 1)`
	heldColumns = `coalesce((select w.waits from held w where w.memory_id = m.memory_id::text), '') as waits,
			coalesce((select w.rejected from held w where w.memory_id = m.memory_id::text), '{}') as rejected`

	// Usually a group has no held or rejected plans, and no memory to be judged again. Then the plain query is used:
	// PostgreSQL also sets up the parts of a query that it never runs.
	undecidedQuery = `select exists (select 1 from held_plans where group_id = $1 and status in ('waiting', 'rejected'))
		or exists (select 1 from rejudgements where group_id = $1 and run_id is null)`

	plainHeadsQuery = `select ` + headColumns + `, ` + usedAt + ` as used_at from (
			select m.* from memories m where m.group_id = $1 and m.kind = $2 and m.status = 'active'
			union all
			select m.* from memories m where m.group_id = $1 and m.memory_id` + archivedOf + `$2` + newestArchived + `) m
		order by created_at, lineage_id`

	// The heads of the kind, and all other memories to be judged again, which are few or none. Their pending messages
	// are looked up for all of them at once, and only if any memory is queued. Withdrawn evidence counts too, and no
	// index has that by lineage.
	headsQuery = `with ` + heldLines + `, awaited as materialized (
			select e.lineage_id, array_agg(distinct x.message_id order by x.message_id) as ids
			from messages x join memory_evidence e on e.group_id = $1 and e.message_id = x.message_id
			where x.group_id = $1 and x.run_id is null and x.outcome is null and x.pruned_at is null and e.action <> 'delete'
				and exists (select 1 from rejudgements q where q.group_id = $1 and q.run_id is null)
			group by e.lineage_id)
		select ` + headColumns + `, ` + usedAt + ` as used_at, coalesce(reason, '') as judge_again,
			` + heldColumns + `,
			case when reason is not null then (select a.ids from awaited a where a.lineage_id = m.lineage_id) end as awaits
		from (
			select m.*, case when q.lineage_id is not null then ` + AgainBecause + ` end as reason from memories m
			left join rejudgements q on q.group_id = $1 and q.lineage_id = m.lineage_id and ` + waitsFor + `
			where m.group_id = $1 and m.kind = $2 and m.status = 'active'
			union all
			select m.*, null from memories m where m.group_id = $1 and m.memory_id` + archivedOf + `$2` + newestArchived + `
			union all
			select m.*, ` + AgainBecause + ` as reason from rejudgements q
			join memories m on m.group_id = $1 and m.lineage_id = q.lineage_id
			where q.group_id = $1 and ` + waitsFor + ` and (m.status = 'held' or m.status = 'active' and m.kind <> $2)) m
		order by created_at, lineage_id`

	saidQuery = `select kind, content_hash from memories where group_id = $1 and kind = any ($2::text[])
		and status = 'active'`

	pendingWhere = ` from messages where group_id = $1 and run_id is null and outcome is null
		and sent_at >= $2::timestamptz and sent_at < $3::timestamptz`

	pendingQuery = `select ` + MessageColumns + pendingWhere + ` order by sent_at, seq limit $4 offset $5`

	chosenQuery = `select ` + MessageColumns + pendingWhere + ` and message_id = any ($4::text[]) order by sent_at, seq`

	moreQuery = `select exists (select 1` + pendingWhere + ` and message_id <> all ($4::text[]))`

	contextQuery = `select ` + MessageColumns + ` from (
			select ` + MessageColumns + `, seq from messages
			where group_id = $1 and run_id is not null and pruned_at is null and sent_at >= $2::timestamptz
				and sent_at < $3::timestamptz
			order by sent_at desc, seq desc limit $4) newest
		order by sent_at, seq`
)

// Gather reads what one chunk needs, in one snapshot. It takes one round trip, or up to three if memories must be
// judged again. A zero Until is no bound. An unknown group is reverie.ErrNotFound.
func (s *Store) Gather(ctx context.Context, q reverie.GatherQuery) (reverie.State, error) {
	what := fmt.Sprintf("gather group %q", q.GroupID)
	return lookup(ctx, s, q.GroupID, what, func(ctx context.Context, t *pg.Tx) (state reverie.State, err error) {
		groupNights(ctx, t, q.GroupID, &state.Group, &state.Nights)
		pending(ctx, t, q, &state)
		if !q.ContextSince.IsZero() && q.ContextLimit > 0 {
			t.AskAll(ctx, &state.Context, contextQuery, q.GroupID, q.ContextSince, pg.OrInfinity(q.Until), q.ContextLimit)
		}
		var heads []reverie.HeadState
		var undecided bool
		t.Ask(ctx, &undecided, undecidedQuery, q.GroupID)
		t.AskAll(ctx, &heads, plainHeadsQuery, q.GroupID, string(q.Kind))
		if err = t.ReadAsked(); err == nil && undecided {
			heads = nil
			err = t.Select(ctx, &heads, headsQuery, q.GroupID, string(q.Kind), q.RunID)
		}
		if err == nil {
			err = divide(ctx, t, q, heads, &state)
		}
		return state, err
	})
}

// groupNights queues the query for a group and its active nights.
func groupNights(ctx context.Context, t *pg.Tx, groupID string, group *reverie.Group, nights *[]string) *pg.Asked {
	var row struct {
		reverie.Group
		Nights pq.StringArray
	}
	return t.Ask(ctx, &row, nightsQuery, groupID).Then(func(err error) error {
		*group, *nights = row.Group, row.Nights
		return pg.NotFoundIfEmpty(err, "group %q", groupID)
	})
}

// divide separates the heads of the kind from other memories to be judged again.
func divide(ctx context.Context, t *pg.Tx, q reverie.GatherQuery, all []reverie.HeadState, state *reverie.State) error {
	var others pq.StringArray
	for _, h := range all {
		if h.Status == reverie.StatusArchived {
			state.Archived = append(state.Archived, h)
			continue
		}
		if h.Kind == q.Kind && !h.Held() {
			state.Heads = append(state.Heads, h)
			continue
		}
		state.Again = append(state.Again, h)
		if h.Kind != q.Kind && !slices.Contains(others, string(h.Kind)) {
			others = append(others, string(h.Kind))
		}
	}
	if len(others) == 0 {
		return nil
	}
	var taken []reverie.Memory
	if err := t.Select(ctx, &taken, saidQuery, q.GroupID, others); err != nil {
		return err
	}
	state.Taken = make(map[string]bool, len(taken))
	for _, m := range taken {
		state.Taken[m.Text()] = true
	}
	return nil
}

// pending queues the query for the oldest messages of the window and whether there are more, or for those that are
// named.
func pending(ctx context.Context, t *pg.Tx, q reverie.GatherQuery, state *reverie.State) {
	since, until, named := pg.OrMinusInfinity(q.Since), pg.OrInfinity(q.Until), pq.StringArray(q.MessageIDs)
	if len(named) > 0 {
		t.AskAll(ctx, &state.Pending, chosenQuery, q.GroupID, since, until, named)
		t.Ask(ctx, &state.More, moreQuery, q.GroupID, since, until, named)
		return
	}
	limit := max(q.Limit, 0)
	t.AskAll(ctx, &state.Pending, pendingQuery, q.GroupID, since, until, limit+1, q.Skip).Then(func(err error) error {
		state.More = len(state.Pending) > limit
		state.Pending = state.Pending[:min(limit, len(state.Pending))]
		return err
	})
}

// ActiveNights returns the newest dates on which a group talked, sorted.
func ActiveNights(ctx context.Context, t *pg.Tx, groupID string) ([]string, error) {
	list, err := pg.Get[pq.StringArray](ctx, t, `select `+nights, groupID)
	return list, err
}

// Talk stores the dates on which a group talked, for a chat that is not stored.
func (s *Store) Talk(ctx context.Context, groupID string, dates []string) error {
	what := fmt.Sprintf("write when group %q talked", groupID)
	return s.db.Run(ctx, pg.Work{What: what, Do: func(ctx context.Context, t *pg.Tx) error {
		return t.Exec(ctx, `insert into active_nights (group_id, night) select $1, unnest($2::date[])
			on conflict (group_id, night) do nothing`, groupID, pq.StringArray(dates))
	}})
}
