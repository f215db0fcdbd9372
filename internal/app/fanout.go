package app

import (
	"context"
	"errors"
	"log/slog"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/config"
	"reverie/internal/entity"
	"reverie/internal/llm"
	"reverie/internal/maintain"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/jobs"
	"reverie/store"
)

// FanOut is one job over many groups, as a command or the daemon starts it.
type FanOut struct {
	*App
	Job         Job
	Groups      jobs.Store // where what is due is found
	Plan        jobs.Plan
	Prepare     func(ctx context.Context, held *jobs.Held, g reverie.DueGroup) error
	Shard       jobs.Shard
	GroupID     string                 // only this one
	IgnoreRetry bool                   // a person asks: groups that failed lately are tried again
	Show        func(jobs.Report)      // what is printed of each run; one at a time
	ShowGroup   func(jobs.GroupResult) // the same of each group
}

// FanOut is a job over the groups that have something pending by a plan, of which the log
// tells.
func (a *App) FanOut(j Job, plan jobs.Plan) *FanOut {
	return &FanOut{App: a, Job: j, Groups: a.Store, Plan: plan, ShowGroup: a.logGroup(j.Name)}
}

// EvolveDue evolves what a plan says.
func (a *App) EvolveDue(p *evolve.Pipeline, days int, plan jobs.Plan) *FanOut {
	return a.FanOut(a.EvolveJob(p, evolve.Request{Days: days}), plan)
}

// ImpressionsDue observes people and things where they are followed.
func (a *App) ImpressionsDue(p *entity.Pipeline, plan jobs.Plan) *FanOut {
	return a.FanOut(a.ImpressionJob(p, entity.Request{}), a.Followed(plan))
}

// ExtractDue extracts the sessions of a queue; due: no more of each than is due.
func (a *App) ExtractDue(p *session.Pipeline, queue store.SessionQueue, due bool) *FanOut {
	f := a.FanOut(listed(a.ExtractJob(p, session.Request{Due: due})), DueSessions(queue))
	f.Groups = queue
	return f
}

// DreamDue dreams of the groups that are due.
func (a *App) DreamDue(p *dream.Pipeline, due *DueDreams) *FanOut {
	f := a.FanOut(a.DreamJob(p, dream.Request{Due: true}), due.Plan)
	f.Groups = a.Store.Dreams()
	return f
}

// MaintainDue maintains the groups in which anything is due.
func (a *App) MaintainDue(k *maintain.Keeper) *FanOut {
	f := a.FanOut(a.MaintainJob(k, maintain.Request{}), func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		due, err := k.Due(ctx, g.ID)
		if err != nil || !due {
			return jobs.Agenda{}, err
		}
		return jobs.Agenda{Windows: []reverie.Window{{}}}, nil
	})
	f.Groups = a.Store.Upkeeps()
	return f
}

// Run works on all that is due. When stop is closed nothing more is begun.
func (f *FanOut) Run(ctx context.Context, stop <-chan struct{}) (jobs.Summary, error) {
	began, c := f.Clock(), f.Config
	after := ""
	if c.Budget != (config.BudgetConfig{}) { // a spent budget must not hit the same groups every night
		var err error
		if after, err = f.Store.LastAsked(ctx, f.Job.Use); err != nil {
			return jobs.Summary{}, err
		}
	}
	ahead := c.Jobs.Concurrency // groups that are read before they can be asked about
	if ahead == 1 {
		ahead = 0 // one at a time is one after the other
	}
	// The processors do sooner what they do of few groups at a time, and a connection costs as
	// much as some groups until it has planned its statements. The others are for what goes on
	// beside: leases, the rows of calls.
	slots := llm.NewSemaphore((c.Database.MaxConns + 2) / 3)
	runner := f.runner(f.Job)
	runner.Store, runner.Plan, runner.Prepare = f.Groups, f.Plan, f.Prepare
	runner.Enter = func(ctx context.Context) (context.Context, func()) { return slots.Work(ctx, stop) }
	runner.Concurrency, runner.Shard, runner.GroupID, runner.After = c.Jobs.Concurrency+ahead, f.Shard, f.GroupID, after
	runner.IgnoreRetry, runner.Show, runner.Report = f.IgnoreRetry, f.Show, f.report
	summary, err := runner.Run(ctx, stop)
	partial := (*jobs.PartialError)(nil)
	finished := summary.Stopped == "" && (err == nil || errors.As(err, &partial))
	if finished {
		f.settle(ctx, stop)
	}
	f.metrics.FanOutDone(f.Job.Name, summary.Left, summary.Parked, f.Clock().Sub(began), finished)
	return summary, err
}

func (a *App) parkRule() reverie.ParkRule {
	j := a.Config.Jobs
	return reverie.ParkRule{After: j.ParkAfter, RetryAfter: j.RetryAfter.Duration, MaxRetryAfter: j.MaxRetryAfter.Duration}
}

func (f *FanOut) report(r jobs.GroupResult) {
	f.metrics.GroupDone(f.Job.Name, string(r.Outcome))
	if f.ShowGroup != nil {
		f.ShowGroup(r)
	}
}

// logGroup says of a group that is not done with a job why.
func (a *App) logGroup(job reverie.Job) func(jobs.GroupResult) {
	return func(r jobs.GroupResult) {
		level := slog.LevelInfo
		if r.Outcome == jobs.Failed {
			level = slog.LevelWarn
		}
		if r.Outcome != jobs.Done || r.Capped > 0 {
			a.Log.Log(context.Background(), level, "group "+string(r.Outcome), "job", job, "group_id", r.GroupID,
				"reason", r.Reason, "windows_left", r.Left, "parked", r.Parked)
		}
	}
}

// EachGroup calls fn for every group of a shard that a job has something to do
// for, or only for the one that is named.
func EachGroup(ctx context.Context, s DueStore, q reverie.DueQuery, shard jobs.Shard, fn func(reverie.DueGroup) error) error {
	for q.Limit = 500; ; { // a page
		groups, err := s.DueGroups(ctx, q)
		if err != nil {
			return err
		}
		for _, g := range groups {
			q.After = g.ID
			if !shard.Has(g.ID) {
				continue
			}
			if err := fn(g); err != nil {
				return err
			}
		}
		if len(groups) == 0 || q.GroupID != "" {
			return nil
		}
	}
}

// DueStore lists groups, page by page.
type DueStore interface {
	DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error)
}
