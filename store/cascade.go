package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	// AgainBecause is the reason of a row q of rejudgements, with the statements of the change that caused it, unless
	// those are erased.
	AgainBecause = `(q.reason || coalesce((select ': “' || left(c.old_statement, 100) || case
		when char_length(c.old_statement) > 100 then '…' else '' end || '”'
			|| case when c.new_statement = '' then '' else ' -> “' || left(c.new_statement, 100) || case
				when char_length(c.new_statement) > 100 then '…' else '' end || '”' end
		from memory_change_log c where c.group_id = $1 and c.change_id = q.change_id
			and '` + text.Erased + `' not in (c.old_statement, c.new_statement)), ''))`

	// Delete the rows of rejudgements that a change has caused which is now undone. It returns the time from which
	// another change may be a reason: see stillQuery.
	calmQuery = `with q as (delete from rejudgements q using memory_change_log c, memories o, memories h
		where q.group_id = $1 and q.run_id is null and c.group_id = $1 and c.change_id = q.change_id
			and o.group_id = $1 and o.memory_id = c.old_id
			and o.lineage_id in (select m.lineage_id from memory_change_log u join memories m on m.group_id = $1
				and m.memory_id = u.memory_id
				where u.group_id = $1 and u.change_id = any ($2::uuid[]))
			and h.group_id = $1 and h.lineage_id = o.lineage_id and h.status = 'active' and h.content_hash = o.content_hash
			returning q.*, c.created_at as since),
		kept as (` + KeptJudgements + `$3::timestamptz from q)
		select lineage_id, since from q`

	// The causes of a change c: versions o whose statement their lineages no longer have.
	causesWhere = `join memories o on o.group_id = $1 and o.memory_id = c.old_id
		left join memories n on n.group_id = $1 and n.lineage_id = o.lineage_id and n.status = 'active'
		where o.content_hash is distinct from n.content_hash and o.kind <> 'team'`
)

// befallen says what happened to the cause c. The reasons are fixed texts without words of users: see
// [reverie.JudgeReasonChinese].
const befallen = `case c.action when 'delete' then '` + reverie.WasDeleted + `' when 'undo'
	then '` + reverie.WasUndone + `' else '` + reverie.WasUpdated + `' end`

// Queue the memories that depend on a change. Their source has another statement now, or, for changes marked shared, a
// message is evidence of both. The sources of a version count as long as its lineage has the same statement. Summaries
// are left out on both sides: they are rewritten by each extraction or dream, and nobody judges them. A queued memory
// keeps its first reason. A memory that was held for an erasure keeps that mark when it is active again. Each step uses
// index probes, as in sourcesQuery.
var cascadeQuery = `with causes as materialized (
		select u.no, c.change_id, c.action, c.run_id, c.created_at, o.memory_id, o.lineage_id, n.content_hash as says,
			u.shared and o.kind <> 'dream' as shared
		from unnest($4::uuid[], $5::bool[]) with ordinality as u (id, shared, no)
		join memory_change_log c on c.group_id = $1 and c.change_id = u.id
		` + causesWhere + ` and not (n.memory_id is not null and ` + summaryOf("o") + `)),
	` + resting + ` and f.lineage_id <> all ($2::uuid[]) offset 0) f
		cross join lateral (` + saidStill("f.memory_id") + `) h
		where c.shared),
	kept as (` + KeptJudgements + `$3::timestamptz from rejudgements q
		where q.group_id = $1 and q.lineage_id in (select lineage_id from resting) and q.run_id is not null and not q.held),
	queued as (insert into rejudgements as q (group_id, lineage_id, memory_id, reason, created_at, change_id)
	select distinct on (lineage_id) $1, lineage_id, memory_id, reason, $3::timestamptz, change_id
	from resting where lineage_id not in (select lineage_id from causes)
	order by lineage_id, rank, no
	on conflict (group_id, lineage_id) do update set memory_id = excluded.memory_id, reason = excluded.reason,
		created_at = excluded.created_at, change_id = excluded.change_id, run_id = null
	where q.run_id is not null and not q.held returning 1)
	select from queued`

