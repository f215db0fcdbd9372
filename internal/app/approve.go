package app

import (
	"context"

	"reverie/evolve"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store"
)

// ApproveRun applies what a run holds, under its group's lease: see
// [evolve.Pipeline.Approve].
func ApproveRun(
	ctx context.Context, s *store.Store, leases *jobs.Leases, p *evolve.Pipeline, d reverie.RunDetail,
) (res evolve.Result, err error) {
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

// ApproveHeld makes of [ApproveRun] what [api.Service] calls. An approval that fails has
// an error and no reply.
func ApproveHeld(
	s *store.Store, leases *jobs.Leases, p func() *evolve.Pipeline,
) func(context.Context, reverie.RunDetail) (reverie.EvolveReply, error) {
	return func(ctx context.Context, d reverie.RunDetail) (reverie.EvolveReply, error) {
		res, err := ApproveRun(ctx, s, leases, p(), d)
		if err != nil {
			return reverie.EvolveReply{}, err
		}
		return ApproveReply(d.Run, res, nil), nil
	}
}
