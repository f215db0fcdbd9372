package api

import (
	"context"
	"fmt"
	"time"

	"reverie"
	"reverie/jobs"
	"reverie/store"
)

// Undo takes one run back, or says what that would come to: see [store.Store.Undo]. Its
// errors are those of it and, where it is no dry run and another run is under way in the
// group, a [reverie.ErrBusy]. The reply has at most [MaxChanges] changes, and as many of
// what is left.
func (s *Service) Undo(ctx context.Context, q reverie.UndoQuery) (reverie.UndoReply, error) {
	d, err := s.decidable(ctx, q.RunID)
	if err != nil {
		return reverie.UndoReply{}, err
	}
	if err := reasonLength(q.Reason); err != nil {
		return reverie.UndoReply{}, err
	}
	q.GroupID, q.RunID = d.Run.GroupID, d.Run.ID
	reply, err := UndoRun(ctx, s.Store, s.Leases, q)
	if err != nil {
		return reverie.UndoReply{}, err
	}
	for i, u := range reply.Runs {
		changes, left := min(len(u.Changes), MaxChanges), min(len(u.Left), MaxChanges)
		u.Cut = changes < len(u.Changes) || left < len(u.Left)
		u.Changes, u.Left = u.Changes[:changes], u.Left[:left]
		reply.Runs[i] = u
	}
	return reply, nil
}

// UndoRun takes one run back, under its group's lease: see [store.Store.Undo]. The
// reply has it as its only one.
func UndoRun(ctx context.Context, s *store.Store, leases *jobs.Leases, q reverie.UndoQuery) (reverie.UndoReply, error) {
	return undo(ctx, s, leases, q, []string{q.RunID})
}

// UndoRuns takes back all runs of a group that began at since or later, or those of one
// job, the newest first, each in a transaction of its own, under one lease. Those that
// were taken back before are passed over: after a fault, the same call goes on. What was
// taken back before the fault is in the reply, with the error.
func UndoRuns(ctx context.Context, s *store.Store, leases *jobs.Leases, q reverie.UndoQuery, job reverie.Job, since time.Time) (reverie.UndoReply, error) {
	runs, err := s.Runs(ctx, reverie.RunQuery{GroupID: q.GroupID, Job: job, Since: since})
	if err != nil {
		return reverie.UndoReply{}, err
	}
	var ids []string
	for _, r := range runs {
		if r.UndoneAt == nil {
			ids = append(ids, r.ID)
		}
	}
	return undo(ctx, s, leases, q, ids)
}

func undo(ctx context.Context, s *store.Store, leases *jobs.Leases, q reverie.UndoQuery, runIDs []string) (reverie.UndoReply, error) {
	reply := reverie.UndoReply{GroupID: q.GroupID, DryRun: q.DryRun, Runs: []reverie.Undone{}}
	var err error
	switch {
	case len(runIDs) == 0:
	case q.DryRun:
		var list []reverie.Undone
		list, err = s.TryUndo(ctx, q, runIDs)
		reply.Runs = append(reply.Runs, list...)
	default:
		err = leases.With(ctx, q.GroupID, func(ctx context.Context, held *jobs.Held) error {
			for _, id := range runIDs {
				q.RunID = id
				err := held.Exclusive(func() error {
					res, err := s.Undo(ctx, held.Lease(), q)
					if err == nil {
						reply.Runs = append(reply.Runs, res)
					}
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		reply.Error = err.Error()
		if n := len(reply.Runs); n > 0 {
			err = fmt.Errorf("%d of %d runs were taken back; the same command goes on: %w", n, len(runIDs), err)
		}
	}
	reply.Success = err == nil
	return reply, err
}
