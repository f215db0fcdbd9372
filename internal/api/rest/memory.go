package rest

import (
	"context"
	"net/http"

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
	read := reverie.ScopeRead
	add(r, operation{id: "list-memories", method: http.MethodGet, path: "/memory/list/{group_id}", tag: memoryTag, scope: read,
		summary: "List a group's memories",
		detail:  "A page of a group's memories, oldest lineage first, now or as they were at an instant."},
		func(ctx context.Context, in *listInput) (reverie.ListReply, error) {
			status := reverie.Status(in.Status)
			if in.Status == "all" {
				status = ""
			}
			return r.service.List(ctx, reverie.MemoryQuery{GroupID: in.Group, Status: status, Kind: reverie.Kind(in.Kind), At: in.At.at,
				SessionID: in.Session, Tag: in.Tag, Limit: in.Limit, Offset: in.Offset})
		})
	add(r, operation{id: "search-memories", method: http.MethodGet, path: "/memory/search/{group_id}", tag: memoryTag, scope: read,
		summary: "Search a group's memories by meaning",
		detail: "The memories nearest to a text, best first. Every active memory of the group is compared. The score is the similarity, " +
			"calibrated for the embedding model, 0 to 1. With at, what was active at that instant is searched."},
		func(ctx context.Context, in *searchInput) (reverie.SearchReply, error) {
			q := recall.Query{GroupID: in.Group, Text: in.Q, Limit: in.Limit, Threshold: in.Threshold, At: in.At.at}
			if in.Kind != "" {
				q.Kinds = []reverie.Kind{reverie.Kind(in.Kind)}
			}
			return r.service.Search(ctx, q)
		})
	add(r, operation{id: "get-memory-history", method: http.MethodGet, path: "/memory/history/{memory_id}", tag: memoryTag, scope: read,
		summary: "List all versions of a memory",
		detail:  "All versions of the lineage that a version belongs to, oldest first; with at, those that there were then, each with its status of then."},
		func(ctx context.Context, in *historyInput) (reverie.HistoryReply, error) {
			return r.service.History(ctx, in.Memory, in.At.at)
		})
	add(r, operation{id: "get-memory-why", method: http.MethodGet, path: "/v1/memories/{memory_id}/why", tag: memoryTag, scope: read,
		summary: "Say what stands behind a memory",
		detail:  "For each version of its lineage: what made it, on which evidence, by which run and decision, and what befell it later."},
		func(ctx context.Context, in *struct{ MemoryPath }) (reverie.WhyReply, error) {
			return r.service.Why(ctx, in.Memory)
		})
	add(r, operation{id: "get-memory-blame", method: http.MethodGet, path: "/v1/memories/{memory_id}/blame", tag: memoryTag, scope: read,
		summary: "Say who wrote a memory",
		detail:  "For each version of its lineage the run, model, prompt version and messages that wrote it, and for each word of the newest, which version brought it."},
		func(ctx context.Context, in *blameInput) (reverie.BlameReply, error) {
			return r.service.Blame(ctx, in.Memory, in.At.at)
		})
	add(r, operation{id: "get-memory-diff", method: http.MethodGet, path: "/v1/groups/{group_id}/diff", tag: memoryTag, scope: read,
		summary: "Say how a group's memories differ between two instants",
		detail: "What was active at the one and not at the other, and what says something else, with the changes in between. A version that begins at " +
			"an instant is active at it; one that ends at it is not. At most 1000 of each."},
		func(ctx context.Context, in *diffInput) (reverie.DiffReply, error) {
			return r.service.Diff(ctx, reverie.BetweenQuery{GroupID: in.Group, From: in.From.at, To: in.To.at, Kind: reverie.Kind(in.Kind)}, in.Passing)
		})
	add(r, operation{id: "list-changes", method: http.MethodGet, path: "/memory/changes/{group_id}", tag: memoryTag, scope: read,
		summary: "List what changed in a group's memories",
		detail:  "The change log of the last days, newest first, at most 1000 changes."},
		func(ctx context.Context, in *changesInput) (reverie.ChangesReply, error) {
			return r.service.Changes(ctx, in.Group, in.Days)
		})
	r.edits()
}

// edits are the routes of changes by hand.
func (r *room) edits() {
	write := reverie.ScopeWrite
	add(r, operation{id: "delete-memory", method: http.MethodDelete, path: "/memory/{memory_id}", tag: memoryTag, scope: write,
		summary: "Delete a memory", detail: "Ends the lineage's head. Nothing is lost: it can be restored. " + toHead},
		func(ctx context.Context, in *deleteInput) (reverie.MemoryReply, error) {
			return r.service.Edit(ctx, reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionDelete, Reason: in.Reason})
		})
	add(r, operation{id: "restore-memory", method: http.MethodPut, path: "/memory/{memory_id}/restore", tag: memoryTag, scope: write,
		summary: "Restore a memory", detail: "Makes a new version of a head that was deleted or archived. " + toHead},
		func(ctx context.Context, in *restoreInput) (reverie.MemoryReply, error) {
			e := reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionRestore, Reason: in.Reason}
			if in.Body != nil && in.Body.Reason != "" {
				e.Reason = in.Body.Reason
			}
			return r.service.Edit(ctx, e)
		})
	add(r, operation{id: "set-memory-strength", method: http.MethodPut, path: "/memory/{memory_id}/strength", tag: memoryTag, scope: write,
		summary: "Set the strength of a memory", detail: "Sets how well supported an active memory counts. " + toHead},
		func(ctx context.Context, in *strengthInput) (reverie.MemoryReply, error) {
			e := reverie.Edit{MemoryID: in.Memory, Action: reverie.ActionStrength, Value: in.Body.Strength, Reason: in.Reason}
			if in.Body.Reason != "" {
				e.Reason = in.Body.Reason
			}
			return r.service.Edit(ctx, e)
		})
}

// toHead is what is said of all edits of a memory.
const toHead = "Writing to an old version is a 409 whose head_id and head_version name the lineage's head."
