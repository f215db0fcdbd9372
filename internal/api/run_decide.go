package api

import (
	"context"
	"errors"

	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store"
)

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
	return s.Store.Run(reader, groupID, runID)
}
