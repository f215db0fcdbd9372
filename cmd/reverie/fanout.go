package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"time"

	"reverie"
	"reverie/evolve"
	"reverie/jobs"
	"reverie/llm"
)

// fanOut is the evolve job over many groups, as a command or the daemon starts
// it.
type fanOut struct {
	*app
	pipeline    *evolve.Pipeline
	groups      jobs.Store // nil: the store itself
	plan        jobs.Plan
	prepare     func(ctx context.Context, held *jobs.Held, g reverie.DueGroup) error
	shard       jobs.Shard
	group       string // only this one
	days        int
	ignoreRetry bool            // a person asks: groups that failed lately are tried again
	show        func(windowEnd) // what is printed of each run; one at a time
	showGroup   func(jobs.GroupResult)

	printing sync.Mutex // guards what follows, too
	refused  int        // runs in a row whose question the model's server refused with 403
}

// windowEnd is how one window of one group ended.
type windowEnd struct {
	window reverie.Window
	result evolve.Result
	took   time.Duration
}

// run works on all that is due. When stop is closed nothing more is begun.
func (f *fanOut) run(ctx context.Context, stop <-chan struct{}) (jobs.Summary, error) {
	began := f.now()
	if f.groups == nil {
		f.groups = f.store
	}
	after := ""
	if f.cfg.Budget != (BudgetConfig{}) { // a spent budget must not hit the same groups every night
		var err error
		if after, err = f.store.LastAsked(ctx, useEvolve); err != nil {
			return jobs.Summary{}, err
		}
	}
	runner := &jobs.Runner{Job: reverie.JobEvolve, Store: f.groups, Prepare: f.prepare, Leases: f.leases(), Concurrency: f.cfg.Jobs.Concurrency,
		Shard: f.shard, GroupID: f.group, After: after, Plan: f.plan, Work: f.work, Rule: f.parkRule(), IgnoreRetry: f.ignoreRetry,
		Report: f.report, Now: f.now, Log: f.log}
	summary, err := runner.Run(ctx, stop)
	partial := (*jobs.PartialError)(nil)
	finished := summary.Stopped == "" && (err == nil || errors.As(err, &partial))
	if finished {
		f.settle(ctx)
	}
	f.metrics.FanOutDone(reverie.JobEvolve, summary.Left, summary.Parked, f.now().Sub(began), finished)
	return summary, err
}

func (a *app) parkRule() reverie.ParkRule {
	j := a.cfg.Jobs
	return reverie.ParkRule{After: j.ParkAfter, RetryAfter: j.RetryAfter.Duration, MaxRetryAfter: j.MaxRetryAfter.Duration}
}

