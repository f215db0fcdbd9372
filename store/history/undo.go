package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/events"
	"reverie/store/pg"
)

const (
	// A run with the status running belongs to a process that died: the caller holds the lease.
	undoRunsQuery = `with ended as (update runs set undone_at = coalesce(undone_at, $3::timestamptz),
		finished_at = coalesce(finished_at, greatest(started_at, $3::timestamptz)),
			status = case status when 'running' then 'failed' when 'held' then 'rejected' else status end,
			error = case when status = 'running' then $4 else error end
		where group_id = $1 and run_id = any ($2::uuid[]) returning run_id, 'undone' as status, $3::timestamptz as at), ` +
		events.OfRuns + ` select 1`

	withdrawEvidenceQuery = `update memory_evidence set withdrawn_at = $3::timestamptz
		where group_id = $1 and run_id = any ($2::uuid[]) and withdrawn_at is null and lineage_id <> all ($4::uuid[])`

	// This also withdraws the evidence of runs undone before that was kept because of these runs.
	withdrawUndoneQuery = `update memory_evidence e set withdrawn_at = $2::timestamptz
		where group_id = $1 and lineage_id = any ($3::uuid[]) and withdrawn_at is null
			and (select r.undone_at from runs r where r.group_id = $1 and r.run_id = e.run_id) is not null`
	judgeUndoneQuery = `with again as (
			select q.lineage_id from rejudgements q join runs r on r.group_id = $1 and r.run_id = q.run_id
			where q.group_id = $1 and q.lineage_id = any ($3::uuid[]) and r.undone_at is not null
				and exists (select 1 from memories m left join runs b on b.group_id = $1 and b.run_id = m.run_id
					where m.group_id = $1 and m.lineage_id = q.lineage_id and m.statement <> '` + text.Erased + `'
						and b.undone_at is null)),
		kept as (` + store.KeptJudgements + `$2::timestamptz from rejudgements q where group_id = $1
			and lineage_id in (select lineage_id from again))
		update rejudgements set run_id = null where group_id = $1 and lineage_id in (select lineage_id from again)`

	// A process may have died before it did more than ask.
	tracesQuery = `select r.status = 'running' or exists (select 1 from memory_change_log c where c.group_id = $1
		and c.run_id = $2)
			or exists (select 1 from entity_change_log c where c.group_id = $1 and c.run_id = $2)
			or exists (select 1 from run_chunks c where c.group_id = $1 and c.run_id = $2 and c.status in ('applied', 'held')
				and r.job <> 'propose')
			or exists (select 1 from memory_values v where v.group_id = $1 and v.run_id = $2)
			or exists (select 1 from held_plans h where h.group_id = $1 and h.run_id = $2 and h.status = 'waiting')
		from runs r where r.group_id = $1 and r.run_id = $2`

	waitingPlansQuery = `select count(*) from held_plans where group_id = $1 and run_id = $2 and status = 'waiting'`
)

// Undo undoes what one run of any job did, in one transaction. Nothing is deleted:
//
//   - The run keeps its row, chunks, changes and calls, and is marked as undone. What it
//     holds is rejected; its answers are not used again.
//   - Each memory that it wrote gets a new version with its former statement and tags, and
//     the lineage's present weight. A memory that it created ends. A memory that it
//     archived is active again. The run's evidence is withdrawn, and the strength is that
//     of the remaining evidence. The change log records all of it with the action undo.
//   - Memories that it judged again must be judged once more.
//   - A memory that another run or a person has changed since is left as it is, with its
//     evidence, unless q.Force is set. If another memory has the former statement by now,
//     the lineage ends. The result lists both cases.
//   - With q.Requeue the messages that the run has read are pending again, and the model
//     is asked again. Otherwise they stay read.
//
// For a run of the impression job, people and things are undone likewise. An undone run is reverie.ErrConflict, unless
// q.Force finds something that was left then, or q.Requeue finds something that is not pending yet. With q.Again an
// undone run is skipped instead. A run without any effect is not marked, and the result says so. If the active memories
// differ from q.Before, that is reverie.ErrConflict, too. An unknown run, or one of another group, is
// reverie.ErrNotFound. A lost lease is reverie.ErrLeaseLost. After an error nothing is written.
func (h *History) Undo(ctx context.Context, lease reverie.Lease, q reverie.UndoQuery) (reverie.Undone, error) {
	list, err := h.UndoAll(ctx, lease, q, []string{q.RunID})
	if err != nil {
		return reverie.Undone{}, err
	}
	return list[0], nil
}

