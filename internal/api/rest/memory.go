package rest

import (
	"context"

	"reverie/internal/recall"
	"reverie/internal/reverie"
)

const memoryTag = "memories"

type listInput struct {
	GroupPath
	Paging
	Status  string  `query:"status" enum:"active,deprecated,archived,held,all" default:"active" doc:"Which versions."`
	Kind    string  `query:"kind" enum:"group,session,dream,team" doc:"Only memories of this kind."`
	Session string  `query:"session" doc:"Only what is of this session."`
	Tag     string  `query:"tag" doc:"Only what bears this tag."`
	At      instant `query:"at" doc:"What was active at this instant; status is then ignored."`
}

type searchInput struct {
	GroupPath
	Q         string  `query:"q" required:"true" doc:"What to look for." example:"when do we meet?"`
	Limit     int     `query:"limit" minimum:"1" maximum:"200" default:"5" doc:"Results at most."`
	Threshold float64 `query:"threshold" minimum:"0" maximum:"1" default:"0.7" doc:"Least score, 0 to 1."`
	Kind      string  `query:"kind" enum:"group,session,dream,team" doc:"Only memories of this kind."`
	At        instant `query:"at" doc:"Search what was active at this instant."`
}

type changesInput struct {
	GroupPath
	Days int `query:"days" minimum:"1" maximum:"3650" default:"7" doc:"How many days back."`
}

type historyInput struct {
	MemoryPath
	At instant `query:"at" doc:"The versions that there were at this instant, each with its status of then."`
}

type blameInput struct {
	MemoryPath
	At instant `query:"at" doc:"As it was at this instant."`
}

type diffInput struct {
	GroupPath
	From    instant `query:"from" required:"true" doc:"What was active at this instant is compared."`
	To      instant `query:"to" doc:"With what was active at this one; now, unless it says otherwise."`
	Kind    string  `query:"kind" enum:"group,session,dream,team" doc:"Only memories of this kind."`
	Passing bool    `query:"passing" doc:"List what came and went in between, too."`
}

type deleteInput struct {
	MemoryPath
	Reason string `query:"reason" maxLength:"300" doc:"Why: it is kept with the change."`
}

type reasonBody struct {
	_      struct{} `additionalProperties:"false"`
	Reason string   `json:"reason,omitempty" maxLength:"300" doc:"Why: it is kept with the change."`
}

type restoreInput struct {
	MemoryPath
	Reason string      `query:"reason" maxLength:"300" doc:"Why: it is kept with the change."`
	Body   *reasonBody `required:"false"`
}

type strengthBody struct {
	_        struct{} `additionalProperties:"false"`
	Strength float64  `json:"strength" minimum:"0" maximum:"1" doc:"How well supported it is; from 0.5 it is established." example:"0.8"`
	Reason   string   `json:"reason,omitempty" maxLength:"300" doc:"Why: it is kept with the change."`
}

type strengthInput struct {
	MemoryPath
	Reason string `query:"reason" maxLength:"300" doc:"Why, where the body does not say."`
	Body   strengthBody
}

// memories are the routes of a group's memories.
func (r *room) memories() {
	add(r, operation{id: "list-memories"}, func(ctx context.Context, in *listInput) (reverie.ListReply, error) {
		status := reverie.Status(in.Status)
		if in.Status == "all" {
			status = ""
		}
		return r.service.List(ctx, reverie.MemoryQuery{GroupID: in.Group, Status: status, Kind: reverie.Kind(in.Kind),
			At:        in.At.at,
			SessionID: in.Session, Tag: in.Tag, Limit: in.Limit, Offset: in.Offset})
	})
	add(r, operation{id: "search-memories"}, func(ctx context.Context, in *searchInput) (reverie.SearchReply, error) {
		q := recall.Query{GroupID: in.Group, Text: in.Q, Limit: in.Limit, Threshold: in.Threshold, At: in.At.at}
		if in.Kind != "" {
			q.Kinds = []reverie.Kind{reverie.Kind(in.Kind)}
		}
		return r.service.Search(ctx, q)
	})
	add(r, operation{id: "get-memory-history"}, func(ctx context.Context, in *historyInput) (reverie.HistoryReply, error) {
		return r.service.History(ctx, in.Memory, in.At.at)
	})
	add(r, operation{id: "get-memory-why"}, func(ctx context.Context, in *struct{ MemoryPath }) (reverie.WhyReply, error) {
		return r.service.Why(ctx, in.Memory)
	})
	add(r, operation{id: "get-memory-blame"}, func(ctx context.Context, in *blameInput) (reverie.BlameReply, error) {
		return r.service.Blame(ctx, in.Memory, in.At.at)
	})
	add(r, operation{id: "get-memory-diff"}, func(ctx context.Context, in *diffInput) (reverie.DiffReply, error) {
		return r.service.Diff(ctx, reverie.BetweenQuery{GroupID: in.Group, From: in.From.at, To: in.To.at,
			Kind: reverie.Kind(in.Kind)}, in.Passing)
	})
	add(r, operation{id: "list-changes"}, func(ctx context.Context, in *changesInput) (reverie.ChangesReply, error) {
		return r.service.Changes(ctx, in.Group, in.Days)
	})
	r.edits()
}

// edits are the routes of changes by hand.
func (r *room) edits() {
	add(r, operation{id: "delete-memory"}, func(ctx context.Context, in *deleteInput) (reverie.MemoryReply, error) {
		return r.service.Edit(ctx, reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionDelete, Reason: in.Reason})
	})
	add(r, operation{id: "restore-memory"}, func(ctx context.Context, in *restoreInput) (reverie.MemoryReply, error) {
		e := reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionRestore, Reason: in.Reason}
		if in.Body != nil && in.Body.Reason != "" {
			e.Reason = in.Body.Reason
		}
		return r.service.Edit(ctx, e)
	})
	add(r, operation{id: "set-memory-strength"}, func(ctx context.Context,
		in *strengthInput) (reverie.MemoryReply, error) {
		e := reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionStrength, Value: in.Body.Strength, Reason: in.Reason}
		if in.Body.Reason != "" {
			e.Reason = in.Body.Reason
		}
		return r.service.Edit(ctx, e)
	})
}
