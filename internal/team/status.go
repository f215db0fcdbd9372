package team

import (
	"context"

	"reverie/internal/reverie"
)

// Status says what a push and a pull would do, and writes nothing. Where the other side
// cannot be heard, the reply has all that is known here, and the error says why.
func (s *Syncer) Status(ctx context.Context) (reverie.TeamStatusReply, error) {
	reply := reverie.TeamStatusReply{Team: s.Team, Remote: s.URL}
	at, err := s.Store.LastTeamSync(ctx, s.Team, s.URL)
	if err != nil {
		return reply, err
	}
	if !at.IsZero() {
		reply.LastSync = &at
	}
	states, err := s.Store.TeamStates(ctx, s.Team, s.URL)
	if err != nil {
		return reply, err
	}
	for _, m := range states {
		if m.Status == reverie.StatusActive {
			reply.Active++
		}
	}
	if reply.Push, err = s.Push(ctx, PushOptions{DryRun: true}); err != nil {
		return reply, err
	}
	reply.Conflicts = len(reply.Push.Conflicts)
	pulled, err := s.Pull(ctx, PullOptions{DryRun: true})
	if err != nil {
		reply.Problem = err.Error()
		return reply, err
	}
	reply.Pull, reply.Success = &pulled, true
	return reply, nil
}