// For memories that were queued by an undone change: queue them by the first later change that also is a reason. The
// rules are those of cascadeQuery. What the plans of those changes wrote and judged is read from the tables.
var stillQuery = `with calm as (select * from unnest($3::uuid[], $4::timestamptz[]) as u (lineage_id, since)),
	causes as materialized (
		select row_number() over (order by c.created_at, c.change_id) as no, c.change_id, c.action, c.run_id, c.created_at,
			o.memory_id, o.lineage_id,
			n.content_hash as says, c.action <> 'undo' and o.kind <> 'dream' and not exists (
				select 1 from rejudgements k where k.group_id = $1 and k.lineage_id = o.lineage_id and k.run_id = c.run_id
				union all select 1 from past_rejudgements k where k.group_id = $1 and k.lineage_id = o.lineage_id
					and k.run_id = c.run_id) as shared
		from memory_change_log c
		` + causesWhere + ` and not (n.memory_id is not null and ` + summaryOf("o") + `)
			and c.group_id = $1 and c.created_at >= (select min(since) from calm) and c.action in ('update', 'delete',
				'undo')),
	` + resting + ` and f.lineage_id in (select lineage_id from calm)
			and not exists (select 1 from memory_evidence w where w.group_id = $1 and w.lineage_id = f.lineage_id
				and w.run_id = c.run_id and w.created_at = c.created_at) offset 0) f
		cross join lateral (` + saidStill("f.memory_id") + `) h
		where c.shared),
	queued as (insert into rejudgements (group_id, lineage_id, memory_id, reason, created_at, change_id)
	select distinct on (r.lineage_id) $1, r.lineage_id, r.memory_id, r.reason, $2::timestamptz, r.change_id
	from resting r join calm q on q.lineage_id = r.lineage_id join causes c on c.change_id = r.change_id
		and c.created_at >= q.since
	where not exists (select 1 from causes k where k.lineage_id = r.lineage_id and k.created_at = c.created_at)
	order by r.lineage_id, r.no, r.rank
	on conflict (group_id, lineage_id) do nothing returning 1)
	select from queued`

// resting begins the query for memories that depend on causes c. The caller appends the condition on evidence f of the
// same messages.
var resting = `resting as (
		select 1 as rank, c.no, c.change_id, h.lineage_id, h.memory_id,
			'` + reverie.RestsOnMemory + `' || ` + befallen + ` as reason
		from causes c
		cross join lateral (select s.memory_id, s.source_id, s.run_id from memory_sources s
			where s.group_id = $1 and s.source_lineage_id = c.lineage_id offset 0) s
		cross join lateral (select w.content_hash from memories w where w.group_id = $1
			and w.memory_id = s.source_id offset 0) w
		cross join lateral (` + saidStill("s.memory_id") + `) h
		where w.content_hash is distinct from c.says
			and (select r.undone_at from runs r where r.group_id = $1 and r.run_id = s.run_id) is null
		union all
		select 2, c.no, c.change_id, h.lineage_id, h.memory_id, '` + reverie.RestsOnMessages + `' || ` + befallen + `
		from causes c
		cross join lateral (select distinct e.message_id from memory_evidence e where e.group_id = $1
			and e.lineage_id = c.lineage_id
			and e.memory_id = c.memory_id and e.action <> 'delete' and e.withdrawn_at is null offset 0) e
		cross join lateral (select f.memory_id from memory_evidence f where f.group_id = $1 and f.message_id = e.message_id
			and f.action <> 'delete' and f.withdrawn_at is null`

// summaryOf is true of a memory that is the summary of a session, or a narrative.
func summaryOf(m string) string {
	return `(` + m + `.kind in ('session', 'dream') and ` + m + `.tags @> array['` + reverie.TagSummary + `'])`
}

