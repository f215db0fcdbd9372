package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store"
	"reverie/store/history"
)

// Runs returns a page of the runs that the caller may see, newest first, with their cost. If the group or the run
// in Before does not exist for the caller, the error is a [reverie.ErrNotFound].
func (s *Service) Runs(ctx context.Context, q reverie.RunQuery) (reverie.RunsReply, error) {
	ctx, confined, err := reading(ctx, q.GroupID, reverie.ScopeRead, page(q.Limit, 0), oneOf("job", q.Job, reverie.Jobs), oneOf("status", q.Status, reverie.RunStatuses))
	if err != nil {
		return reverie.RunsReply{}, err
	}
	if q.GroupID != "" { // no runs, or no such group?
		if _, err := s.Store.Group(ctx, q.GroupID); err != nil {
			return reverie.RunsReply{}, err
		}
	}
	limit := q.Limit
	q.GroupID, q.Limit = confined, limit+1 // one more, to see whether there are more
	runs, err := s.Store.Runs(ctx, q)
	if err != nil {
		return reverie.RunsReply{}, err
	}
	more := len(runs) > limit
	return reverie.RunsReply{Success: true, Runs: append([]reverie.RunEntry{}, runs[:min(limit, len(runs))]...), More: more}, nil
}

// Run returns a run with its chunks, changes, refused lines, held plans and calls, at most [MaxParts] of each.
func (s *Service) Run(ctx context.Context, runID string) (reverie.RunReply, error) {
	ctx, groupID, runID, err := s.readingOf(ctx, reverie.IDRun, "", runID)
	if err != nil {
		return reverie.RunReply{}, err
	}
	d, err := s.Store.RunUpTo(ctx, groupID, runID, MaxParts)
	if err != nil {
		return reverie.RunReply{}, err
	}
	g, err := s.Store.GroupList(ctx, reverie.GroupQuery{GroupID: d.Run.GroupID, Limit: 1})
	if err != nil {
		return reverie.RunReply{}, err
	}
	return d.Reply(g[0]), nil
}

// oneOf checks that a value is in a list, unless it is empty.
func oneOf[T ~string](what string, value T, known []T) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s %q: it is one of %v: %w", what, value, known, reverie.ErrInvalid)
}

// RejectRun rejects what a run holds, under its group's lease: see [store.Store.RejectHeld].
func RejectRun(ctx context.Context, s *store.Store, leases *jobs.Leases, run reverie.Run, requeue bool) (reverie.RejectReply, error) {
	reply := reverie.RejectReply{Success: true, RunID: run.ID}
	err := leases.With(ctx, run.GroupID, func(ctx context.Context, held *jobs.Held) error {
		return held.Exclusive(func() error {
			var err error
			reply.Requeued, err = s.RejectHeld(ctx, held.Lease(), run.GroupID, run.ID, requeue)
			return err
		})
	})
	if err != nil {
		return reverie.RejectReply{}, err
	}
	return reply, nil
}

// Approve applies what a run holds, except lines whose memory has changed since. A run that holds nothing is a
// [reverie.ErrConflict]; a group with a running run is a [reverie.ErrBusy].
func (s *Service) Approve(ctx context.Context, runID string) (reverie.EvolveReply, error) {
	d, err := s.decidable(ctx, runID)
	if err != nil {
		return reverie.EvolveReply{}, err
	}
	return s.ApproveHeld(ctx, d)
}

// Reject rejects all that a run holds; see [store.Store.RejectHeld]. Its errors are those of [Service.Approve].
func (s *Service) Reject(ctx context.Context, runID string, requeue bool) (reverie.RejectReply, error) {
	d, err := s.decidable(ctx, runID)
	if err != nil {
		return reverie.RejectReply{}, err
	}
	return RejectRun(ctx, s.Store, s.Leases, d.Run, requeue)
}

// decidable reads a run for a caller who wants to decide on it. Without permission, a missing run and another
// group's are both not found.
func (s *Service) decidable(ctx context.Context, runID string) (reverie.RunDetail, error) {
	reader, groupID, err := reading(ctx, "", reverie.ScopeAdmin)
	if errors.Is(err, reverie.ErrForbidden) {
		if _, lookErr := s.Run(ctx, runID); lookErr != nil {
			return reverie.RunDetail{}, lookErr
		}
	}
	if err != nil {
		return reverie.RunDetail{}, err
	}
	if runID, err = s.Store.WholeID(reader, reverie.IDRun, groupID, runID); err != nil {
		return reverie.RunDetail{}, err
	}
	return s.Store.Run(reader, groupID, runID)
}

// Undo undoes one run, or says what that would change: see [history.History.Undo]. Besides its errors, it returns a
// [reverie.ErrBusy] if another run is running in the group, except for a dry run. The reply has at most
// [MaxChanges] changes, and as many entries of Left.
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

// UndoRun undoes one run, under its group's lease: see [history.History.Undo]. The reply contains only this run.
func UndoRun(ctx context.Context, s *store.Store, leases *jobs.Leases, q reverie.UndoQuery) (reverie.UndoReply, error) {
	return undo(ctx, s, leases, q, func(context.Context) ([]string, error) { return []string{q.RunID}, nil })
}

// UndoRuns undoes all runs of a group, or those of one job, that began at since or later, newest first. It lists
// and undoes them in one transaction under one lease. It skips runs that are undone already, unless q.Force or
// q.Requeue requests more than was done then. If a dry run fails, the reply contains the runs before the failing
// one.
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
	var list []reverie.Undone
	all := func(ctx context.Context, lease reverie.Lease) error {
		runIDs, err := which(ctx)
		if err == nil {
			list, err = history.New(s.DB()).UndoAll(ctx, lease, q, runIDs)
		}
		return err
	}
	var err error
	if q.DryRun {
		err = all(ctx, reverie.Lease{})
	} else {
		err = leases.With(ctx, q.GroupID, func(ctx context.Context, held *jobs.Held) error {
			return held.Exclusive(func() error { return all(ctx, held.Lease()) })
		})
	}
	for _, u := range list {
		if !u.Over {
			reply.Runs = append(reply.Runs, u)
		}
	}
	if reply.Success = err == nil; err != nil {
		reply.Error = reverie.ErrorText(err)
	}
	return reply, err
}
