package history

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

const (
	evolveRunsQuery = `select r.*, s.* from (
			select ` + store.RunColumns + ` from runs where group_id = $1 and job = 'evolve' and status <> 'running'
				and window_since >= $2::timestamptz and window_since < $3::timestamptz) r
		cross join lateral (
			select ` + store.SpendColumns + ` from llm_calls c where c.group_id = $1 and c.run_id = r.run_id) s
		order by r.started_at, r.run_id`

	// What was to be judged again when run $3 asked at the time $2. This excludes rows that another run had judged by
	// then, and rows that the run itself caused.
	judgeAgainThen = `(select distinct on (lineage_id) * from (
			select group_id, lineage_id, reason, created_at, change_id, run_id, valid_until, past_no
			from past_rejudgements where group_id = $1 and valid_until >= $2::timestamptz
			union all
			select group_id, lineage_id, reason, created_at, change_id, run_id, 'infinity', null
			from rejudgements where group_id = $1) q
		order by lineage_id, valid_until, past_no) q
		where q.lineage_id = memories.lineage_id and q.created_at < $2::timestamptz
			and not exists (select 1 from memory_change_log c
				where c.group_id = $1 and c.change_id = q.change_id and c.run_id = $3::uuid)
			and (q.run_id is null or exists (select 1 from runs j, runs r where j.group_id = $1 and j.run_id = q.run_id
				and r.group_id = $1 and r.run_id = $3::uuid and j.started_at >= r.started_at))`

	// The evidence of a memory whose messages were not consumed when run $3 began.
	awaitedThen = `array(select distinct e.message_id from memory_evidence e
			join messages x on x.group_id = $1 and x.message_id = e.message_id
			join runs r on r.group_id = $1 and r.run_id = $3::uuid
			left join runs u on u.group_id = $1 and u.run_id = x.run_id
			where e.group_id = $1 and e.lineage_id = h.lineage_id and e.action <> 'delete' and e.created_at < $2::timestamptz
				and x.pruned_at is null and (u.run_id is null or u.started_at >= r.started_at)
			order by 1)`

	headsThenQuery = `select h.*, array(select distinct to_char(e.local_date, 'YYYY-MM-DD') from memory_evidence e
				where e.group_id = $1 and e.lineage_id = h.lineage_id and e.action <> 'delete' and e.created_at < $2::timestamptz
				order by 1) as support_dates,
			(select max(l.created_at) from memory_usage_log l where l.group_id = $1 and l.lineage_id = h.lineage_id
				and l.was_referenced and l.judged_at < $2::timestamptz) as used_at,
			case when h.judge_again <> '' then ` + awaitedThen + ` end as awaits from (
			select ` + store.MemoryColumns + `, coalesce((select ` + store.AgainBecause + ` from ` + judgeAgainThen + `),
				'') as judge_again
			from ` + store.VersionsThen + `$2` + store.AsThen + `
			where group_id = $1 and updated_at <= $2::timestamptz and statement <> '` + text.Erased + `'
				and (status = 'active' or ended_at > $2::timestamptz or memory_id = any ($4::uuid[]))) h
		order by h.created_at, h.lineage_id`

	// Archived at that time: ended by an archive, and neither restored nor deleted before that time.
	archivedThenQuery = `select ` + store.MemoryColumns + ` from memories m
		where group_id = $1 and kind = 'group' and ended_at <= $2::timestamptz and statement <> '` + text.Erased + `'
			and exists (select 1 from memory_change_log c where c.group_id = $1 and c.memory_id = m.memory_id
				and c.action = 'archive' and c.created_at <= $2::timestamptz)
			and not exists (select 1 from memory_change_log c where c.group_id = $1 and c.memory_id = m.memory_id
				and c.action in ('delete', 'undo') and c.created_at <= $2::timestamptz)
			and not exists (select 1 from memories n where n.group_id = $1 and n.parent_id = m.memory_id
				and n.updated_at <= $2::timestamptz)
		order by last_supported_at desc, lineage_id`

	chunkMessagesQuery = `select ` + store.MessageColumns + ` from messages
		where group_id = $1 and message_id = any ($2::text[]) and pruned_at is null and filter = '' order by sent_at, seq`

	contextThenQuery = `select ` + store.MessageColumns + ` from (
			select m.* from messages m
			where m.group_id = $1 and m.pruned_at is null and m.sent_at >= $4::timestamptz and m.sent_at < $5::timestamptz
				and exists (select 1 from run_chunks c where c.group_id = $1 and c.run_id = m.run_id
					and m.message_id = any (c.message_ids) and c.created_at < $2::timestamptz and c.status in ('applied', 'held'))
				and m.message_id <> all ($3::text[])
			order by m.sent_at desc, m.seq desc limit $6) newest
		order by sent_at, seq`
)