// saidStill returns the active head of a version's lineage if it has the same statement and can be judged.
func saidStill(version string) string {
	return `select h.lineage_id, h.memory_id from memories v join memories h on h.group_id = $1
		and h.lineage_id = v.lineage_id
		where v.group_id = $1 and v.memory_id = ` + version + ` and h.status = 'active' and h.kind <> 'team'
			and h.content_hash = v.content_hash and not ` + summaryOf("h") + ` offset 0`
}

// Cascade queues memories that depend on changed ones, for the next run of evolve to judge again, and returns their
// number. The changes and their versions must be written already. The steps are those of the plan that made the
// changes, if any.
//
// A lineage that the steps write or support is not queued for a message that it shares with a changed memory. A change
// that itself comes from judging only queues memories made of the changed one. So two memories never queue each other
// in turn. An undo also queues dependent memories. An undo or a restore removes memories that were queued by the change
// it reverts, unless another change is a reason.
func Cascade(ctx context.Context, t *pg.Tx, groupID string, changes []reverie.Change, steps []reverie.Step,
	at time.Time) (int, error) {
	judged, written := map[string]bool{}, pq.StringArray{}
	for _, st := range steps {
		judged[Evidenced(st)] = st.Judged != ""
		written = append(written, st.LineageID)
	}
	var back pq.StringArray
	var causes pg.Columns
	for _, c := range changes {
		switch c.Action {
		case reverie.ActionUndo:
			back = append(back, c.ID)
			causes.Add(c.ID, false)
		case reverie.ActionRestore:
			back = append(back, c.ID)
		case reverie.ActionUpdate, reverie.ActionDelete:
			causes.Add(c.ID, !judged[c.MemoryID])
		}
	}
	if len(back) > 0 {
		if err := calm(ctx, t, groupID, back, at); err != nil {
			return 0, err
		}
	}
	return causes.ExecRows(ctx, t, cascadeQuery, groupID, written, at)
}

// calm removes memories from the queue that a reverted change has queued, or queues them by the next reason.
func calm(ctx context.Context, t *pg.Tx, groupID string, back pq.StringArray, at time.Time) error {
	var rows []struct {
		LineageID string    `db:"lineage_id"`
		Since     time.Time `db:"since"`
	}
	if err := t.Select(ctx, &rows, calmQuery, groupID, back, at); err != nil {
		return err
	}
	var waited pg.Columns
	for _, r := range rows {
		waited.Add(r.LineageID, r.Since)
	}
	_, err := waited.ExecRows(ctx, t, stillQuery, groupID, at)
	return err
}

const (
	// KeptJudgements begins an insert that stores rows q of rejudgements before they are changed or deleted. The caller
	// appends the time and the source of the rows.
	KeptJudgements = `insert into past_rejudgements (group_id, lineage_id, memory_id, reason, created_at, change_id,
		run_id, held, valid_until)
		select q.group_id, q.lineage_id, q.memory_id, q.reason, q.created_at, q.change_id, q.run_id, q.held, `

	queueJudgementsQuery = `with kept as (` + KeptJudgements + `$4::timestamptz from rejudgements q where group_id = $1
		and lineage_id = any ($2::uuid[])),
		queued as (insert into rejudgements (group_id, lineage_id, memory_id, reason, created_at)
		select group_id, lineage_id, memory_id, $3, $4::timestamptz from memories m
		where group_id = $1 and lineage_id = any ($2::uuid[]) and status in ('active', 'held')
			and not exists (select 1 from memories n where n.group_id = $1 and n.lineage_id = m.lineage_id
				and n.version > m.version)
		on conflict (group_id, lineage_id) do update set
			memory_id = excluded.memory_id, reason = excluded.reason, created_at = excluded.created_at, change_id = null,
				run_id = null, held = false returning 1)
		select from queued`

	judgedQuery = `update rejudgements q set run_id = $2::uuid, held = u.held
		from unnest($3::uuid[], $4::bool[]) as u (lineage_id, held)
		where q.group_id = $1 and q.lineage_id = u.lineage_id and q.run_id is null`

	// What undone runs have judged must be judged again, unless its text is erased by now.
	JudgeAnewQuery = `with kept as (` + KeptJudgements + `$4::timestamptz from rejudgements q where group_id = $1
		and run_id = any ($2::uuid[]))
		update rejudgements q set run_id = null where group_id = $1 and run_id = any ($2::uuid[])
			and exists (select 1 from memories m where m.group_id = $1 and m.lineage_id = q.lineage_id
				and m.statement <> '` + text.Erased + `' and (m.run_id is null or m.run_id <> all ($2::uuid[])))
			and lineage_id <> all ($3::uuid[])`

	// A person's decision on a memory removes it from the queue.
	decidedByPersonQuery = `with q as (delete from rejudgements where group_id = $1 and lineage_id = $2 returning *),
		kept as (` + KeptJudgements + `$3::timestamptz from q) select 1`
)

