package client

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"reverie/internal/reverie"
)

// Runs returns a page of runs, newest first.
func (c *Client) Runs(ctx context.Context, q reverie.RunQuery) (reverie.RunsReply, error) {
	status := q.Status
	if q.Held {
		status = reverie.RunHeld
	}
	return get[reverie.RunsReply](ctx, c, "/v1/runs", values{"group": q.GroupID, "job": string(q.Job), "status": string(status),
		"since": instant(q.Since), "before": q.Before, "limit": number(q.Limit)}.given())
}

// Run returns everything that is known about a run.
func (c *Client) Run(ctx context.Context, runID string) (reverie.RunReply, error) {
	return get[reverie.RunReply](ctx, c, "/v1/runs/"+escaped(runID), nil)
}

// Approve applies what a run holds.
func (c *Client) Approve(ctx context.Context, runID string) (reverie.EvolveReply, error) {
	return send[reverie.EvolveReply](ctx, c, http.MethodPost, "/v1/runs/"+escaped(runID)+"/approve", nil)
}

// Reject refuses what a run holds; with requeue its messages are pending again.
func (c *Client) Reject(ctx context.Context, runID string, requeue bool) (reverie.RejectReply, error) {
	return send[reverie.RejectReply](ctx, c, http.MethodPost, "/v1/runs/"+escaped(runID)+"/reject", object{"requeue": requeue})
}

// Undo takes the run back that q names, or says what that would come to. Its group is the
// run's own.
func (c *Client) Undo(ctx context.Context, q reverie.UndoQuery) (reverie.UndoReply, error) {
	return send[reverie.UndoReply](ctx, c, http.MethodPost, "/v1/runs/"+escaped(q.RunID)+"/undo", object{"dry_run": q.DryRun, "force": q.Force,
		"requeue": q.Requeue, "reason": q.Reason, "before_sha256": q.Before})
}

// Evolve takes a group's pending messages in, with those of so many days before as
// context, and waits until the run has ended, however long that takes: until ctx ends.
// The run goes on whether or not anybody waits.
//
// A run that the server did not wait for is told of as it stands in the ledger: one that
// was deferred is a [reverie.ErrDeferred], one that failed an error too, beside the
// reply.
func (c *Client) Evolve(ctx context.Context, groupID string, days int) (reverie.EvolveReply, error) {
	var reply reverie.EvolveReply
	for {
		reply = reverie.EvolveReply{}
		accepted, err := c.ask(ctx, request{method: http.MethodPost, path: "/memory/evolve/" + escaped(groupID),
			query: values{"days": number(days)}.given()}, &reply)
		if err != nil || !accepted {
			return reply, err
		}
		if reply.RunID != "" {
			break
		}
		if err := c.pause(ctx); err != nil { // it waits for its turn: who asks again joins it
			return reply, err
		}
	}
	for {
		run, err := c.Run(ctx, reply.RunID)
		if err != nil {
			return reply, err
		}
		if run.Run.Status != reverie.RunRunning {
			return ended(run)
		}
		if err := c.pause(ctx); err != nil {
			return reply, err
		}
	}
}

func (c *Client) pause(ctx context.Context) error {
	t := time.NewTimer(c.opts.poll)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the run goes on: %w", ctx.Err())
	}
}

// ended is a run that has ended in the shape in which the server tells of one that it
// waited for.
func ended(r reverie.RunReply) (reverie.EvolveReply, error) {
	st := r.Run.Stats
	reply := reverie.EvolveReply{Success: true, GroupID: r.Run.GroupID, RunID: r.Run.ID, Status: r.Run.Status, EvolutionTime: r.Run.FinishedAt,
		Error: r.Run.Error, Changes: r.Changes,
		Stats:    st.Evolve(),
		Messages: &reverie.MessageStats{Cited: st.Cited, Considered: st.Considered, Filtered: st.Filtered, Deferred: st.Deferred}}
	for _, c := range r.Chunks {
		reply.Refusals = append(reply.Refusals, c.Refusals...)
	}
	for _, h := range r.Held {
		reply.Warnings = append(reply.Warnings, h.Reason)
	}
	switch r.Run.Status {
	case reverie.RunDeferred:
		reply.Success = false
		return reply, fmt.Errorf("run %s: %s: %w", r.Run.ID, r.Run.Error, reverie.ErrDeferred)
	case reverie.RunFailed:
		reply.Success = false
		return reply, fmt.Errorf("run %s failed: %s", r.Run.ID, r.Run.Error)
	}
	return reply, nil
}
