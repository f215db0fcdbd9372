package api

import (
	"context"

	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// Context makes what a bot is given for its next turn.
func (s *Service) Context(ctx context.Context, req recall.ContextRequest) (reverie.ContextReply, error) {
	ctx, _, err := reading(ctx, req.GroupID, reverie.ScopeRead)
	if err != nil {
		return reverie.ContextReply{}, err
	}
	if err := queryLength(req.Query); err != nil {
		return reverie.ContextReply{}, err
	}
	r, err := s.Recaller(ctx, req.GroupID)
	if err != nil {
		return reverie.ContextReply{}, err
	}
	return r.Context(ctx, req)
}

// Report judges which of the memories that were offered an answer used.
func (s *Service) Report(ctx context.Context, req recall.FeedbackRequest) (reverie.FeedbackReply, error) {
	if _, err := allowed(ctx, req.GroupID, reverie.ScopeWrite); err != nil {
		return reverie.FeedbackReply{}, err
	}
	f, err := s.Feedback(ctx, req.GroupID)
	if err != nil {
		return reverie.FeedbackReply{}, err
	}
	return f.Report(ctx, req)
}
