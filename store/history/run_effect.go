package history

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// runEffectsQuery is what a run did by itself, without what a person approved later.
const runEffectsQuery = `
	with did as (
		select coalesce(l.chunk_no, 0) as chunk_no, l.action, m.lineage_id, l.memory_id, l.old_statement, l.new_statement,
			l.created_at
		from memory_change_log l join memories m on m.group_id = $1 and m.memory_id = l.memory_id
		where l.group_id = $1 and l.run_id = $2
		union all
		select distinct 0, e.action, e.lineage_id, e.memory_id, m.statement, m.statement, e.created_at
		from memory_evidence e join memories m on m.group_id = $1 and m.memory_id = e.memory_id
		where e.group_id = $1 and e.run_id = $2 and e.action = 'keep'),
	approved as (
		select st->>'action' as action, coalesce(nullif(st->>'memory_id', ''), st->'head'->>'memory_id') as memory_id
		from held_plans h cross join lateral jsonb_array_elements(h.plan) st
		where h.group_id = $1 and h.run_id = $2 and h.status = 'approved')
	select d.* from did d join runs r on r.group_id = $1 and r.run_id = $2
	where d.created_at <= coalesce(r.finished_at, 'infinity')
		and not exists (select 1 from approved a where a.action = d.action and a.memory_id = d.memory_id::text)
	order by d.created_at, d.chunk_no, d.action, d.lineage_id`

// RunEffects returns what a run did to memories when it ran, in order. An unknown run has no effects.
func (h *History) RunEffects(ctx context.Context, groupID, runID string) ([]reverie.RunEffect, error) {
	return pg.QueryAll[reverie.RunEffect](ctx, h.db, fmt.Sprintf("read what run %s did", runID), runEffectsQuery,
		groupID, runID)
}
