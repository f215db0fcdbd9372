package api

import (
	"context"

	"reverie/internal/reverie"
)

// EntityHistory returns what became of somebody or something, oldest first.
func (s *Service) EntityHistory(ctx context.Context, groupID, entityID string) (reverie.EntityHistoryReply, error) {
	ctx, confined, err := reading(ctx, groupID, reverie.ScopeRead)
	if err != nil {
		return reverie.EntityHistoryReply{}, err
	}
	e, err := s.Store.Entity(ctx, confined, entityID)
	if err != nil {
		return reverie.EntityHistoryReply{}, err
	}
	changes, claims, err := s.Store.EntityHistory(ctx, e.GroupID, e.ID)
	if err != nil {
		return reverie.EntityHistoryReply{}, err
	}
	return reverie.NewEntityHistoryReply(e, changes, claims), nil
}
