package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"reverie/internal/reverie"
)

// List returns a page of a group's memories. A limit of 0 is the server's.
func (c *Client) List(ctx context.Context, q reverie.MemoryQuery) (reverie.ListReply, error) {
	if q.Core {
		return reverie.ListReply{}, fmt.Errorf("core memories alone are not listed over HTTP: look at the weights: %w", reverie.ErrInvalid)
	}
	v := values{"status": string(q.Status), "kind": string(q.Kind), "session": q.SessionID, "tag": q.Tag, "at": instant(q.At),
		"limit": number(q.Limit), "offset": number(q.Offset)}
	if q.Status == "" {
		v["status"] = "all"
	}
	return get[reverie.ListReply](ctx, c, "/memory/list/"+escaped(q.GroupID), v.given())
}

// SearchQuery asks for the memories nearest to a text.
type SearchQuery struct {
	Text      string
	Limit     int          // 0 = the server's
	Threshold *float64     // least score, 0..1; nil = the server's
	Kind      reverie.Kind // "" = all
	At        time.Time    // what was active then; zero = now
}

// Search returns the memories of a group that are nearest to a text, best first.
func (c *Client) Search(ctx context.Context, groupID string, q SearchQuery) (reverie.SearchReply, error) {
	v := values{"limit": number(q.Limit), "kind": string(q.Kind), "at": instant(q.At)}
	if q.Threshold != nil {
		v["threshold"] = strconv.FormatFloat(*q.Threshold, 'g', -1, 64)
	}
	query := v.given()
	query.Set("q", q.Text)
	return get[reverie.SearchReply](ctx, c, "/memory/search/"+escaped(groupID), query)
}

// History returns all versions of the lineage that a version belongs to.
func (c *Client) History(ctx context.Context, memoryID string) (reverie.HistoryReply, error) {
	return get[reverie.HistoryReply](ctx, c, "/memory/history/"+escaped(memoryID), nil)
}

// HistoryAt returns the versions of a lineage that there were at an instant, each with its
// status of then.
func (c *Client) HistoryAt(ctx context.Context, memoryID string, at time.Time) (reverie.HistoryReply, error) {
	return get[reverie.HistoryReply](ctx, c, "/memory/history/"+escaped(memoryID), values{"at": instant(at)}.given())
}

// Blame says who wrote a memory, and which version brought each of its words. The zero
// time is now.
func (c *Client) Blame(ctx context.Context, memoryID string, at time.Time) (reverie.BlameReply, error) {
	return get[reverie.BlameReply](ctx, c, "/v1/memories/"+escaped(memoryID)+"/blame", values{"at": instant(at)}.given())
}

// Diff says how what a group remembers differs between two instants. Passing asks for
// what came and went in between, too.
func (c *Client) Diff(ctx context.Context, q reverie.BetweenQuery, passing bool) (reverie.DiffReply, error) {
	v := values{"from": instant(q.From), "to": instant(q.To), "kind": string(q.Kind)}
	if passing {
		v["passing"] = "true"
	}
	return get[reverie.DiffReply](ctx, c, groupPath(q.GroupID)+"/diff", v.given())
}

// Why returns what stands behind the lineage that a version belongs to.
func (c *Client) Why(ctx context.Context, memoryID string) (reverie.WhyReply, error) {
	return get[reverie.WhyReply](ctx, c, "/v1/memories/"+escaped(memoryID)+"/why", nil)
}

// Changes returns what changed in a group's memories over the last days, newest first.
// 0 days are the server's.
func (c *Client) Changes(ctx context.Context, groupID string, days int) (reverie.ChangesReply, error) {
	return get[reverie.ChangesReply](ctx, c, "/memory/changes/"+escaped(groupID), values{"days": number(days)}.given())
}

// Delete ends an active memory, by the id of its head.
func (c *Client) Delete(ctx context.Context, memoryID, reason string) (reverie.MemoryReply, error) {
	return c.edit(ctx, memoryID, request{method: http.MethodDelete, query: values{"reason": reason}.given()})
}

// Restore brings a memory back that was deleted or archived, by the id of its head.
func (c *Client) Restore(ctx context.Context, memoryID, reason string) (reverie.MemoryReply, error) {
	return c.edit(ctx, memoryID, request{method: http.MethodPut, path: "/restore", body: object{"reason": reason}})
}

// SetStrength says how well supported an active memory counts, 0 to 1.
func (c *Client) SetStrength(ctx context.Context, memoryID string, strength float64, reason string) (reverie.MemoryReply, error) {
	return c.edit(ctx, memoryID, request{method: http.MethodPut, path: "/strength", body: object{"strength": strength, "reason": reason}})
}

func (c *Client) edit(ctx context.Context, memoryID string, r request) (reply reverie.MemoryReply, err error) {
	r.path = "/memory/" + escaped(memoryID) + r.path
	_, err = c.ask(ctx, r, &reply)
	var p *Problem
	if errors.As(err, &p) {
		p.memoryID = memoryID
	}
	return reply, err
}

type object = map[string]any

// values are parameters of which empty ones are left out.
type values map[string]string

func (v values) given() url.Values {
	query := url.Values{}
	for name, value := range v {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func instant(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}
