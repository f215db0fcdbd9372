package api

import (
	"context"
	"fmt"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/store/links"
)

// Entities returns a page of a group's entities, by subject, without evidence.
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

// Entity returns an entity with its claims, their authors and quotes. With groupID "", it is searched in all groups
// that the caller sees.
func (s *Service) Entity(ctx context.Context, groupID, entityID string) (reverie.OneEntityReply, error) {
	ctx, confined, entityID, err := s.readingOf(ctx, reverie.IDEntity, groupID, entityID)
	if err != nil {
		return reverie.OneEntityReply{}, err
	}
	e, err := s.Store.Entity(ctx, confined, entityID)
	if err != nil {
		return reverie.OneEntityReply{}, err
	}
	r := e.Reply()
	all, err := links.New(s.Store.DB(), "").Of(ctx, e)
	caller, _ := CallerOf(ctx)
	for _, l := range all {
		if caller.Sees(l.OtherGroupID) {
			r.Links = append(r.Links, l)
		}
	}
	return reverie.OneEntityReply{Success: err == nil, EntityReply: r}, err
}

// Link links an entity with an entity of another group, as an account in both proves, or removes the link. The
// caller must be an admin of both groups.
func (s *Service) Link(ctx context.Context, a, b reverie.EntityEnd, linked bool) (reverie.LinksReply, error) {
	for _, end := range []*reverie.EntityEnd{&a, &b} {
		_, err := allowed(ctx, end.GroupID, reverie.ScopeAdmin)
		if err == nil && linked {
			end.EntityID, err = s.Store.WholeID(ctx, reverie.IDEntity, end.GroupID, end.EntityID)
		}
		if err == nil && !reverie.IsID(end.EntityID) {
			err = fmt.Errorf("entity %q of group %q: %w", end.EntityID, end.GroupID, reverie.ErrNotFound)
		}
		if err != nil {
			return reverie.LinksReply{}, err
		}
	}
	all, err := links.New(s.Store.DB(), ""), error(nil)
	if linked {
		err = all.Link(ctx, reverie.LinkQuery{A: a, B: b, Platform: ingest.SamePlatform(a.GroupID, b.GroupID)})
	} else {
		err = all.Unlink(ctx, a, b)
	}
	if err != nil {
		return reverie.LinksReply{}, err
	}
	list, err := all.Of(ctx, reverie.Entity{GroupID: a.GroupID, ID: a.EntityID})
	return reverie.LinksReply{Success: err == nil, GroupID: a.GroupID, EntityID: a.EntityID, Links: list}, err
}

// EntityHistory returns the history of an entity, oldest first.
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

// Dream returns the result of a group's dreams.
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