// work evolves one window of one group.
func (f *fanOut) work(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) error {
	res, took, err := f.evolveWindow(ctx, f.pipeline, held, evolve.Request{GroupID: g.ID, Since: w.Since, Until: w.Until, Days: f.days})
	f.printing.Lock()
	defer f.printing.Unlock()
	if f.show != nil && !errors.Is(err, reverie.ErrLeaseLost) { // what this process began is then another's to report
		f.show(windowEnd{w, res, took})
	}
	switch {
	case everywhere(err):
		return jobs.Abort(err)
	case forbidden(err):
		if f.refused++; f.refused >= maxRefused {
			return jobs.Abort(err)
		}
		return fmt.Errorf("%w: %w", reverie.ErrDeferred, err)
	case err == nil && !res.NoNew:
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
	f.metrics.GroupDone(reverie.JobEvolve, string(r.Outcome))
	if f.showGroup != nil {
		f.printing.Lock()
		defer f.printing.Unlock()
		f.showGroup(r)
	}
}

// evolveWindow runs one window and tells whoever watches: metrics, traces, the
// tracker of errors.
func (a *app) evolveWindow(ctx context.Context, p *evolve.Pipeline, held evolve.Hold, req evolve.Request) (evolve.Result, time.Duration, error) {
	began := a.now()
	ctx, end := a.tracer.Run(ctx, reverie.JobEvolve, req.GroupID, reverie.Window{Since: req.Since, Until: req.Until})
	res, err := p.Run(ctx, held, req)
	took := a.now().Sub(began)
	end(res.RunID, res.Status, err)
	a.metrics.RunDone(reverie.JobEvolve, res.Status, res.NoNew, res.Stats, took)
	if err != nil && !reverie.Passing(err) {
		a.sentry.Capture(err, map[string]string{"job": string(reverie.JobEvolve), "group_id": req.GroupID, "run_id": res.RunID})
	}
	log := a.log.Info
	if err != nil {
		log = a.log.Warn
	}
	if !res.NoNew && a.daemon {
		log("run ended", "job", reverie.JobEvolve, "group_id", req.GroupID, "run_id", res.RunID, "status", res.Status, "took", took,
			"messages", res.Stats.Cited+res.Stats.Considered+res.Stats.Filtered, "error", errText(err))
	}
	return res, took, err
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

// showWindow tells of one run of a fan-out.
func (a *app) showWindow(e windowEnd, asJSON bool) {
	if !asJSON {
		a.printWindow(e)
		return
	}
	if e.result.NoNew || e.result.RunID == "" {
		return
	}
	line := runLine{EvolveReply: e.result.Reply()}
	if e.window.Date != "" {
		line.Window = &e.window
	}
	_ = printJSONLine(a.stdout, line) // a reader that has gone does not end the work
	for _, why := range e.result.Held {
		fmt.Fprintf(a.stderr, "warning: run %s of group %q is held: %s\n", e.result.RunID, e.result.GroupID, why)
	}
}

// showGroup tells of a group that is not done.
func (a *app) showGroup(r jobs.GroupResult, asJSON bool) {
	if asJSON && r.Outcome != jobs.Done && len(r.Windows) == 0 {
		_ = printJSONLine(a.stdout, groupLine{r.Outcome == jobs.Skipped, r.GroupID, r.Outcome, r.Reason})
	}
	a.printGroup(r, asJSON)
}

// showSummary tells how far a fan-out came; nothing is what to say of one that
// found nothing to do.
func (a *app) showSummary(s jobs.Summary, err error, nothing string, asJSON bool) error {
	if err := a.writeSummary(s, err, nothing, asJSON); !errors.Is(err, syscall.EPIPE) { // a reader that has gone is no failure
		return err
	}
	return nil
}

func (a *app) writeSummary(s jobs.Summary, err error, nothing string, asJSON bool) error {
	if partial := (*jobs.PartialError)(nil); err != nil && !errors.As(err, &partial) && s.Done+s.Skipped+s.Failed+s.Deferred == 0 {
		return nil // nothing was begun
	}
	if asJSON {
		return printJSONLine(a.stdout, summaryLine{err == nil, s})
	}
	if err == nil && s.Done+s.Skipped == 0 {
		_, err = fmt.Fprintln(a.stdout, nothing)
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s done, %d skipped, %d deferred, %d failed; %s finished, %d left\n", plural(s.Done, "group"), s.Skipped, s.Deferred, s.Failed,
		plural(s.Windows, "window"), s.Left)
	return err
}

// printWindow shows one run of a fan-out in a line or two.
func (a *app) printWindow(e windowEnd) {
	s, r := a.style(), e.result
	if r.NoNew || r.RunID == "" {
		return
	}
	date := e.window.Date
	if date != "" {
		date += "  "
	}
	status := s.status(r.Status)
	fmt.Fprintf(a.stdout, "%s%s  %s in %s  %s\n", date, s.bold(visible(r.GroupID)), status, e.took.Round(10*time.Millisecond), s.dim("run "+r.RunID))
	fmt.Fprintf(a.stdout, "  %s\n", counts(r.Stats))
	for _, h := range r.Held {
		fmt.Fprintf(a.stdout, "  %s held: %s; look at it with `reverie runs show %s`\n", s.amber("?"), visible(h), r.RunID)
	}
}

// printGroup shows a group that is not done: why, and what follows.
func (a *app) printGroup(r jobs.GroupResult, asJSON bool) {
	switch r.Outcome {
	case jobs.Skipped:
		if asJSON {
			break
		}
		fmt.Fprintf(a.stdout, "%s  skipped: %s\n", visible(r.GroupID), visible(r.Reason))
	case jobs.Failed, jobs.Deferred:
		fmt.Fprintf(a.stderr, "reverie: group %q %s: %s\n", r.GroupID, r.Outcome, visible(r.Reason))
	}
	if r.Parked && r.Outcome == jobs.Failed {
		fmt.Fprintf(a.stderr, "reverie: group %q is parked now: after mending the cause, run `reverie groups resume %s`\n", r.GroupID, r.GroupID)
	}
	if r.Capped > 0 {
		fmt.Fprintf(a.stderr, "reverie: group %q has %s to make up, beyond [jobs] missed_nights: the next run goes on, or `reverie backfill`\n",
			r.GroupID, plural(r.Capped, "more night"))
	}
}

// runLine is one run of a fan-out under --json.
type runLine struct {
	reverie.EvolveReply
	Window *reverie.Window `json:"window,omitempty"`
}

// groupLine is a group under --json that was not worked on.
type groupLine struct {
	Success bool         `json:"success"`
	GroupID string       `json:"group_id"`
	Outcome jobs.Outcome `json:"outcome"`
	Reason  string       `json:"reason"`
}

// summaryLine ends the lines of a fan-out.
type summaryLine struct {
	Success bool         `json:"success"`
	Summary jobs.Summary `json:"summary"`
}
