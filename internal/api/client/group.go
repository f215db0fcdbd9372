package client

import (
	"context"
	"io"
	"net/http"

	"reverie/internal/reverie"
)

func groupPath(groupID string) string { return "/v1/groups/" + escaped(groupID) }

// Groups returns a page of groups, by id.
func (c *Client) Groups(ctx context.Context, q reverie.GroupQuery) (reverie.GroupsReply, error) {
	return get[reverie.GroupsReply](ctx, c, "/v1/groups", values{"after": q.After, "state": string(q.State), "name": q.Name, "limit": number(q.Limit)}.given())
}

// Group returns a group and how it stands.
func (c *Client) Group(ctx context.Context, groupID string) (reverie.GroupReply, error) {
	return get[reverie.GroupReply](ctx, c, groupPath(groupID), nil)
}

// Stats says how the memories of a group stand.
func (c *Client) Stats(ctx context.Context, groupID string) (reverie.MemoryStats, error) {
	return get[reverie.MemoryStats](ctx, c, groupPath(groupID)+"/stats", nil)
}

// Nights returns what became of a group's memories night by night, newest first; those
// before a date (YYYY-MM-DD) where one is given.
func (c *Client) Nights(ctx context.Context, groupID, before string, limit int) (reverie.NightsReply, error) {
	return get[reverie.NightsReply](ctx, c, groupPath(groupID)+"/nights", values{"before": before, "limit": number(limit)}.given())
}

// Messages returns a page of a group's messages, oldest first.
func (c *Client) Messages(ctx context.Context, q reverie.MessageQuery) (reverie.MessagesReply, error) {
	return get[reverie.MessagesReply](ctx, c, groupPath(q.GroupID)+"/messages", values{"session": q.SessionID, "before": q.Before,
		"after": q.After, "around": q.Around, "limit": number(q.Limit)}.given())
}

// AddMessages brings messages in, one a line of JSON as `reverie import` reads them. They
// are stored as they come in; sending them again does no harm, but is the caller's.
func (c *Client) AddMessages(ctx context.Context, groupID string, lines io.Reader) (reply reverie.MessagesAdded, err error) {
	_, err = c.ask(ctx, request{method: http.MethodPost, path: groupPath(groupID) + "/messages", stream: lines}, &reply)
	return reply, err
}

// Dream returns what a group's dreams have left.
func (c *Client) Dream(ctx context.Context, groupID string) (reverie.DreamPage, error) {
	return get[reverie.DreamPage](ctx, c, "/v1/dreams/"+escaped(groupID), nil)
}

// Entities returns a page of the people and things of a group, by subject.
func (c *Client) Entities(ctx context.Context, groupID string, f reverie.EntityFilter, limit, offset int) (reverie.EntitiesReply, error) {
	return get[reverie.EntitiesReply](ctx, c, "/v1/entities/"+escaped(groupID), values{"kind": string(f.Kind), "name": f.Name,
		"limit": number(limit), "offset": number(offset)}.given())
}

// Entity returns what is said of somebody or something, by whom, and in which words.
func (c *Client) Entity(ctx context.Context, groupID, entityID string) (reverie.OneEntityReply, error) {
	return get[reverie.OneEntityReply](ctx, c, "/v1/entities/"+escaped(groupID)+"/"+escaped(entityID), nil)
}

// Costs says what models have cost.
func (c *Client) Costs(ctx context.Context, q reverie.CostQuery) (reverie.CostsReply, error) {
	return get[reverie.CostsReply](ctx, c, "/v1/costs", values{"group": q.GroupID, "since": instant(q.Since), "until": instant(q.Until),
		"limit": number(q.Limit)}.given())
}
