package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/reverie"
)

const runTag = "runs"

type evolveInput struct {
	GroupPath
	Days int `query:"days" minimum:"0" maximum:"3650" default:"0" doc:"Show the model this many days of consumed messages, too."`
}

// runningReply says that a run goes on.
type runningReply struct {
	Success bool              `json:"success"`
	GroupID string            `json:"group_id"`
	RunID   string            `json:"run_id,omitempty" doc:"Where it has come that far."`
	Status  reverie.RunStatus `json:"status"`
}

type evolveAnswer struct {
	Status   int
	Location string `header:"Location"`
	Body     any
}

type runsInput struct {
	Group  string  `query:"group" doc:"Only runs of this group."`
	Job    string  `query:"job" doc:"Only runs of this job, such as evolve or dream." maxLength:"40"`
	Status string  `query:"status" enum:"running,succeeded,held,deferred,failed,rejected" doc:"Only runs that stand so; held: of which a plan waits."`
	Since  instant `query:"since" doc:"Only runs that started at this instant or later."`
	Before string  `query:"before" doc:"A run id: only older ones."`
	Limit  int     `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Runs at most."`
}

type approveInput struct {
	RunPath
	Body *struct {
		_    struct{} `additionalProperties:"false"`
		Plan string   `json:"plan,omitempty" minLength:"1" doc:"Not accepted any more: what a run holds is approved or rejected as it is." deprecated:"true"`
	} `nameHint:"ApproveBody" required:"false"`
}

type rejectInput struct {
	RunPath
	Body *struct {
		_       struct{} `additionalProperties:"false"`
		Requeue bool     `json:"requeue,omitempty" doc:"Make its messages pending again."`
	} `nameHint:"RejectBody" required:"false"`
}

type undoInput struct {
	RunPath
	Body *struct {
		_       struct{} `additionalProperties:"false"`
		DryRun  bool     `json:"dry_run,omitempty" doc:"Say what it would come to, and write nothing."`
		Force   bool     `json:"force,omitempty" doc:"Put back what others have changed since, too."`
		Requeue bool     `json:"requeue,omitempty" doc:"Let what the run has read wait to be read again."`
		Reason  string   `json:"reason,omitempty" maxLength:"300" doc:"Why: it is kept with the changes."`
		Before  string   `json:"before_sha256,omitempty" doc:"The before_sha256 of a dry run: where something else is active by now, the answer is a 409."`
	} `nameHint:"UndoBody" required:"false"`
}

// query is what is asked for.
func (in *undoInput) query() reverie.UndoQuery {
	q := reverie.UndoQuery{RunID: in.Run}
	if b := in.Body; b != nil {
		q.DryRun, q.Force, q.Requeue, q.Reason, q.Before = b.DryRun, b.Force, b.Requeue, b.Reason, b.Before
	}
	return q
}

// runs are the routes of runs: what is begun, looked at and decided.
func (r *room) runs() {
	r.evolve()
	add(r, operation{id: "list-runs"}, func(ctx context.Context, in *runsInput) (reverie.RunsReply, error) {
		return r.service.Runs(ctx, reverie.RunQuery{GroupID: in.Group, Job: reverie.Job(in.Job),
			Status: reverie.RunStatus(in.Status),
			Since:  in.Since.at, Before: in.Before, Limit: in.Limit})
	})
	add(r, operation{id: "get-run"}, func(ctx context.Context, in *struct{ RunPath }) (reverie.RunReply, error) {
		return r.service.Run(ctx, in.Run)
	})
	add(r, operation{id: "approve-run"}, func(ctx context.Context, in *approveInput) (reverie.EvolveReply, error) {
		if in.Body != nil && in.Body.Plan != "" {
			return reverie.EvolveReply{}, fmt.Errorf("plan: what a run holds cannot be edited any more: "+
				"approve without it, or reject with requeue: %w", reverie.ErrInvalid)
		}
		return r.service.Approve(ctx, in.Run)
	})
	add(r, operation{id: "reject-run"}, func(ctx context.Context, in *rejectInput) (reverie.RejectReply, error) {
		return r.service.Reject(ctx, in.Run, in.Body != nil && in.Body.Requeue)
	})
	add(r, operation{id: "undo-run"}, func(ctx context.Context, in *undoInput) (reverie.UndoReply, error) {
		return r.service.Undo(ctx, in.query())
	})
}

// evolve is the one route that answers in two ways.
func (r *room) evolve() {
	schemas := r.api.OpenAPI().Components.Schemas
	shape := func(v any, description string) *huma.Response {
		return &huma.Response{Description: description,
			Content: map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(reflect.TypeOf(v), true, "")}}}
	}
	accepted := shape(runningReply{}, "It goes on: look at the run")
	accepted.Headers = map[string]*huma.Param{"Location": {Description: "The run",
		Schema: &huma.Schema{Type: huma.TypeString}}}
	op := operation{id: "evolve-group", answers: map[string]*huma.Response{"200": shape(reverie.EvolveReply{},
		"What it did"), "202": accepted}}
	huma.Register(r.api, r.documented(op), func(ctx context.Context, in *evolveInput) (*evolveAnswer, error) {
		done, err := r.service.Evolve(ctx, in.Group, in.Days)
		switch {
		case err != nil:
			return nil, r.fail(ctx, op, err)
		case done.Done:
			return &evolveAnswer{Status: http.StatusOK, Body: done.Reply}, nil
		}
		a := &evolveAnswer{Status: http.StatusAccepted, Body: runningReply{true, in.Group, done.RunID, reverie.RunRunning}}
		if done.RunID != "" {
			a.Location = "/v1/runs/" + url.PathEscape(done.RunID)
		}
		return a, nil
	})
}
