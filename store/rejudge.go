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
	// keptJudgements keeps what rows q of rejudgements were until they are written anew, or
	// deleted. It goes on with the instant, and what they are read from.
	keptJudgements = `insert into past_rejudgements (group_id, lineage_id, memory_id, reason, created_at, change_id,
		run_id, held, valid_until)
		select q.group_id, q.lineage_id, q.memory_id, q.reason, q.created_at, q.change_id, q.run_id, q.held, `

	queueJudgementsQuery = `with kept as (` + keptJudgements + `$4::timestamptz from rejudgements q where group_id = $1
		and lineage_id = any ($2::uuid[]))
		insert into rejudgements (group_id, lineage_id, memory_id, reason, created_at)
		select group_id, lineage_id, memory_id, $3, $4::timestamptz from memories m
		where group_id = $1 and lineage_id = any ($2::uuid[]) and status in ('active', 'held')
			and not exists (select 1 from memories n where n.group_id = $1 and n.lineage_id = m.lineage_id
				and n.version > m.version)
		on conflict (group_id, lineage_id) do update set
			memory_id = excluded.memory_id, reason = excluded.reason, created_at = excluded.created_at, change_id = null,
				run_id = null, held = false`

	judgedQuery = `update rejudgements q set run_id = $2::uuid, held = u.held
		from unnest($3::uuid[], $4::bool[]) as u (lineage_id, held)
		where q.group_id = $1 and q.lineage_id = u.lineage_id and q.run_id is null`

	// What the runs judged that are taken back waits anew.
	// What they said may be erased by now: then nothing of it is left to judge.
	judgeAnewQuery = `with kept as (` + keptJudgements + `$4::timestamptz from rejudgements q where group_id = $1
		and run_id = any ($2::uuid[]))
		update rejudgements q set run_id = null where group_id = $1 and run_id = any ($2::uuid[])
			and exists (select 1 from memories m where m.group_id = q.group_id and m.lineage_id = q.lineage_id
				and m.statement <> '` + text.Erased + `' and (m.run_id is null or m.run_id <> all ($2::uuid[])))
			and lineage_id <> all ($3::uuid[])`

	// What a person has decided nobody judges again.
	decidedByPersonQuery = `with q as (delete from rejudgements where group_id = $1 and lineage_id = $2 returning *)
		` + keptJudgements + `$3::timestamptz from q`
)

// QueueJudgements has the next run of evolve judge memories again, by their lineages,
// and returns how many that are: those whose head is active, or held until then. The
// reason is shown to the model, and to whoever asks about the memory.
func QueueJudgements(ctx context.Context, t *pg.Tx, groupID string, lineageIDs []string, reason string,
	at time.Time) (int, error) {
	return t.Exec(ctx, queueJudgementsQuery, groupID, pq.StringArray(lineageIDs), reason, at)
}

const judgeAgainQuery = `select m.memory_id, ` + againBecause + ` as judge_again
	from memories m join rejudgements q on q.group_id = m.group_id and q.lineage_id = m.lineage_id and q.run_id is null
	where m.group_id = $1 and m.memory_id = any ($2::uuid[]) and m.status in ('active', 'held')`

// JudgeAgain says which of some memories of a group the next run of evolve judges again,
// and why, by their ids.
func (s *Store) JudgeAgain(ctx context.Context, groupID string, memoryIDs []string) (map[string]string, error) {
	rows, err := pg.QueryAll[reverie.Memory](ctx, s.db, fmt.Sprintf("see what of group %q is judged again", groupID),
		judgeAgainQuery, groupID, pq.StringArray(memoryIDs))
	because := map[string]string{}
	for _, m := range rows {
		because[m.ID] = m.JudgeAgain
	}
	return because, err
}

// judged notes what a run has judged that was to be judged again: by steps, and by
// leaving active memories of those lineages as they are. What held ones said whose
// evidence was erased is emptied.
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
	if _, err := rows.Exec(ctx, t, judgedQuery, groupID, runID); err != nil || len(settled) == 0 {
		return err
	}
	return settleErased(ctx, t, groupID, settled)
}

// decided notes that a person has deleted or restored a memory: nobody judges it again.
func decided(ctx context.Context, t *pg.Tx, action reverie.Action, head MemoryRow, at time.Time) error {
	if action != reverie.ActionDelete && action != reverie.ActionRestore {
		return nil
	}
	if head.Status == reverie.StatusHeld {
		if err := settleErased(ctx, t, head.GroupID, pq.StringArray{head.LineageID}); err != nil {
			return err
		}
	}
	_, err := t.Exec(ctx, decidedByPersonQuery, head.GroupID, head.LineageID, at)
	return err
}