// UndoAll undoes runs of a group in the given order, in one transaction under a lease that nothing renews meanwhile:
// see [History.Undo]. A dry run needs no lease: it rolls its transaction back. Writers of these memories wait for it.
// If a run cannot be undone, a dry run returns the results before it with the error.
func (h *History) UndoAll(ctx context.Context, lease reverie.Lease, q reverie.UndoQuery,
	runIDs []string) ([]reverie.Undone, error) {
	what := fmt.Sprintf("undo %d runs of group %q", len(runIDs), q.GroupID)
	if len(runIDs) == 1 {
		what = fmt.Sprintf("undo run %s of group %q", runIDs[0], q.GroupID)
	}
	if !q.DryRun && q.GroupID != lease.GroupID {
		return nil, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	var list []reverie.Undone
	err := h.db.Run(ctx, pg.Work{
		What: what,
		Do: func(ctx context.Context, t *pg.Tx) error {
			list = nil
			if !q.DryRun {
				if err := store.Fence(ctx, t, lease); err != nil {
					return err
				}
			}
			for _, q.RunID = range runIDs {
				res, err := h.undo(ctx, t, q)
				if err != nil && len(runIDs) > 1 {
					err = fmt.Errorf("run %s: %w", q.RunID, err)
				}
				if err != nil {
					return err
				}
				list = append(list, res)
			}
			if q.DryRun {
				return store.ErrDryRun
			}
			return nil
		},
	}.Once(q.GroupID))
	switch {
	case !q.DryRun && err != nil:
		return nil, err
	case errors.Is(err, store.ErrDryRun):
		err = nil
	}
	for i := range list {
		if q.DryRun {
			list[i].UndoneAt = time.Time{}
		}
	}
	return list, err
}

func (h *History) undo(ctx context.Context, t *pg.Tx, q reverie.UndoQuery) (reverie.Undone, error) {
	run, err := store.GetRun(ctx, t, q.GroupID, q.RunID)
	if err != nil {
		return reverie.Undone{}, err
	}
	if q.Reason == "" {
		q.Reason = fmt.Sprintf("undo of run %s", run.ID)
	}
	result := reverie.Undone{RunID: run.ID, Job: run.Job, Began: run.StartedAt, Changes: []reverie.Change{},
		Left: []reverie.UndoLeft{}}
	before, was, err := rememberedThen(ctx, t, run)
	if err != nil {
		return result, err
	}
	result.Before, result.Was = reverie.ActiveSHA256(before), reverie.ActiveSHA256(was)
	if q.Before != "" && q.Before != result.Before {
		return result, fmt.Errorf("what the group remembers has changed since the dry run: look again: %w",
			reverie.ErrConflict)
	}
	traces, err := pg.Get[bool](ctx, t, tracesQuery, run.GroupID, run.ID)
	if err != nil {
		return result, err
	}
	var list []lineageReturn
	if result.Nothing = !traces; traces {
		if list, err = h.undoTraces(ctx, t, q, run, &result); err != nil {
			return result, err
		}
	}
	after, err := activeSet(ctx, t, activeSetQuery, q.GroupID)
	if err != nil {
		return result, err
	}
	result.After = reverie.ActiveSHA256(after)
	result.Exact = result.After == result.Was && !slices.ContainsFunc(result.Left,
		func(l reverie.UndoLeft) bool { return l.EntityID != "" })
	explain(list, was, after, &result)
	return result, nil
}

// undoTraces undoes what a run has done. For a run undone before, it only undoes by force what was left then, and
// requeues what the run has read.
func (h *History) undoTraces(ctx context.Context, t *pg.Tx, q reverie.UndoQuery, run reverie.Run,
	result *reverie.Undone) (list []lineageReturn, err error) {
	again := run.UndoneAt != nil
	at, err := store.NextTimestamp(ctx, h.db, t, run.GroupID)
	if err != nil {
		return nil, err
	}
	if !again || q.Force {
		if list, at, err = h.undoMemories(ctx, t, q, again, result); err != nil {
			return nil, err
		}
	}
	if run.Job == reverie.JobImpression && (!again || q.Force || q.Requeue) {
		if err := h.undoEntities(ctx, t, q, run, at, result); err != nil {
			return nil, err
		}
	}
	if q.Requeue {
		n, err := h.requeue(ctx, t, run)
		if err != nil {
			return nil, err
		}
		result.Requeued += n
	}
	switch {
	case !again || result.Requeued > 0 || q.Force && len(result.Changes)+result.Entities > 0:
		result.UndoneAt = at
	case q.Again:
		result.Over = true
	default:
		return nil, fmt.Errorf("it was already undone at %s: %w", run.UndoneAt.Format(time.RFC3339),
			reverie.ErrConflict)
	}
	return list, nil
}

// undoMemories undoes what a run did to memories, rejects what it holds, and returns the time. For a run undone before,
// it changes only what was left then.
func (h *History) undoMemories(ctx context.Context, t *pg.Tx, q reverie.UndoQuery, again bool,
	result *reverie.Undone) (list []lineageReturn, at time.Time, err error) {
	run := pq.StringArray{q.RunID}
	if err := t.Exec(ctx, lockTouchedQuery, q.GroupID, run); err != nil { // edits by a person take the same lock
		return nil, at, err
	}
	rows, err := pg.Select[touchedRow](ctx, t, touchedQuery, q.GroupID, run)
	if err != nil {
		return nil, at, err
	}
	if again {
		rows = slices.DeleteFunc(rows, func(r touchedRow) bool { return r.Settled })
	}
	list = unwind(rows, q.Force)
	if err := t.Get(ctx, &result.Rejected, waitingPlansQuery, q.GroupID, q.RunID); err != nil {
		return nil, at, err
	}
	if at, err = store.NextTimestamp(ctx, h.db, t, q.GroupID); err != nil { // after the lock: the heads cannot change
		return nil, at, err
	}
	if err := markUndone(ctx, t, q.GroupID, run, at, list); err != nil {
		return nil, at, err
	}
	for _, w := range list {
		switch {
		case w.newID != "":
			result.Restored++
		case w.ends:
			result.Deprecated++
		case w.weakens:
			result.Weakened++
		}
		if w.left != "" {
			result.Left = append(result.Left, reverie.UndoLeft{MemoryID: w.HeadID, Statement: w.Statement, Reason: w.left})
		}
	}
	result.Changes, err = writeReturns(ctx, t, q, at, slices.DeleteFunc(slices.Clone(list),
		func(w lineageReturn) bool { return !w.written() }))
	return list, at, err
}

// markUndone marks the run as undone, with its chunks, plans and judgements.
func markUndone(ctx context.Context, t *pg.Tx, groupID string, run pq.StringArray, at time.Time,
	list []lineageReturn) error {
	stay := lineagesOf(list, func(w lineageReturn) bool { return w.stays })
	goes := lineagesOf(list, func(w lineageReturn) bool { return w.ends || w.newID != "" })
	for _, w := range []struct {
		query string
		args  []any
	}{
		{undoRunsQuery, []any{run, at, store.Interrupted}},
		{events.RejectPlans, []any{run, at}},
		{withdrawEvidenceQuery, []any{run, at, stay}},
		{store.JudgeAnewQuery, []any{run, stay, at}},
		{withdrawUndoneQuery, []any{at, goes}},
		{judgeUndoneQuery, []any{at, goes}},
	} {
		if err := t.Exec(ctx, w.query, append([]any{groupID}, w.args...)...); err != nil {
			return err
		}
	}
	return nil
}
