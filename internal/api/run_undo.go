package api

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
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
	return undo(ctx, s, leases, q, func(context.Context) ([]string, error) { return []string{q.RunID}, nil })
}

// UndoRuns takes back all runs of a group that began at since or later, or those of one
// job, the newest first, each in a transaction of its own, under one lease, under which they
// are listed, too. Those that were taken back before are passed over, but for what q.Force or
// q.Requeue asks for that was not done then: after a fault, the same call goes on. What was
// taken back before the fault is in the reply, with the error; a dry run likewise.
func UndoRuns(ctx context.Context, s *store.Store, leases *jobs.Leases, q reverie.UndoQuery, job reverie.Job, since time.Time) (reverie.UndoReply, error) {
	q.Again = true
	return undo(ctx, s, leases, q, func(ctx context.Context) ([]string, error) {
		runs, err := s.Runs(ctx, reverie.RunQuery{GroupID: q.GroupID, Job: job, Since: since})
		var ids []string
		for _, r := range runs {
			if r.UndoneAt == nil || q.Force || q.Requeue {
				ids = append(ids, r.ID)
			}
		}
		return ids, err
	})
}

func undo(ctx context.Context, s *store.Store, leases *jobs.Leases, q reverie.UndoQuery, which func(context.Context) ([]string, error)) (reverie.UndoReply, error) {
	reply := reverie.UndoReply{GroupID: q.GroupID, DryRun: q.DryRun, Runs: []reverie.Undone{}}
	if err := reasonLength(q.Reason); err != nil {
		return reply, err
	}
	var runIDs []string
	var list []reverie.Undone
	var err error
	if q.DryRun {
		if runIDs, err = which(ctx); err == nil {
			list, err = s.TryUndo(ctx, q, runIDs)
		}
	} else {
		err = leases.With(ctx, q.GroupID, func(ctx context.Context, held *jobs.Held) error {
			var err error
			if runIDs, err = which(ctx); err != nil {
				return err
			}
			for _, q.RunID = range runIDs {
				if err := held.Exclusive(func() error {
					res, err := s.Undo(ctx, held.Lease(), q)
					if err == nil {
						list = append(list, res)
					}
					return err
				}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, u := range list {
		if !u.Over {
			reply.Runs = append(reply.Runs, u)
		}
	}
	if err != nil {
		reply.Error = err.Error()
		if n := len(reply.Runs); n > 0 {
			did := "were taken back"
			if q.DryRun {
				did = "could be taken back"
			}
			err = fmt.Errorf("%d of %d runs %s; the same command goes on: %w", n, len(runIDs), did, err)
		}
	}
	reply.Success = err == nil
	return reply, err
}
