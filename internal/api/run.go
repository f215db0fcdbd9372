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

// Runs returns a page of the runs that the caller sees, newest first, with what each has
// spent. A group that does not exist, or a run to go on before that is not among those,
// is a [reverie.ErrNotFound].
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
	q.GroupID, q.Limit = confined, limit+1 // to see whether there are more
	runs, err := s.Store.Runs(ctx, q)
	if err != nil {
		return reverie.RunsReply{}, err
	}
	more := len(runs) > limit
	return reverie.RunsReply{Success: true, Runs: append([]reverie.RunEntry{}, runs[:min(limit, len(runs))]...), More: more}, nil
}

// Run returns a run with its chunks, changes, refused lines, held plans and calls, at
// most [MaxParts] of each.
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

// oneOf checks that something, unless it is left out, is one of a list.
func oneOf[T ~string](what string, value T, known []T) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s %q: it is one of %v: %w", what, value, known, reverie.ErrInvalid)
}

// RejectRun refuses what a run holds, under its group's lease: see
// [store.Store.RejectHeld].
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

// Approve applies what a run holds, except lines whose memory has moved since. A run of
// which nothing waits is a [reverie.ErrConflict], a group in which another run is under
// way a [reverie.ErrBusy].
func (s *Service) Approve(ctx context.Context, runID string) (reverie.EvolveReply, error) {
	d, err := s.decidable(ctx, runID)
	if err != nil {
		return reverie.EvolveReply{}, err
	}
	return s.ApproveHeld(ctx, d)
}

// Reject refuses all that a run holds; see [store.Store.RejectHeld]. Its errors are
// those of [Service.Approve].
func (s *Service) Reject(ctx context.Context, runID string, requeue bool) (reverie.RejectReply, error) {
	d, err := s.decidable(ctx, runID)
	if err != nil {
		return reverie.RejectReply{}, err
	}
	return RejectRun(ctx, s.Store, s.Leases, d.Run, requeue)
}

// decidable reads a run for a caller that is to decide on it. To one that may not, a run
// that is not there, or is another group's, is not found.
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

// Undo takes one run back, or says what that would come to: see [history.History.Undo]. Its
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

// UndoRun takes one run back, under its group's lease: see [history.History.Undo]. The
// reply has it as its only one.
func UndoRun(ctx context.Context, s *store.Store, leases *jobs.Leases, q reverie.UndoQuery) (reverie.UndoReply, error) {
	return undo(ctx, s, leases, q, func(context.Context) ([]string, error) { return []string{q.RunID}, nil })
}

// UndoRuns takes back all runs of a group that began at since or later, or those of one
// job, the newest first, all of them in one transaction under one lease, under which they
// are listed, too. Those that were taken back before are passed over, but for what q.Force or
// q.Requeue asks for that was not done then. Beside an error of a dry run, those before the
// one that cannot be taken back are in the reply.
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
