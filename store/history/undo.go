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
	"reverie/store/pg"
)

// takeBack is what runs are taken back by: one that is undone, or all since a message,
// for a replay.
type takeBack struct {
	groupID string
	runs    pq.StringArray
	reason  string
	replay  bool
	force   bool
	again   bool // it was undone before: of what was put back then nothing is done
}

const (
	// A run that still calls itself running is a dead process's: nobody else can
	// hold the lease.
	undoRunsQuery = `update runs set undone_at = coalesce(undone_at, $3::timestamptz),
		finished_at = coalesce(finished_at, greatest(started_at, $3::timestamptz)),
			status = case status when 'running' then 'failed' when 'held' then 'rejected' else status end,
			error = case when status = 'running' then $4 else error end
		where group_id = $1 and run_id = any ($2::uuid[])`

	rejectPlansQuery = `update held_plans set status = 'rejected'
		where group_id = $1 and run_id = any ($2::uuid[]) and status = 'waiting'`

	withdrawEvidenceQuery = `update memory_evidence set withdrawn_at = $3::timestamptz
		where group_id = $1 and run_id = any ($2::uuid[]) and withdrawn_at is null and lineage_id <> all ($4::uuid[])`

	// With what goes back goes what was left, for the sake of what stood then, of runs taken
	// back before.
	withdrawUndoneQuery = `update memory_evidence e set withdrawn_at = $2::timestamptz
		where group_id = $1 and lineage_id = any ($3::uuid[]) and withdrawn_at is null
			and (select r.undone_at from runs r where r.group_id = e.group_id and r.run_id = e.run_id) is not null`
	judgeUndoneQuery = `with again as (
			select q.lineage_id from rejudgements q join runs r on r.group_id = q.group_id and r.run_id = q.run_id
			where q.group_id = $1 and q.lineage_id = any ($3::uuid[]) and r.undone_at is not null
				and exists (select 1 from memories m left join runs b on b.group_id = m.group_id and b.run_id = m.run_id
					where m.group_id = $1 and m.lineage_id = q.lineage_id and m.statement <> '` + text.Erased + `'
						and b.undone_at is null)),
		kept as (` + store.KeptJudgements + `$2::timestamptz from rejudgements q where group_id = $1
			and lineage_id in (select lineage_id from again))
		update rejudgements set run_id = null where group_id = $1 and lineage_id in (select lineage_id from again)`

	// A dead process may have got no further than to ask.
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

// Undo takes back what one run did, of whatever job, in one transaction. Nothing is
// deleted:
//
//   - The run keeps its row, chunks, changes and calls, and is marked as undone. What it
//     holds is rejected; an answer of it is not used again.
//   - Each memory that it wrote says again what it said before, tags included, as a new
//     version with the lineage's weight of now; one that it made, ends. What it has archived
//     is active again. The evidence that it gave supports nothing any more, and strength is
//     that of the evidence that is left. All of it goes to the change log as undo.
//   - What it judged again waits to be judged anew.
//   - A memory that another run or a person has changed since is left as it is, with what
//     it rests on, unless q.Force. Where another memory says by now what one would say
//     again, that one ends. The result lists both.
//   - With q.Requeue what the run has read waits to be read again, and the model is asked
//     again; otherwise it stays read.
//
// What people and things are known by goes back likewise, where the run is of the
// impression job. A run that was undone already is reverie.ErrConflict, unless q.Force finds
// something that was left then, or q.Requeue something of it that does not wait yet; with
// q.Again it is passed over, instead. One that has left nothing is not marked,
// and the result says so. Where something else is active than q.Before says, that is
// reverie.ErrConflict, too. An unknown run, or another group's, is
// reverie.ErrNotFound; a group that another holder has taken is reverie.ErrLeaseLost, and
// nothing is written.
func (h *History) Undo(ctx context.Context, lease reverie.Lease, q reverie.UndoQuery) (reverie.Undone, error) {
	what := fmt.Sprintf("undo run %s of group %q", q.RunID, q.GroupID)
	if q.DryRun {
		list, err := h.TryUndo(ctx, q, []string{q.RunID})
		if err != nil {
			return reverie.Undone{}, err
		}
		return list[0], nil
	}
	if q.GroupID != lease.GroupID {
		return reverie.Undone{}, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	var xid string
	return pg.Run(ctx, h.db, pg.Work{
		What:      what,
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) { return store.LandedUnder(ctx, t, lease, xid) },
	}, func(ctx context.Context, t *pg.Tx) (reverie.Undone, error) {
		if err := store.Fence(ctx, t, lease); err != nil {
			return reverie.Undone{}, err
		}
		result, err := h.undo(ctx, t, q)
		if err != nil {
			return result, err
		}
		return result, t.Get(ctx, &xid, pg.XIDQuery)
	})
}

// TryUndo says what taking back these runs of a group would come to, one after the other
// in the order given: it does so, in a transaction that it takes back, and that who writes to
// these memories waits for. It needs no lease. Where one could not be taken back, those before
// it are returned with the error.
func (h *History) TryUndo(ctx context.Context, q reverie.UndoQuery, runIDs []string) ([]reverie.Undone, error) {
	q.DryRun = false
	var list []reverie.Undone
	err := h.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("look what undoing %d runs of group %q would change", len(runIDs), q.GroupID),
		Do: func(ctx context.Context, t *pg.Tx) error {
			list = nil
			for _, id := range runIDs {
				q.RunID = id
				res, err := h.undo(ctx, t, q)
				if err != nil {
					return fmt.Errorf("run %s: %w", id, err)
				}
				res.UndoneAt = time.Time{}
				list = append(list, res)
			}
			return store.ErrDryRun
		},
	})
	if !errors.Is(err, store.ErrDryRun) {
		return list, err
	}
	return list, nil
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
	var back returns
	if result.Nothing = !traces; traces {
		if back, err = h.undoTraces(ctx, t, q, run, &result); err != nil {
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
	back.explain(was, after, &result)
	return result, nil
}

// undoTraces takes back what a run has left. Of one that was undone before, only what was
// left then can be put back, by force, and what it has read can wait again.
func (h *History) undoTraces(ctx context.Context, t *pg.Tx, q reverie.UndoQuery, run reverie.Run,
	result *reverie.Undone) (back returns, err error) {
	again := run.UndoneAt != nil
	at, err := store.NextTimestamp(ctx, h.db, t, run.GroupID)
	if err != nil {
		return back, err
	}
	if !again || q.Force {
		b := takeBack{groupID: run.GroupID, runs: pq.StringArray{run.ID}, reason: q.Reason, force: q.Force, again: again}
		if back, at, err = h.undoMemories(ctx, t, b, result); err != nil {
			return back, err
		}
	}
	if run.Job == reverie.JobImpression && (!again || q.Force || q.Requeue) {
		if err := h.undoEntities(ctx, t, q, run, at, result); err != nil {
			return back, err
		}
	}
	if q.Requeue {
		n, err := h.requeue(ctx, t, run)
		if err != nil {
			return back, err
		}
		result.Requeued += n
	}
	switch {
	case !again || result.Requeued > 0 || q.Force && len(result.Changes)+result.Entities > 0:
		result.UndoneAt = at
	case q.Again:
		result.Over = true
	default:
		return back, fmt.Errorf("it was taken back already, at %s: %w", run.UndoneAt.Format(time.RFC3339),
			reverie.ErrConflict)
	}
	return back, nil
}

// undoMemories takes back what a run did to memories, and what it holds, and says when.
func (h *History) undoMemories(ctx context.Context, t *pg.Tx, b takeBack, result *reverie.Undone) (back returns,
	at time.Time, err error) {
	if back, err = b.look(ctx, t, false); err != nil {
		return back, at, err
	}
	if err := t.Get(ctx, &result.Rejected, waitingPlansQuery, b.groupID, b.runs[0]); err != nil {
		return back, at, err
	}
	if at, err = store.NextTimestamp(ctx, h.db, t, b.groupID); err != nil { // the heads are locked
		return back, at, err
	}
	if result.Changes, err = b.write(ctx, t, at, back); err != nil {
		return back, at, err
	}
	result.Restored, result.Deprecated, result.Weakened = back.counts()
	for _, l := range back.left {
		result.Left = append(result.Left, reverie.UndoLeft{MemoryID: l.HeadID, Statement: l.Statement, Reason: l.reason})
	}
	return back, at, nil
}

// look reads what the runs have touched, and decides what becomes of it. A person's edit
// locks its lineage, too.
func (b takeBack) look(ctx context.Context, t *pg.Tx, dryRun bool) (returns, error) {
	if !dryRun {
		if _, err := t.Exec(ctx, lockTouchedQuery, b.groupID, b.runs, b.replay); err != nil {
			return returns{}, err
		}
	}
	rows, err := pg.Select[TouchedRow](ctx, t, touchedQuery, b.groupID, b.runs, b.replay)
	if err != nil {
		return returns{}, err
	}
	if b.again {
		rows = slices.DeleteFunc(rows, func(r TouchedRow) bool { return r.Settled })
	}
	return unwind(rows, b.replay, b.force), nil
}

// write marks the runs as undone, with all that hangs on them, and writes the memories.
func (b takeBack) write(ctx context.Context, t *pg.Tx, at time.Time, back returns) ([]reverie.Change, error) {
	stay := back.stay()
	for _, w := range []struct {
		query string
		args  []any
	}{
		{undoRunsQuery, []any{at, store.Interrupted}},
		{rejectPlansQuery, nil},
		{withdrawEvidenceQuery, []any{at, stay}},
		{store.JudgeAnewQuery, []any{stay, at}},
	} {
		if _, err := t.Exec(ctx, w.query, append([]any{b.groupID, b.runs}, w.args...)...); err != nil {
			return nil, err
		}
	}
	for _, query := range []string{withdrawUndoneQuery, judgeUndoneQuery} {
		if _, err := t.Exec(ctx, query, b.groupID, at, back.goes()); err != nil {
			return nil, err
		}
	}
	return writeReturns(ctx, t, b, at, back.list)
}