// EvolveRuns returns the finished runs of evolve whose window begins in [from, to), with their costs, ordered by start.
// An unknown group is reverie.ErrNotFound.
func (h *History) EvolveRuns(ctx context.Context, groupID string, from, to time.Time) ([]reverie.RunEntry,
	error) {
	what := fmt.Sprintf("read the runs of group %q", groupID)
	return pg.Read(ctx, h.db, what, func(ctx context.Context, t *pg.Tx) ([]reverie.RunEntry, error) {
		if _, err := store.GetGroup(ctx, t, groupID); err != nil {
			return nil, err
		}
		return store.RunEntries(ctx, t, evolveRunsQuery, groupID, pg.OrMinusInfinity(from), pg.OrInfinity(to))
	})
}

// PastState returns a group as a chunk of evolve found it at an instant. It contains the active memories, the held ones
// that the chunk was shown, those to be judged again, and the archived ones. The messages of the chunk that still have
// a text are pending. What was erased since is missing.
func (h *History) PastState(ctx context.Context, q reverie.PastQuery) (reverie.State, error) {
	what := fmt.Sprintf("read group %q as it was", q.GroupID)
	return pg.Read(ctx, h.db, what, func(ctx context.Context, t *pg.Tx) (state reverie.State, err error) {
		if state.Group, err = store.GetGroup(ctx, t, q.GroupID); err != nil {
			return state, err
		}
		shown := append(pq.StringArray{}, q.MemoryIDs...)
		heads, err := pg.Select[reverie.HeadState](ctx, t, headsThenQuery, q.GroupID, q.At, q.RunID, shown)
		if err != nil {
			return state, err
		}
		placeHeads(&state, heads, q.At)
		if state.Archived, err = pg.Select[reverie.HeadState](ctx, t, archivedThenQuery, q.GroupID, q.At); err != nil {
			return state, err
		}
		for i := range state.Archived {
			state.Archived[i].Status = reverie.StatusArchived
		}
		if state.Nights, err = store.ActiveNights(ctx, t, q.GroupID); err != nil {
			return state, err
		}
		return state, pastMessages(ctx, t, q, &state)
	})
}

// placeHeads separates the active heads of kind group from the other heads to be judged again.
func placeHeads(state *reverie.State, rows []reverie.HeadState, at time.Time) {
	said := map[reverie.Kind][]string{} // texts of active memories
	judged := map[reverie.Kind]bool{}
	for _, h := range rows {
		h.Status = reverie.StatusActive
		if h.EndedAt != nil && !h.EndedAt.After(at) {
			h.Status = reverie.StatusHeld
		} else {
			said[h.Kind] = append(said[h.Kind], h.Text())
		}
		switch {
		case h.Kind == reverie.KindGroup && !h.Held():
			state.Heads = append(state.Heads, h)
		case h.JudgeAgain != "":
			state.Again = append(state.Again, h)
			judged[h.Kind] = true
		}
	}
	for kind := range judged {
		if kind == reverie.KindGroup {
			continue
		}
		if state.Taken == nil {
			state.Taken = map[string]bool{}
		}
		for _, text := range said[kind] {
			state.Taken[text] = true
		}
	}
}

// pastMessages reads the messages that a chunk consumed, and those that it showed as context.
func pastMessages(ctx context.Context, t *pg.Tx, q reverie.PastQuery, state *reverie.State) error {
	ids := append(pq.StringArray{}, q.MessageIDs...)
	if err := t.Select(ctx, &state.Pending, chunkMessagesQuery, q.GroupID, ids); err != nil {
		return err
	}
	if q.Days == 0 || len(state.Pending) == 0 {
		return nil
	}
	since := state.Pending[0].SentAt.AddDate(0, 0, -q.Days)
	err := t.Select(ctx, &state.Context, contextThenQuery, q.GroupID, q.At, ids, since, pg.OrInfinity(q.Until),
		q.ContextLimit)
	return err
}
