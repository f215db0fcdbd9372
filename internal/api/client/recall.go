package client

import (
	"context"
	"net/http"
	"time"

	"reverie/internal/reverie"
)

// ContextQuery asks for what a bot should have before it for its next turn.
type ContextQuery struct {
	Query     string `json:"query,omitempty"`      // what it is asked
	SessionID string `json:"session,omitempty"`    // "" = none
	MaxTokens int    `json:"max_tokens,omitempty"` // of the text; 0 = the server's
	// At asks for the context as it would have been at an instant; nothing is logged as
	// used. Zero is now.
	At time.Time `json:"at,omitzero"`
}

// Context makes what a bot is given for its next turn.
func (c *Client) Context(ctx context.Context, groupID string, q ContextQuery) (reply reverie.ContextReply, err error) {
	_, err = c.ask(ctx, request{method: http.MethodPost, path: groupPath(groupID) + "/context", body: q, repeat: true}, &reply)
	return reply, err
}

// Explain makes the context that [Client.Context] would, and says of every memory that
// was looked at what became of it. Nothing is logged as used.
func (c *Client) Explain(ctx context.Context, groupID string, q ContextQuery) (reply reverie.Recalled, err error) {
	_, err = c.ask(ctx, request{method: http.MethodPost, path: groupPath(groupID) + "/explain", body: q, repeat: true}, &reply)
	return reply, err
}

// Answer is what a bot answered after it was given a context.
type Answer struct {
	UsageID   string `json:"usage_id,omitempty"`   // of the context
	SessionID string `json:"session_id,omitempty"` // its newest context, where UsageID is not known
	Response  string `json:"response"`
}

// Feedback judges which of the memories that were offered an answer used. It does so once
// for each context: what names it by its id is sent again after a passing fault.
func (c *Client) Feedback(ctx context.Context, groupID string, a Answer) (reply reverie.FeedbackReply, err error) {
	_, err = c.ask(ctx, request{method: http.MethodPost, path: groupPath(groupID) + "/feedback", body: a, repeat: a.UsageID != ""}, &reply)
	return reply, err
}

// Propose has a person decide on what is to be remembered, or forgotten.
func (c *Client) Propose(ctx context.Context, p reverie.Proposal) (reverie.ProposalReply, error) {
	body := object{"action": p.Action, "reason": p.Reason}
	for name, value := range map[string]string{"memory_id": p.MemoryID, "statement": p.Statement} {
		if value != "" {
			body[name] = value
		}
	}
	var evidence []object
	for _, e := range p.Evidence {
		one := object{"message_id": e.MessageID}
		if e.Quote != "" {
			one["quote"] = e.Quote
		}
		evidence = append(evidence, one)
	}
	if evidence != nil {
		body["evidence"] = evidence
	}
	return send[reverie.ProposalReply](ctx, c, http.MethodPost, groupPath(p.GroupID)+"/proposals", body)
}
