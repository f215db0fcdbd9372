package api

import (
	"context"

	"reverie/internal/reverie"
)

// Dream returns what a group's dreams have left.
func (s *Service) Dream(ctx context.Context, groupID string) (reverie.DreamPage, error) {
	ctx, _, err := reading(ctx, groupID, reverie.ScopeRead)
	if err != nil {
		return reverie.DreamPage{}, err
	}
	d, err := s.Store.Dream(ctx, groupID)
	if err != nil {
		return reverie.DreamPage{}, err
	}
	message := ""
	if d.Nothing() {
		message = "no dream yet"
	}
	return d.Page(message), nil
}