// QueueJudgements queues memories, by lineage, for the next run of evolve to judge again. It returns the number of
// those with an active or held head. The reason is shown to the model, and to users who ask about the memory.
func QueueJudgements(ctx context.Context, t *pg.Tx, groupID string, lineageIDs []string, reason string,
	at time.Time) (int, error) {
	return t.ExecRows(ctx, queueJudgementsQuery, groupID, pq.StringArray(lineageIDs), reason, at)
}

const judgeAgainQuery = `select m.memory_id, ` + AgainBecause + ` as judge_again
	from memories m join rejudgements q on q.group_id = $1 and q.lineage_id = m.lineage_id and q.run_id is null
	where m.group_id = $1 and m.memory_id = any ($2::uuid[]) and m.status in ('active', 'held')`

// JudgeAgain returns which of a group's memories the next run of evolve will judge again, with the reasons, by id.
func (s *Store) JudgeAgain(ctx context.Context, groupID string, memoryIDs []string) (map[string]string, error) {
	rows, err := pg.QueryAll[reverie.Memory](ctx, s.db.Of(ctx, groupID),
		fmt.Sprintf("see what of group %q is judged again", groupID), judgeAgainQuery, groupID, pq.StringArray(memoryIDs))
	because := map[string]string{}
	for _, m := range rows {
		because[m.ID] = m.JudgeAgain
	}
	return because, err
}

// judged marks queued memories as judged by a run: those that its steps write, and active ones that it left as they
// are. The texts of held memories whose evidence was erased are removed.
func judged(ctx context.Context, t *pg.Tx, groupID, runID string, steps []reverie.Step, kept []string) error {
	var rows pg.Columns
	var settled pq.StringArray
	for _, id := range kept {
		rows.Add(id, false)
	}
	for _, st := range steps {
		held := st.Judged == reverie.StatusHeld
		if st.Judged != "" {
			rows.Add(st.LineageID, held)
		}
		if held {
			settled = append(settled, st.LineageID)
		}
	}
	if err := rows.Exec(ctx, t, judgedQuery, groupID, runID); err != nil || len(settled) == 0 {
		return err
	}
	return settleErased(ctx, t, groupID, settled)
}

// decided removes a memory from the queue after a person has deleted, restored or rewritten it.
func decided(ctx context.Context, t *pg.Tx, action reverie.Action, head reverie.Memory, at time.Time) error {
	if action != reverie.ActionDelete && action != reverie.ActionRestore && action != reverie.ActionUpdate {
		return nil
	}
	if head.Status == reverie.StatusHeld {
		if err := settleErased(ctx, t, head.GroupID, pq.StringArray{head.LineageID}); err != nil {
			return err
		}
	}
	return t.Exec(ctx, decidedByPersonQuery, head.GroupID, head.LineageID, at)
}
