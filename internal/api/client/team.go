package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"reverie/internal/reverie"
)

// maxTeamAnswer is how many bytes a page of a team's memories may have. Whoever answers
// it is another deployment, which may be set on harm.
const maxTeamAnswer = 16 << 20

// TeamMemories returns a page of a team's memories, deleted ones included, by id: those
// after one, "" for the first. An empty team is the token's own, a limit of 0 the
// server's. What comes is as the other deployment says: [reverie.TeamMemory.Check] holds
// it against what may be kept.
func (c *Client) TeamMemories(ctx context.Context, team, after string, limit int) (reverie.TeamMemories, error) {
	query := url.Values{}
	for name, value := range map[string]string{"team": team, "after": after} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return Do[reverie.TeamMemories](ctx, c, Request{Method: http.MethodGet, Path: "/v1/team/memories", Query: query,
		Repeat: true, Most: maxTeamAnswer})
}

// PutTeamMemory makes a version the newest of a team's memory, where ifVersion is the
// newest; "" creates the memory. Under a key, "" for none, it is made once however often
// it is asked for, and so is asked for again after a passing fault.
//
// Where the memory is another by now the error holds a *reverie.TeamHeadError with it;
// where it holds what may not be kept, a *reverie.TeamRefusedError with the findings.
func (c *Client) PutTeamMemory(ctx context.Context, team string, m reverie.TeamMemory,
	ifVersion, key string) (reverie.TeamMemory, error) {
	r := Request{Method: http.MethodPut, Path: Path("v1", "team", "memories", m.ID), Query: url.Values{"team": {team}},
		Body: m, Header: map[string]string{"If-None-Match": "*"}, Repeat: key != "", Most: maxTeamAnswer}
	if ifVersion != "" {
		r.Header = map[string]string{"If-Match": `"` + ifVersion + `"`}
	}
	if key != "" {
		r.Header["Idempotency-Key"] = key
	}
	reply, err := Do[reverie.TeamMemory](ctx, c, r)
	var p *Problem
	if errors.As(err, &p) {
		p.memoryID = m.ID
	}
	return reply, err
}
