package rest

import (
	"context"

	"reverie/internal/reverie"
)

const peopleTag = "dreams and people"

type entitiesInput struct {
	GroupPath
	Paging
	Kind string `query:"kind" enum:"person,bot,thing" doc:"Only entities of this kind."`
	Name string `query:"name" maxLength:"80" doc:"Part of a name."`
}

type entityInput struct {
	GroupPath
	Entity string `path:"entity_id" doc:"The entity's id." example:"0197f3a0-2b3c-7d4e-8f5a-6b7c8d9e0f1a"`
}

type costsInput struct {
	Group string  `query:"group" doc:"Only what was spent for this group."`
	Since instant `query:"since" doc:"From this instant on; 30 days ago where it is not given."`
	Until instant `query:"until" doc:"Before this instant; now where it is not given."`
	Limit int     `query:"limit" minimum:"1" maximum:"200" default:"100" doc:"Rows at most, of each part."`
}

// people are the routes of dreams, of people and things, and of costs.
func (r *room) people() {
	add(r, operation{id: "get-dream"}, func(ctx context.Context, in *struct{ GroupPath }) (reverie.DreamPage, error) {
		return r.service.Dream(ctx, in.Group)
	})
	add(r, operation{id: "list-entities"}, func(ctx context.Context, in *entitiesInput) (reverie.EntitiesReply, error) {
		return r.service.Entities(ctx, in.Group, reverie.EntityFilter{Kind: reverie.EntityKind(in.Kind), Name: in.Name},
			in.Limit, in.Offset)
	})
	add(r, operation{id: "get-entity"}, func(ctx context.Context, in *entityInput) (reverie.OneEntityReply, error) {
		return r.service.Entity(ctx, in.Group, in.Entity)
	})
	add(r, operation{id: "get-costs"}, func(ctx context.Context, in *costsInput) (reverie.CostsReply, error) {
		return r.service.Costs(ctx, reverie.CostQuery{GroupID: in.Group, Since: in.Since.at, Until: in.Until.at,
			Limit: in.Limit})
	})
}
