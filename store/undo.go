package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie"
)

// takeBack is what runs are taken back by: one that is undone, or all since a message,
// for a replay.
type takeBack struct {
	groupID string
	runs    pq.StringArray
	reason  string
	replay  bool
	force   bool
}

const (
	// A run that still calls itself running is a dead process's: nobody else can
	// hold the lease.
	undoRunsQuery = `update runs set undone_at = coalesce(undone_at, $3::timestamptz), finished_at = coalesce(finished_at, $3::timestamptz),
			status = case status when 'running' then 'failed' when 'held' then 'rejected' else status end,
			error = case when status = 'running' then $4 else error end
		where group_id = $1 and run_id = any ($2::uuid[])`

	rejectPlansQuery = `update held_plans set status = 'rejected'
		where group_id = $1 and run_id = any ($2::uuid[]) and status = 'waiting'`

	withdrawEvidenceQuery = `update memory_evidence set withdrawn_at = $3::timestamptz
		where group_id = $1 and run_id = any ($2::uuid[]) and withdrawn_at is null and lineage_id <> all ($4::uuid[])`

	// A dead process may have got no further than to ask.
	tracesQuery = `select r.status = 'running' or exists (select 1 from memory_change_log c where c.group_id = $1 and c.run_id = $2)
			or exists (select 1 from entity_change_log c where c.group_id = $1 and c.run_id = $2)
			or exists (select 1 from run_chunks c where c.group_id = $1 and c.run_id = $2 and c.status in ('applied', 'held') and r.job <> 'propose')
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
// impression job. A run that was undone already is reverie.ErrConflict, unless q.Requeue
// finds something of it that does not wait yet; one that has left nothing is a result of
// zeros, and is not marked. An unknown run, or another group's, is
// reverie.ErrNotFound; a group that another holder has taken is reverie.ErrLeaseLost, and
// nothing is written. A dry run writes nothing, and needs no lease.
func (s *Store) Undo(ctx context.Context, lease reverie.Lease, q reverie.UndoQuery) (reverie.Undone, error) {
	what := fmt.Sprintf("undo run %s of group %q", q.RunID, q.GroupID)
	if !q.DryRun && q.GroupID != lease.GroupID {
		return reverie.Undone{}, fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	var result reverie.Undone
	var xid string
	err := s.run(ctx, work{
		what:     what,
		readOnly: q.DryRun,
		do: func(ctx context.Context, t *tx) error {
			if !q.DryRun {
				if err := fenced(ctx, t, lease); err != nil {
					return err
				}
			}
			var err error
			if result, err = s.undo(ctx, t, q); err != nil || q.DryRun {
				return err
			}
			return t.get(ctx, &xid, xidQuery)
		},
		committed: func(ctx context.Context, t *tx) (bool, error) { return landedUnder(ctx, t, lease, xid) },
	})
	if err != nil {
		return reverie.Undone{}, err
	}
	return result, nil
}

func (s *Store) undo(ctx context.Context, t *tx, q reverie.UndoQuery) (reverie.Undone, error) {
	run, err := getRun(ctx, t, q.GroupID, q.RunID)
	if err != nil {
		return reverie.Undone{}, err
	}
	result := reverie.Undone{RunID: run.ID, Job: run.Job, Began: run.StartedAt, Left: []reverie.UndoLeft{}}
	b := takeBack{groupID: run.GroupID, runs: pq.StringArray{run.ID}, reason: q.Reason, force: q.Force}
	if b.reason == "" {
		b.reason = fmt.Sprintf("undo of run %s", run.ID)
	}
	again := run.UndoneAt != nil
	var traces bool
	if err := t.get(ctx, &traces, tracesQuery, run.GroupID, run.ID); err != nil {
		return result, err
	}
	sets, err := rememberedThen(ctx, t, run)
	if err != nil {
		return result, err
	}
	result.Before, result.Was = reverie.ActiveSHA256(sets.before), reverie.ActiveSHA256(sets.was)
	if result.After = result.Before; !traces {
		return result, nil
	}
	var back returns
	if !again {
		if back, err = s.undoMemories(ctx, t, b, q, run, &result); err != nil {
			return result, err
		}
	}
	if q.Requeue {
		n, err := s.requeue(ctx, t, run, q.DryRun)
		if err != nil {
			return result, err
		}
		result.Requeued += n
	}
	if again && result.Requeued == 0 {
		return result, fmt.Errorf("it was taken back already, at %s: %w", run.UndoneAt.UTC().Format(time.RFC3339), reverie.ErrConflict)
	}
	after := back.applied(sets.before)
	if !q.DryRun {
		if after, err = activeSet(ctx, t, activeSetQuery, q.GroupID); err != nil {
			return result, err
		}
	}
	result.After = reverie.ActiveSHA256(after)
	back.explain(sets.was, after, &result)
	return result, nil
}

// undoMemories takes a run back that is not yet, and what it knew of people and things.
func (s *Store) undoMemories(ctx context.Context, t *tx, b takeBack, q reverie.UndoQuery, run reverie.Run, result *reverie.Undone) (returns, error) {
	if err := t.get(ctx, &result.Rejected, waitingPlansQuery, run.GroupID, run.ID); err != nil {
		return returns{}, err
	}
	back, err := b.look(ctx, t, q.DryRun)
	if err != nil {
		return back, err
	}
	result.Restored, result.Deprecated, result.Weakened = back.counts()
	for _, l := range back.left {
		result.Left = append(result.Left, reverie.UndoLeft{MemoryID: l.HeadID, Statement: l.Statement, Reason: l.reason})
	}
	at, err := s.moment(ctx, t, run.GroupID)
	if err != nil {
		return back, err
	}
	if !q.DryRun {
		result.UndoneAt = at
		err = b.write(ctx, t, at, back)
	}
	return back, err
}

// look reads what the runs have touched, and decides what becomes of it. A person's edit
// locks its lineage, too.
func (b takeBack) look(ctx context.Context, t *tx, dryRun bool) (returns, error) {
	if !dryRun {
		if _, err := t.exec(ctx, lockTouchedQuery, b.groupID, b.runs, b.replay); err != nil {
			return returns{}, err
		}
	}
	var rows []touchedRow
	if err := t.list(ctx, &rows, touchedQuery, b.groupID, b.runs, b.replay); err != nil {
		return returns{}, err
	}
	return unwind(rows, b.replay, b.force), nil
}

// write marks the runs as undone, with all that hangs on them, and writes the memories.
func (b takeBack) write(ctx context.Context, t *tx, at time.Time, back returns) error {
	stay := back.stay()
	for _, w := range []struct {
		query string
		args  []any
	}{
		{undoRunsQuery, []any{at, interrupted}},
		{rejectPlansQuery, nil},
		{withdrawEvidenceQuery, []any{at, stay}},
		{judgeAnewQuery, []any{stay}},
	} {
		if _, err := t.exec(ctx, w.query, append([]any{b.groupID, b.runs}, w.args...)...); err != nil {
			return err
		}
	}
	return writeReturns(ctx, t, b, at, back.list)
}
