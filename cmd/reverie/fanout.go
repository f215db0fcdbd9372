package main

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// job is a kind of run, whoever asks for it.
type job struct {
	name reverie.Job
	use  string // what its model is asked for
	run  jobs.Work
	// failed notes a window that failed; nil: failures are the group's, since its
	// windows build on each other.
	failed func(ctx context.Context, groupID string, w reverie.Window, err error) error
}

// leaseOf is a lease as pipelines take it: nil for a dry run, which has none.
func leaseOf(held *jobs.Held) pipeline.Hold {
	if held == nil {
		return nil
	}
	return held
}

// runner does a job, told to whoever watches.
func (a *app) runner(j job) *jobs.Runner {
	return &jobs.Runner{Job: j.name, Store: a.store, Leases: a.leases(), Work: j.run, WindowFailed: j.failed, Rule: a.parkRule(),
		Instrument: a.instrument(j.name), Now: a.Now, Log: a.log}
}

// runOne does a job on what a person or a client asks for, and says where the group is
// parked for it now.
func (a *app) runOne(ctx context.Context, j job, req jobs.Request) jobs.GroupResult {
	res := a.runner(j).RunOne(ctx, req)
	if res.Parked {
		a.notify("reverie: ", fmt.Sprintf("group %q is parked: --due and --all pass it over until `reverie groups resume %s`", res.GroupID, res.GroupID))
	}
	return res
}

// dryRun does a job on a window and writes nothing, so that no lease is needed.
func (a *app) dryRun(ctx context.Context, j job, g reverie.Group, w reverie.Window) jobs.GroupResult {
	return a.runner(j).DryRun(ctx, g, w)
}

// notify tells a person something, a daemon's in its log.
func (a *app) notify(prefix, text string) {
	if a.daemon {
		a.log.Warn(text)
		return
	}
	fmt.Fprintln(a.Stderr, prefix+text)
}

// fanOut is one job over many groups, as a command or the daemon starts it.
type fanOut struct {
	*app
	job         job
	groups      jobs.Store // where what is due is found; nil: the store itself
	plan        jobs.Plan
	prepare     func(ctx context.Context, held *jobs.Held, g reverie.DueGroup) error
	shard       jobs.Shard
	group       string            // only this one
	ignoreRetry bool              // a person asks: groups that failed lately are tried again
	show        func(jobs.Report) // what is printed of each run; one at a time
	showGroup   func(jobs.GroupResult)
}

// run works on all that is due. When stop is closed nothing more is begun.
func (f *fanOut) run(ctx context.Context, stop <-chan struct{}) (jobs.Summary, error) {
	began := f.Now()
	if f.groups == nil {
		f.groups = f.store
	}
	after := ""
	if f.cfg.Budget != (config.BudgetConfig{}) { // a spent budget must not hit the same groups every night
		var err error
		if after, err = f.store.LastAsked(ctx, f.job.use); err != nil {
			return jobs.Summary{}, err
		}
	}
	c := f.cfg
	ahead := c.Jobs.Concurrency // groups that are read before they can be asked about
	if ahead == 1 {
		ahead = 0 // one at a time is one after the other
	}
	// The processors do sooner what they do of few groups at a time, and a connection costs as
	// much as some groups until it has planned its statements. The others are for what goes on
	// beside: leases, the rows of calls.
	desks := llm.NewPlaces((c.Database.MaxConns + 2) / 3)
	enter := func(ctx context.Context) (context.Context, func()) { return desks.Work(ctx, stop) }
	runner := f.runner(f.job)
	runner.Store, runner.Enter, runner.Prepare, runner.Plan = f.groups, enter, f.prepare, f.plan
	runner.Concurrency, runner.Shard, runner.GroupID, runner.After = c.Jobs.Concurrency+ahead, f.shard, f.group, after
	runner.IgnoreRetry, runner.Show, runner.Report = f.ignoreRetry, f.show, f.report
	summary, err := runner.Run(ctx, stop)
	partial := (*jobs.PartialError)(nil)
	finished := summary.Stopped == "" && (err == nil || errors.As(err, &partial))
	if finished {
		f.settle(ctx, stop)
	}
	f.metrics.FanOutDone(f.job.name, summary.Left, summary.Parked, f.Now().Sub(began), finished)
	return summary, err
}

func (a *app) parkRule() reverie.ParkRule {
	j := a.cfg.Jobs
	return reverie.ParkRule{After: j.ParkAfter, RetryAfter: j.RetryAfter.Duration, MaxRetryAfter: j.MaxRetryAfter.Duration}
}

func (f *fanOut) report(r jobs.GroupResult) {
	f.metrics.GroupDone(f.job.name, string(r.Outcome))
	if f.showGroup != nil {
		f.showGroup(r)
	}
}

// instrument tells whoever watches a job's runs: metrics, traces, the tracker of errors,
// and where nobody watches the output, the log.
func (a *app) instrument(job reverie.Job) func(context.Context, string, reverie.Window) (context.Context, func(jobs.Report)) {
	return func(ctx context.Context, groupID string, w reverie.Window) (context.Context, func(jobs.Report)) {
		ctx, end := a.tracer.Run(ctx, job, groupID, w)
		return ctx, func(r jobs.Report) {
			end(r.RunID, r.Status, r.Err)
			a.metrics.RunDone(job, r.Status, r.NoNew, r.Stats, r.Took)
			if r.Err != nil && !reverie.Passing(r.Err) {
				a.sentry.Capture(r.Err, map[string]string{"job": string(job), "group_id": groupID, "run_id": r.RunID})
			}
			if !r.NoNew && a.daemon {
				a.logRun(job, r)
			}
		}
	}
}

func (a *app) logRun(job reverie.Job, r jobs.Report) {
	log := a.log.Info
	if r.Err != nil {
		log = a.log.Warn
	}
	what := []any{"job", job, "group_id", r.GroupID}
	if r.Window.SessionID != "" {
		what = append(what, "session_id", r.Window.SessionID)
	}
	log("run ended", append(what, "run_id", r.RunID, "status", r.Status, "took", r.Took,
		"messages", r.Stats.Cited+r.Stats.Considered+r.Stats.Filtered, "error", errText(r.Err))...)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// fanOutError is what a fan-out's end means for the exit code.
func fanOutError(ctx context.Context, s jobs.Summary, err error) error {
	var partial *jobs.PartialError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", err, context.Canceled)
	case jobs.IsGlobal(err), jobs.IsForbidden(err):
		return err
	case errors.As(err, &partial) && s.Failed > 0:
		return &codeError{exitPartial, err}
	case errors.As(err, &partial) && (errors.Is(err, reverie.ErrDeferred) || errors.Is(err, reverie.ErrUnavailable)):
		return &codeError{exitDeferred, err}
	}
	return err
}
