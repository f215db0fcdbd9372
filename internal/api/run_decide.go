package api

import (
	"context"
	"errors"

	"reverie/evolve"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store"
)

// ApproveRun applies what a run holds, under its group's lease: see
// [evolve.Pipeline.Approve].
func ApproveRun(ctx context.Context, s *store.Store, leases *jobs.Leases, p *evolve.Pipeline, d reverie.RunDetail) (res evolve.Result, err error) {
	err = leases.With(ctx, d.Run.GroupID, func(ctx context.Context, held *jobs.Held) error {
		var err error
		res, err = p.Approve(ctx, s, held, d.Run, d.Held)
		return err
	})
	return res, err
}

// ApproveReply is how an approval ended, in the shape of a run. It has read no messages:
// only a run of evolve has a place for their counts.
func ApproveReply(run reverie.Run, res evolve.Result, err error) reverie.EvolveReply {
	if res.GroupID == "" { // it has not come as far as that
		res.GroupID, res.RunID, res.Err = run.GroupID, run.ID, err
	}
	reply := res.Reply()
	if run.Job != reverie.JobEvolve {
		reply.Messages = nil
	}
	return reply
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
	res, err := ApproveRun(ctx, s.Store, s.Leases, s.Approver(), d)
	if err != nil {
		return reverie.EvolveReply{}, err
	}
	return ApproveReply(d.Run, res, nil), nil
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
	return s.Store.Run(reader, groupID, runID)
}
