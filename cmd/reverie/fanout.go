package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// job is a kind of run, as fan-outs and whoever watches them see it.
type job struct {
	name reverie.Job
	use  string // what its model is asked for
	run  func(ctx context.Context, held *jobs.Held, g reverie.Group, w reverie.Window) (ended, error)
	// failed notes a window that failed; nil: failures are the group's, since its
	// windows build on each other.
	failed func(ctx context.Context, groupID string, w reverie.Window, err error) error
}

// ended is what became of one window of one group, whatever the job.
type ended struct {
	runID  string // "" where nothing was begun
	status reverie.RunStatus
	noNew  bool // nothing waited
	stats  reverie.Stats
	held   []string                  // why plans are held
	line   func(*reverie.Window) any // for --json; the window is nil where it is no date
	upTo   string                    // the session that it reached up to (dream)
}

// fanOut is one job over many groups, as a command or the daemon starts it.
type fanOut struct {
	*app
	job         job
	groups      jobs.Store // where what is due is found; nil: the store itself
	plan        jobs.Plan
	prepare     func(ctx context.Context, held *jobs.Held, g reverie.DueGroup) error
	shard       jobs.Shard
	group       string          // only this one
	ignoreRetry bool            // a person asks: groups that failed lately are tried again
	show        func(windowEnd) // what is printed of each run; one at a time
	showGroup   func(jobs.GroupResult)

	printing sync.Mutex // guards what follows, too
	refused  int        // runs in a row whose question the model's server refused with 403
}

// windowEnd is how one window of one group ended.
type windowEnd struct {
	groupID string
	window  reverie.Window
	ended
	took time.Duration
}

// run works on all that is due. When stop is closed nothing more is begun.
func (f *fanOut) run(ctx context.Context, stop <-chan struct{}) (jobs.Summary, error) {
	began := f.now()
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
	runner := &jobs.Runner{Job: f.job.name, Store: f.groups, Enter: enter, Prepare: f.prepare, Leases: f.leases(),
		Concurrency: c.Jobs.Concurrency + ahead, Shard: f.shard, GroupID: f.group, After: after, Plan: f.plan, Work: f.work, WindowFailed: f.job.failed, Rule: f.parkRule(), IgnoreRetry: f.ignoreRetry,
		Report: f.report, Now: f.now, Log: f.log}
	summary, err := runner.Run(ctx, stop)
	partial := (*jobs.PartialError)(nil)
	finished := summary.Stopped == "" && (err == nil || errors.As(err, &partial))
	if finished {
		f.settle(ctx, stop)
	}
	f.metrics.FanOutDone(f.job.name, summary.Left, summary.Parked, f.now().Sub(began), finished)
	return summary, err
}

func (a *app) parkRule() reverie.ParkRule {
	j := a.cfg.Jobs
	return reverie.ParkRule{After: j.ParkAfter, RetryAfter: j.RetryAfter.Duration, MaxRetryAfter: j.MaxRetryAfter.Duration}
}

// work does one window of one group.
func (f *fanOut) work(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) error {
	var e ended
	took, err := f.watched(ctx, f.job.name, g.ID, w, func(ctx context.Context) (ended, error) {
		var err error
		e, err = f.job.run(ctx, held, g.Group, w)
		return e, err
	})
	f.printing.Lock()
	defer f.printing.Unlock()
	if f.show != nil && !errors.Is(err, reverie.ErrLeaseLost) { // what this process began is then another's to report
		f.show(windowEnd{g.ID, w, e, took})
	}
	switch {
	case everywhere(err):
		return jobs.Abort(err)
	case forbidden(err):
		if f.refused++; f.refused >= maxRefused {
			return jobs.Abort(err)
		}
		return fmt.Errorf("%w: %w", reverie.ErrDeferred, err)
	case err == nil && !e.noNew:
		f.refused = 0
	}
	return err
}

// maxRefused is how many runs in a row may be refused with 403 before that is taken
// for the key's fault. A single one may be a gateway that dislikes what somebody
// wrote, which must not stop the groups behind.
const maxRefused = 5

// everywhere tells whether an error is the same for every group: a key that is
// not known, a model or a table that is not there. An unreadable time zone, which
// is invalid too, is one group's.
func everywhere(err error) bool {
	return errors.Is(err, reverie.ErrOutdatedSchema) ||
		errors.Is(err, reverie.ErrConfiguration) && !errors.Is(err, reverie.ErrInvalid) && !forbidden(err)
}

// forbidden tells whether the model's server has refused a question with 403.
func forbidden(err error) bool {
	fault, ok := errors.AsType[*llm.Error](err)
	return ok && fault.Status == http.StatusForbidden
}

func (f *fanOut) report(r jobs.GroupResult) {
	f.metrics.GroupDone(f.job.name, string(r.Outcome))
	if f.showGroup != nil {
		f.printing.Lock()
		defer f.printing.Unlock()
		f.showGroup(r)
	}
}

// watched runs one window of a job and tells whoever watches: metrics, traces, the
// tracker of errors.
func (a *app) watched(ctx context.Context, job reverie.Job, groupID string, w reverie.Window, run func(context.Context) (ended, error)) (time.Duration, error) {
	began := a.now()
	ctx, end := a.tracer.Run(ctx, job, groupID, w)
	e, err := a.recovered(ctx, job, groupID, run)
	took := a.now().Sub(began)
	end(e.runID, e.status, err)
	a.metrics.RunDone(job, e.status, e.noNew, e.stats, took)
	if err != nil && !reverie.Passing(err) {
		a.sentry.Capture(err, map[string]string{"job": string(job), "group_id": groupID, "run_id": e.runID})
	}
	log := a.log.Info
	if err != nil {
		log = a.log.Warn
	}
	if !e.noNew && a.daemon {
		what := []any{"job", job, "group_id", groupID}
		if w.SessionID != "" {
			what = append(what, "session_id", w.SessionID)
		}
		log("run ended", append(what, "run_id", e.runID, "status", e.status, "took", took,
			"messages", e.stats.Cited+e.stats.Considered+e.stats.Filtered, "error", errText(err))...)
	}
	return took, err
}

// recovered makes an error of a panic, so that whoever watches hears of it.
func (a *app) recovered(ctx context.Context, job reverie.Job, groupID string, run func(context.Context) (ended, error)) (e ended, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("panic", "job", job, "group_id", groupID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic, see the log: %v", p)
		}
	}()
	return run(ctx)
}

// blames tells whether an error counts against its group: it does not pass by
// itself, and is not the same for all.
func blames(err error) bool {
	return err != nil && !reverie.Passing(err) && !everywhere(err) && !forbidden(err)
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
	case everywhere(err), forbidden(err):
		return err
	case errors.As(err, &partial) && s.Failed > 0:
		return &codeError{exitPartial, err}
	case errors.As(err, &partial) && (errors.Is(err, reverie.ErrDeferred) || errors.Is(err, reverie.ErrUnavailable)):
		return &codeError{exitDeferred, err}
	}
	return err
}
