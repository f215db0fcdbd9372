package erase

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// settleErasedRunsQuery ends the wait of runs of which no plan waits any more.
const settleErasedRunsQuery = `update runs r set status = case when exists (select 1 from held_plans h
		where h.group_id = r.group_id and h.run_id = r.run_id and h.status = 'approved') then 'succeeded' else 'rejected'
			end
	where r.group_id = $1 and r.run_id = any ($2::uuid[]) and r.status = 'held'
		and not exists (select 1 from held_plans h where h.group_id = r.group_id and h.run_id = r.run_id
			and h.status = 'waiting')`

// forgetPlans takes those lines out of held plans that rest on the author, in part or
// whole, or on a memory that is gone. A plan that waited and has none left is rejected.
func (e *eraser) forgetPlans(ctx context.Context) error {
	var rows []struct {
		RunID   string `db:"run_id"`
		ChunkNo int    `db:"chunk_no"`
		Plan    []byte
		Status  string
	}
	if err := e.t.Select(ctx, &rows, `select run_id, chunk_no, plan, status from held_plans where group_id = $1
		order by run_id, chunk_no`, e.group); err != nil {
		return err
	}
	var runs, planned pq.StringArray
	for _, r := range rows {
		var steps, kept []reverie.Step
		if err := json.Unmarshal(r.Plan, &steps); err != nil {
			return fmt.Errorf("read what chunk %d of run %s holds: %w", r.ChunkNo, r.RunID, err)
		}
		heads := []reverie.Head{}
		for _, st := range steps {
			if e.restsOnAuthor(st) {
				planned = append(planned, st.MemoryID)
				continue
			}
			if kept = append(kept, st); st.Action != reverie.ActionCreate {
				heads = append(heads, st.Head)
			}
		}
		if len(kept) == len(steps) {
			continue
		}
		if len(kept) == 0 {
			kept, runs = []reverie.Step{}, append(runs, r.RunID)
		}
		plan, err := pg.JSONText(kept)
		if err != nil {
			return err
		}
		headList, err := pg.JSONText(heads)
		if err != nil {
			return err
		}
		if err := e.changed(ctx, "held_plans", `plan = $4::jsonb, heads = $5::jsonb,
				status = case when status = 'waiting' and $6 then 'rejected' else status end
			where group_id = $1 and run_id = $2 and chunk_no =
				$3`, r.RunID, r.ChunkNo, plan, headList, len(kept) == 0); err != nil {
			return err
		}
	}
	if _, err := e.t.Exec(ctx, settleErasedRunsQuery, e.group, runs); err != nil {
		return err
	}
	planned = distinct(planned)
	return e.deleted(ctx, "decisions", `(planned_id::text = any ($2::text[]) or memory_id is null and planned_id is null
		and action in ('SKIP', 'HOLD')
		and exists (select 1 from run_chunks c where c.group_id = x.group_id and c.run_id = x.run_id
			and c.chunk_no = x.chunk_no and c.message_ids && $3::text[]))`,
		store.OrEmpty(planned), e.messages)
}

// restsOnAuthor tells whether a step cites the author, or rests on a memory that is gone.
func (e *eraser) restsOnAuthor(st reverie.Step) bool {
	if e.gone[st.LineageID] || e.gone[st.Head.MemoryID] || e.gone[st.Replaces] {
		return true
	}
	for _, v := range st.Evidence {
		if e.theirs[v.MessageID] || v.AuthorID == e.query.AuthorID {
			return true
		}
	}
	for _, s := range st.Sources {
		if e.gone[s.LineageID] {
			return true
		}
	}
	return false
}
