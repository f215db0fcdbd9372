package app

import (
	"context"
	"errors"
	"time"

	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store"
)

// Queue is the store as the impression job sees it: what is pending in it are
// messages that evolve has taken in.
func (a *App) Queue() store.Queue { return a.Store.For(reverie.JobImpression) }

// Follows tells whether people and things of a group are followed.
func (a *App) Follows(g reverie.Group) bool {
	return g.Impressions == "on" || g.Impressions == "" && a.Config.Impression.Enabled
}

// Followed is a plan that leaves out the groups whose people are not followed: what
// waits there, from when they were, goes on waiting.
func (a *App) Followed(plan jobs.Plan) jobs.Plan {
	return func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		if !a.Follows(g.Group) {
			return jobs.Agenda{}, nil
		}
		return plan(ctx, g)
	}
}

// Impressions is the fan-out of the impression job that follows one of evolve, over the
// same groups: it takes what waits, from this time or from before. It is nil where evolve
// was stopped, after which nothing is begun.
func (f *FanOut) Impressions(p *entity.Pipeline, plan jobs.Plan, summary jobs.Summary, err error) *FanOut {
	if partial := (*jobs.PartialError)(nil); summary.Stopped != "" || err != nil && !errors.As(err, &partial) {
		return nil
	}
	next := f.App.FanOut(f.App.ImpressionJob(p, entity.Request{}), f.App.Followed(plan))
	next.Shard, next.GroupID, next.IgnoreRetry = f.Shard, f.GroupID, f.IgnoreRetry
	return next
}

// observeAfter has the impression job follow evolve on a window of one group, whose
// lease is held.
func (a *App) observeAfter(ctx context.Context, p *entity.Pipeline, held *jobs.Held, g reverie.Group, w reverie.Window, end *Evolved) error {
	due, err := a.Store.DueGroups(ctx, reverie.DueQuery{Job: reverie.JobImpression, GroupID: g.ID, Limit: 1})
	if err != nil {
		return err
	}
	if len(due) == 0 { // but one that was killed may lack its last line
		return a.settleGroup(ctx, held, reverie.JobImpression)
	}
	if s := due[0].Setback; s != nil && s.ParkedAt != nil {
		end.Parked = s
		return nil
	}
	done := a.RunOne(ctx, a.ImpressionJob(p, entity.Request{}),
		jobs.Request{Group: g, Window: w, Held: held})
	if run := done.Last(); run.RunID != "" {
		end.Next, _ = run.Result.(entity.Result)
	}
	return done.Err
}

// Subjects are the names of what changed. Those that cannot be read are left out:
// the changes are written all the same.
func (a *App) Subjects(ctx context.Context, groupID string, changes []reverie.EntityChange) map[string]string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	names, err := a.Store.Subjects(ctx, groupID, changes)
	if err != nil {
		a.Log.Warn("the names of what changed could not be read", "group_id", groupID, "error", err)
	}
	return names
}
