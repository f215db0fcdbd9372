package rest

import (
	"context"
	"fmt"

	"reverie/internal/recall"
	"reverie/internal/reverie"
)

const recallTag = "recall"

type contextInput struct {
	GroupPath
	Query     string  `query:"query" maxLength:"10000" doc:"What the bot is asked." example:"when do we meet?"`
	Session   string  `query:"session" doc:"The session: its last turns are given, too."`
	MaxTokens int     `query:"max_tokens" minimum:"0" maximum:"100000" doc:"Tokens of the text at most; 0 = as configured."`
	At        instant `query:"at" doc:"The context as it would have been at this instant; nothing is logged as used."`
}

type contextBody struct {
	_         struct{} `additionalProperties:"false"`
	Query     string   `json:"query,omitempty" maxLength:"10000" doc:"What the bot is asked." example:"when do we meet?"`
	Session   string   `json:"session,omitempty" doc:"The session: its last turns are given, too."`
	MaxTokens int      `json:"max_tokens,omitempty" minimum:"0" maximum:"100000" doc:"Tokens of the text at most; 0 = as configured."`
	At        instant  `json:"at,omitempty" doc:"The context as it would have been at this instant; nothing is logged as used."`
}

type makeContextInput struct {
	GroupPath
	Body contextBody
}

func (in *makeContextInput) request() recall.ContextRequest {
	return recall.ContextRequest{GroupID: in.Group, SessionID: in.Body.Session, Query: in.Body.Query,
		MaxTokens: in.Body.MaxTokens, At: in.Body.At.at}
}

type feedbackInput struct {
	GroupPath
	Body struct {
		_        struct{} `additionalProperties:"false"`
		Usage    string   `json:"usage_id,omitempty" doc:"Of the context that was given."`
		Session  string   `json:"session_id,omitempty" doc:"Its newest context, where usage_id is not known."`
		Response string   `json:"response" minLength:"1" doc:"What the bot answered." example:"We meet on Friday at eight."`
	} `nameHint:"FeedbackBody"`
}

type proposalInput struct {
	GroupPath
	Body struct {
		_         struct{}           `additionalProperties:"false"`
		Action    string             `json:"action" enum:"create,update,delete" doc:"What is to be done."`
		MemoryID  string             `json:"memory_id,omitempty" doc:"The head that is to be updated or deleted."`
		Statement string             `json:"statement,omitempty" maxLength:"500" doc:"What is to be remembered (create, update)." example:"The group meets on Fridays."`
		Reason    string             `json:"reason" maxLength:"300" doc:"Why." example:"Ann said so twice."`
		Evidence  []proposalEvidence `json:"evidence,omitempty" maxItems:"20" doc:"Messages that say so."`
	} `nameHint:"ProposalBody"`
}

type proposalEvidence struct {
	_         struct{} `additionalProperties:"false"`
	MessageID string   `json:"message_id" minLength:"1" doc:"A message of the group."`
	Quote     string   `json:"quote,omitempty" maxLength:"2000" doc:"Words that stand in it."`
}

// recall are the routes of bots: what they read for a turn, and what they report.
func (r *room) recall() {
	add(r, operation{id: "get-context"}, func(ctx context.Context, in *contextInput) (reverie.ContextReply, error) {
		return r.service.Context(ctx, recall.ContextRequest{GroupID: in.Group, SessionID: in.Session, Query: in.Query,
			MaxTokens: in.MaxTokens, At: in.At.at})
	})
	add(r, operation{id: "make-context"}, func(ctx context.Context, in *makeContextInput) (reverie.ContextReply, error) {
		return r.service.Context(ctx, in.request())
	})
	add(r, operation{id: "explain-context"}, func(ctx context.Context, in *makeContextInput) (reverie.Recalled, error) {
		return r.service.Explain(ctx, in.request())
	})
	add(r, operation{id: "give-feedback"}, func(ctx context.Context, in *feedbackInput) (reverie.FeedbackReply, error) {
		return r.service.Report(ctx, recall.FeedbackRequest{GroupID: in.Group, SessionID: in.Body.Session,
			UsageID: in.Body.Usage, Response: in.Body.Response})
	})
	add(r, operation{id: "propose-memory"}, func(ctx context.Context, in *proposalInput) (reverie.ProposalReply, error) {
		p := reverie.Proposal{GroupID: in.Group, Action: reverie.Action(in.Body.Action), MemoryID: in.Body.MemoryID,
			Statement: in.Body.Statement, Reason: in.Body.Reason}
		for _, e := range in.Body.Evidence {
			p.Evidence = append(p.Evidence, reverie.Evidence{MessageID: e.MessageID, Quote: e.Quote})
		}
		return r.service.Propose(ctx, p)
	})
}

func lineOf(b reverie.BadLine) string { return fmt.Sprintf("body.line %d", b.Line) }
