package rest

import (
	"context"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/api/problem"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

const groupTag = "groups"

type groupsInput struct {
	After string `query:"after" doc:"Only groups after this id: the next of the page before."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Groups at most."`
	State string `query:"state" enum:"active,paused,parked" doc:"Only groups in this state."`
	Name  string `query:"name" maxLength:"200" doc:"Only groups whose id or name has this in it, in large or small letters."`
}

type oneGroupReply struct {
	Success bool `json:"success"`
	reverie.GroupReply
}

type groupStatsReply struct {
	Success bool `json:"success"`
	reverie.MemoryStats
}

type messagesInput struct {
	GroupPath
	Session string `query:"session" doc:"Only messages of this session."`
	Before  string `query:"before" doc:"A message id: only older ones."`
	After   string `query:"after" doc:"A message id: only newer ones, the oldest of them first."`
	Around  string `query:"around" doc:"A message id: it, and what was said before and after it."`
	Limit   int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Messages at most."`
}

// streamInput hands a body on as it comes in.
type streamInput struct {
	GroupPath
	body    io.Reader
	charset string // that it says it is in; "" where it does not
}

// Resolve takes the body of the request.
func (in *streamInput) Resolve(ctx huma.Context) []error {
	in.body = ctx.BodyReader()
	if _, params, err := mime.ParseMediaType(ctx.Header("Content-Type")); err == nil {
		in.charset = strings.ToLower(params["charset"])
	}
	return nil
}

type nightsInput struct {
	GroupPath
	Before string `query:"before" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$" patternDescription:"a date such as 2026-01-15" doc:"Only nights before this date." example:"2026-01-15"`
	Limit  int    `query:"limit" minimum:"1" maximum:"60" default:"14" doc:"Nights at most."`
}

// groups are the routes of groups, of what was said in them, and of their nights.
func (r *room) groups() {
	add(r, operation{id: "list-groups"}, func(ctx context.Context, in *groupsInput) (reverie.GroupsReply, error) {
		return r.service.Groups(ctx, reverie.GroupQuery{After: in.After, Limit: in.Limit,
			State: reverie.GroupState(in.State), Name: in.Name})
	})
	add(r, operation{id: "get-group"}, func(ctx context.Context, in *struct{ GroupPath }) (oneGroupReply, error) {
		g, err := r.service.Group(ctx, in.Group)
		return oneGroupReply{true, g}, err
	})
	add(r, operation{id: "get-group-stats"}, func(ctx context.Context, in *struct{ GroupPath }) (groupStatsReply, error) {
		s, err := r.service.Stats(ctx, in.Group)
		return groupStatsReply{true, s}, err
	})
	add(r, operation{id: "list-nights"}, func(ctx context.Context, in *nightsInput) (reverie.NightsReply, error) {
		return r.service.Nights(ctx, in.Group, in.Before, in.Limit)
	})
	add(r, operation{id: "list-messages"}, func(ctx context.Context, in *messagesInput) (reverie.MessagesReply, error) {
		return r.service.Messages(ctx, reverie.MessageQuery{GroupID: in.Group, SessionID: in.Session, Before: in.Before,
			After:  in.After,
			Around: in.Around, Limit: in.Limit})
	})
	add(r, operation{id: "add-messages", body: &huma.RequestBody{Required: true,
		Content: map[string]*huma.MediaType{"application/x-ndjson": {Schema: &huma.Schema{Type: huma.TypeString},
			Example: messagesExample}}}},
		func(ctx context.Context, in *streamInput) (reverie.MessagesAdded, error) {
			if !slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, in.charset) {
				return reverie.MessagesAdded{}, problem.New(http.StatusUnsupportedMediaType,
					"messages are read in UTF-8 alone: convert them first, as with iconv")
			}
			added, err := r.service.AddMessages(ctx, in.Group, in.body)
			if err == nil && added.BadCount > 0 && added.New+added.Known == 0 {
				return added, nothingAdded(added)
			}
			return added, err
		})
}

const (
	addMessages = "The body is a message a line, as `reverie import` reads JSON Lines, stored as it comes in. A " +
		"message whose id is known stays as it was, " +
		"so that sending again does no harm. Lines that cannot be taken are told of, the first ones each, and do not keep " +
		"the others out: " +
		"success then is false. Where no line at all could be taken the answer is a 422. The group is made if there is none."
	messagesExample = `{"id":"m1","author":"Ann","text":"See you on Friday","sent_at":"2026-01-15T12:30:00Z"}` + "\n"
)

// nothingAdded is the answer to a body without one good line.
func nothingAdded(added reverie.MessagesAdded) *problem.Problem {
	p := problem.New(http.StatusUnprocessableEntity, "not one line could be taken as a message")
	for _, b := range added.Bad {
		p.Errors = append(p.Errors, problem.Detail{Location: lineOf(b), Message: text.Excerpt(b.Reason, problem.MaxMessage)})
	}
	return p
}
