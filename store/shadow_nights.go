package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	nightsQuery = `select ` + runColumns + ` from runs where group_id = $1 and job = 'evolve' and status <> 'running'
			and window_since >= $2::timestamptz and window_since < $3::timestamptz
		order by started_at, run_id`

	nightChunksQuery = `select ` + chunkColumns + ` from run_chunks where group_id = $1 and run_id = any ($2::uuid[]) order by run_id, chunk_no`

	// What a person approved came after the end of the run.
	nightChangesQuery = `select c.chunk_no, c.group_id, change_id, c.run_id, action, memory_id, old_id, old_statement, new_statement,
			change_summary, version, evidence, c.created_at
		from memory_change_log c join runs r on r.group_id = c.group_id and r.run_id = c.run_id
		where c.group_id = $1 and c.run_id = any ($2::uuid[]) and (c.created_at <= r.finished_at or not exists (
			select 1 from held_plans h where h.group_id = c.group_id and h.run_id = c.run_id and h.status = 'approved'))
		order by c.created_at, c.change_id`

	// Earlier messages that were erased left no row: that there was an erasure tells.
	goneMessagesQuery = `with taken as (
			select r.run_id, r.started_at, coalesce((r.stats->>'days')::int, 0) as days, i.id
			from runs r join run_chunks c on c.group_id = $1 and c.run_id = r.run_id cross join unnest(c.message_ids) as i (id)
			where r.group_id = $1 and r.run_id = any ($2::uuid[]) and c.status in ('applied', 'held'))
		select run_id, sum(n)::int as n from (
			select t.run_id, count(*) as n from taken t where not exists (select 1 from messages m
				where m.group_id = $1 and m.message_id = t.id and m.pruned_at is null and m.filter = '') group by t.run_id
			union all
			select t.run_id, (select count(*) from messages e where e.group_id = $1 and e.pruned_at is not null and e.filter = ''
					and e.sent_at >= min(m.sent_at) - make_interval(days => t.days) and e.sent_at < min(m.sent_at))
				+ (select count(*) from erasures x where x.group_id = $1 and x.created_at > t.started_at)
			from taken t join messages m on m.group_id = $1 and m.message_id = t.id
			where t.days > 0 group by t.run_id, t.started_at, t.days) g
		group by run_id having sum(n) > 0`
)

// Nights returns the finished runs of evolve whose window begins in [from, to), oldest
// first by their start, and apart from them those that were taken back. A zero time is no
// bound. A run without chunks had nothing to do, or failed before it asked. An unknown
// group is reverie.ErrNotFound.
func (s *Store) Nights(ctx context.Context, groupID string, from, to time.Time) (nights, undone []reverie.PastNight, err error) {
	err = s.db.Run(ctx, pg.Work{What: fmt.Sprintf("read the nights of group %q", groupID), ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		nights, undone = nil, nil
		if _, err := GetGroup(ctx, t, groupID); err != nil {
			return err
		}
		runs, err := runList(ctx, t, nightsQuery, groupID, pg.OrMinusInfinity(from), pg.OrInfinity(to))
		if err != nil || len(runs) == 0 {
			return err
		}
		all, err := readNights(ctx, t, groupID, runs)
		for _, n := range all {
			if n.Run.UndoneAt != nil {
				undone = append(undone, n)
			} else {
				nights = append(nights, n)
			}
		}
		return err
	}})
	return nights, undone, err
}

// readNights completes runs with their chunks, what those changed, and what was spent.
func readNights(ctx context.Context, t *pg.Tx, groupID string, runs []reverie.Run) ([]reverie.PastNight, error) {
	ids, place := make(pq.StringArray, len(runs)), map[string]int{}
	nights := make([]reverie.PastNight, len(runs))
	for i, r := range runs {
		ids[i], place[r.ID], nights[i].Run = r.ID, i, r
	}
	var rows []chunkRow
	if err := t.Select(ctx, &rows, nightChunksQuery, groupID, ids); err != nil {
		return nil, err
	}
	for _, r := range rows {
		c, err := r.chunk()
		if err != nil {
			return nil, err
		}
		n := &nights[place[r.RunID]]
		n.Chunks = append(n.Chunks, reverie.PastChunk{Chunk: c})
	}
	var changed []struct {
		ChunkNo int `db:"chunk_no"`
		changeRow
	}
	if err := t.Select(ctx, &changed, nightChangesQuery, groupID, ids); err != nil {
		return nil, err
	}
	for _, r := range changed {
		c, err := r.change()
		if err != nil {
			return nil, err
		}
		chunks := nights[place[*r.RunID]].Chunks
		for i := range chunks {
			if chunks[i].No == r.ChunkNo {
				chunks[i].Changes = append(chunks[i].Changes, c)
			}
		}
	}
	var gone []struct {
		ID string `db:"run_id"`
		N  int    `db:"n"`
	}
	if err := t.Select(ctx, &gone, goneMessagesQuery, groupID, ids); err != nil {
		return nil, err
	}
	for _, r := range gone {
		nights[place[r.ID]].Gone = r.N
	}
	var spent []struct {
		ID string `db:"run_id"`
		reverie.Spend
	}
	err := t.Select(ctx, &spent, spendOfRunsQuery, groupID, ids)
	for _, r := range spent {
		nights[place[r.ID]].Spend = r.Spend
	}
	return nights, err
}
