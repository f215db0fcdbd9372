package client

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"reverie/internal/reverie"
)

// maxTeamAnswer is how many bytes a page of a team's memories may have. Whoever answers
// it is another deployment, which may be set on harm.
const maxTeamAnswer = 16 << 20

// TeamMemories returns a page of a team's memories, deleted ones included, by id: those
// after one, "" for the first. An empty team is the token's own, a limit of 0 the
// server's. What comes is as the other deployment says: [reverie.TeamMemory.Check] holds
// it against what may be kept.
func (c *Client) TeamMemories(ctx context.Context, team, after string, limit int) (reply reverie.TeamMemories, err error) {
	_, err = c.ask(ctx, request{method: http.MethodGet, path: "/v1/team/memories", query: values{"team": team, "after": after, "limit": number(limit)}.given(),
		repeat: true, most: maxTeamAnswer}, &reply)
	return reply, err
}

// AllTeamMemories goes through a team's memories, by id.
func (c *Client) AllTeamMemories(ctx context.Context, team string) iter.Seq2[reverie.TeamMemory, error] {
	after := ""
	return pages(func() ([]reverie.TeamMemory, bool, error) {
		r, err := c.TeamMemories(ctx, team, after, pageSize)
		more := r.Next > after // a server that goes round in circles is left
		after = r.Next
		return r.Memories, more, err
	})
}

// TeamMemory returns a team's memory as it is now, deleted or not.
func (c *Client) TeamMemory(ctx context.Context, team, id string) (m reverie.TeamMemory, err error) {
	_, err = c.ask(ctx, request{method: http.MethodGet, path: "/v1/team/memories/" + escaped(id), query: values{"team": team}.given(),
		repeat: true, most: maxTeamAnswer}, &m)
	return m, err
}

// PutTeamMemory makes a version the newest of a team's memory, where ifVersion is the
// newest; "" creates the memory. Under a key, "" for none, it is made once however often
// it is asked for, and so is asked for again after a passing fault.
//
// Where the memory is another by now the error holds a *reverie.TeamHeadError with it;
// where it holds what may not be kept, a *reverie.TeamRefusedError with the findings.
func (c *Client) PutTeamMemory(ctx context.Context, team string, m reverie.TeamMemory, ifVersion, key string) (reply reverie.TeamMemory, err error) {
	r := request{method: http.MethodPut, path: "/v1/team/memories/" + escaped(m.ID), query: values{"team": team}.given(), body: m,
		header: object{"If-None-Match": "*"}, repeat: key != "", most: maxTeamAnswer}
	if ifVersion != "" {
		r.header = object{"If-Match": `"` + ifVersion + `"`}
	}
	if key != "" {
		r.header["Idempotency-Key"] = key
	}
	_, err = c.ask(ctx, r, &reply)
	var p *Problem
	if errors.As(err, &p) {
		p.memoryID = m.ID
	}
	return reply, err
}
