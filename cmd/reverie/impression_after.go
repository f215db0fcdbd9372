package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reverie/evolve"
	"reverie/internal/cli"
	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store"
)

// queue is the store as the impression job sees it: what is pending in it are
// messages that evolve has taken in.
func (a *app) queue() store.Queue { return a.store.For(reverie.JobImpression) }

// follows tells whether people and things of a group are followed.
func (a *app) follows(g reverie.Group) bool {
	return g.Impressions == "on" || g.Impressions == "" && a.cfg.Impression.Enabled
}

// followed is a plan that leaves out the groups whose people are not followed: what
// waits there, from when they were, goes on waiting.
func (a *app) followed(plan jobs.Plan) jobs.Plan {
	return func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		if !a.follows(g.Group) {
			return jobs.Agenda{}, nil
		}
		return plan(ctx, g)
	}
}

// impressions has the impression job follow a fan-out of evolve, over the same
// groups: it takes what waits, from this time or from before. Nothing is begun
// where evolve was stopped, and not a word said where nothing waits. out is nil for
// the daemon, whose log says it all.
func (f *fanOut) impressions(ctx context.Context, p *entity.Pipeline, plan jobs.Plan, stop <-chan struct{}, out *show, summary jobs.Summary, err error) (jobs.Summary, error) {
	if partial := (*jobs.PartialError)(nil); summary.Stopped != "" || err != nil && !errors.As(err, &partial) {
		return jobs.Summary{}, nil
	}
	next := &fanOut{app: f.app, job: impressionJob(p, entity.Request{}), plan: f.followed(plan), shard: f.shard, group: f.group, ignoreRetry: f.ignoreRetry,
		showGroup: f.logGroup(reverie.JobImpression)}
	if out == nil {
		return next.run(ctx, stop)
	}
	of := show{f.app, reverie.JobImpression, out.asJSON}
	next.show, next.showGroup = of.window, of.group
	summary, err = next.run(ctx, stop)
	return summary, errors.Join(err, of.summary(summary, err, ""))
}

// observeAfter has the impression job follow evolve on a window of one group, whose
// lease is held, and shows its progress where that is wanted. The result is the zero
// one where nothing waits.
func (a *app) observeAfter(ctx context.Context, p *entity.Pipeline, held *jobs.Held, g reverie.Group, req evolve.Request) (res entity.Result, err error) {
	due, err := a.store.DueGroups(ctx, reverie.DueQuery{Job: reverie.JobImpression, GroupID: req.GroupID, Limit: 1})
	if err != nil {
		return res, err
	}
	if len(due) == 0 { // but one that was killed may lack its last line
		return res, a.settleGroup(ctx, held, reverie.JobImpression)
	}
	if s := due[0].Setback; s != nil && s.ParkedAt != nil {
		a.notify("warning: ", fmt.Sprintf("impressions of group %q are passed over: %s; %s", req.GroupID, cli.SetbackText(*s), cli.Remedy(*s, req.GroupID)))
		return res, nil
	}
	done := a.runOne(ctx, impressionJob(p, entity.Request{}),
		jobs.Request{Group: g, Window: reverie.Window{Since: req.Since, Until: req.Until}, Held: held})
	if res, _ = done.Last().Result.(entity.Result); res.NoNew || errors.Is(done.Err, reverie.ErrLeaseLost) {
		res = entity.Result{}
	}
	return res, done.Err
}

// gravest joins the errors of two jobs so that the exit code is that of what
// failed, where the other only waits for its next turn.
func gravest(first, second error) error {
	if second != nil && exitCode(first, false) == exitDeferred {
		first, second = second, first
	}
	return errors.Join(first, second)
}

// impressionReply is a result in the shape of the API.
func (a *app) impressionReply(ctx context.Context, r entity.Result) reverie.ImpressionsReply {
	reply := reverie.ImpressionsReply{Success: r.Err == nil, Job: reverie.JobImpression, GroupID: r.GroupID, RunID: r.RunID, DryRun: r.DryRun,
		Status: r.Status, Stats: reverie.ImpressionStats{Created: r.Stats.Created, Updated: r.Stats.Updated, Postponed: r.Stats.Postponed, Refused: r.Stats.Refused},
		Changes: []reverie.EntityChangeReply{}, Refusals: r.Refusals, Warnings: r.Warnings}
	if r.Err != nil {
		reply.Error = r.Err.Error()
	}
	if r.NoNew {
		reply.Status, reply.Message = "", "nothing waits"
		return reply
	}
	if !r.At.IsZero() {
		reply.ImpressionTime = &r.At
	}
	reply.Messages = &reverie.MessageStats{Cited: r.Stats.Cited, Considered: r.Stats.Considered, Filtered: r.Stats.Filtered, Deferred: r.Stats.Deferred}
	reply.Changes = append(reply.Changes, reverie.EntityChangeReplies(r.Changes, a.subjects(ctx, r.GroupID, r.Changes))...)
	return reply
}

// subjects are the names of what changed. Those that cannot be read are left out:
// the changes are written all the same.
func (a *app) subjects(ctx context.Context, groupID string, changes []reverie.EntityChange) map[string]string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	names, err := a.store.Subjects(ctx, groupID, changes)
	if err != nil {
		a.log.Warn("the names of what changed could not be read", "group_id", groupID, "error", err)
	}
	return names
}
