package api

import (
	"context"

	"reverie/internal/reverie"
)

// Entities returns a page of the people and things of a group, by subject, without the
// evidence of what is said of them.
func (s *Service) Entities(ctx context.Context, groupID string, f reverie.EntityFilter, limit, offset int) (reverie.EntitiesReply, error) {
	ctx, _, err := reading(ctx, groupID, reverie.ScopeRead, page(limit, offset), oneOf("kind", f.Kind, reverie.EntityKinds))
	if err != nil {
		return reverie.EntitiesReply{}, err
	}
	list, total, err := s.Store.ListEntities(ctx, groupID, f, limit, offset)
	if err != nil {
		return reverie.EntitiesReply{}, err
	}
	return reverie.NewEntitiesReply(groupID, total, list), nil
}

// Entity returns what is said of somebody or something, by whom, and in which words.
// Where groupID is "", it is looked for in all groups that the caller sees.
func (s *Service) Entity(ctx context.Context, groupID, entityID string) (reverie.OneEntityReply, error) {
	ctx, confined, entityID, err := s.readingOf(ctx, reverie.IDEntity, groupID, entityID)
	if err != nil {
		return reverie.OneEntityReply{}, err
	}
	e, err := s.Store.Entity(ctx, confined, entityID)
	if err != nil {
		return reverie.OneEntityReply{}, err
	}
	return reverie.OneEntityReply{Success: true, EntityReply: e.Reply()}, nil
}

// EntityHistory returns what became of somebody or something, oldest first.
func (s *Service) EntityHistory(ctx context.Context, groupID, entityID string) (reverie.EntityHistoryReply, error) {
	ctx, confined, entityID, err := s.readingOf(ctx, reverie.IDEntity, groupID, entityID)
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
