package erase

import (
	"context"

	"reverie/store"
)

const (
	// Chunks that wrote, or weighed, a version of the memories $2; their answers may say in
	// other words what those say. So of the entities $2, and the claims $3.
	answeredMemories = `with told as (select memory_id from memories where group_id = $1
		and lineage_id = any ($2::uuid[])),
		chunks as (
			select run_id, chunk_no from memory_change_log where group_id = $1 and (memory_id in (select * from told)
				or old_id in (select * from told))
			union select run_id, chunk_no from decisions where group_id = $1
				and (memory_id in (select * from told) or planned_id in (select * from told) or target_id in (select *
					from told)))`

	answeredClaims = `with told as (select claim_id from entity_claims where group_id = $1
		and lineage_id = any ($3::uuid[])),
		chunks as (
			select run_id, chunk_no from entity_change_log where group_id = $1 and (entity_id = any ($2::uuid[])
				or other_id = any ($2::uuid[])
				or claim_id in (select * from told)))`

	forgetToldQuery = `,
		gone as (delete from answers a where group_id = $1 and run_id in (select run_id from chunks) returning 1),
		emptied as (update run_chunks x set answer = '', refusals = '[]', status = case when status in ('open', 'answered')
			then 'failed' else status end
			where group_id = $1 and (run_id, chunk_no) in (select run_id, chunk_no from chunks) and (answer <> ''
				or refusals <> '[]') returning 1)
		select (select count(*) from gone) as gone, (select count(*) from emptied) as emptied`
)

// forgetAnswers deletes what models answered that made the author's memories what they are.
func (e *eraser) forgetAnswers(ctx context.Context, m erasedMemories) error {
	return e.forgetTold(ctx, answeredMemories, append(store.OrEmpty(m.gone), m.mixed...))
}

func (e *eraser) forgetTold(ctx context.Context, chunks string, of ...any) error {
	var n struct{ Gone, Emptied int }
	if err := e.t.Get(ctx, &n, chunks+forgetToldQuery, append([]any{e.group}, of...)...); err != nil {
		return err
	}
	if n.Gone > 0 {
		e.counts.Deleted["answers"] += n.Gone
	}
	if n.Emptied > 0 {
		e.counts.Changed["run_chunks"] += n.Emptied
	}
	return nil
}
