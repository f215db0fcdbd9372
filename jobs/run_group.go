package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// errEnded ends the work on a group before its next window.
var errEnded = errors.New("no further window is begun")

// takeLease runs work while it holds a group's lease.
type takeLease func(ctx context.Context, groupID string, work func(context.Context, *Held) error) error

// RunGroup is how every job works on one group, whoever starts it. It holds the group's lease, turns a panic into an
// error, and notes a failure of the group. It sets the outcome in res; work fills in the windows.
func (r *Runner) RunGroup(ctx context.Context, res *GroupResult, take takeLease, work func(context.Context, *Held) error) {
	worked := false
	err := take(ctx, res.GroupID, func(ctx context.Context, held *Held) error {
		err := r.recovered(res.GroupID, func() error { return work(ctx, held) })
		worked = err == nil
		return err
	})
	if worked && err != nil { // only releasing the lease failed
		r.logger().Warn("the work is done, but its lease was not given back", "job", r.Job, "group_id", res.GroupID, "error", err)
		err = nil
	}
	if res.Outcome == "" {
		r.conclude(ctx, res, err)
	}
}

// Request asks for one window of one group. It runs even if the group is paused, parked or waiting for a retry.
type Request struct {
	Group  reverie.Group
	Window reverie.Window
	// Open is set by callers that have the group's turn already, see [Leases.Turn]. Once it has ended, the window is
	// not begun. nil: RunOne waits for the turn.
	Open   context.Context
	Held   *Held // the group's lease, if the caller holds it already
	DryRun bool  // see [Runner]
	// Then runs after a window that is done, under the same lease. It may be nil. Its error is no error of the window:
	// see [GroupResult.ThenErr].
	Then func(ctx context.Context, held *Held, done Report) error
}

// RunOne works on the window of a request.
func (r *Runner) RunOne(ctx context.Context, req Request) GroupResult {
	one := *r
	r = &one
	r.DryRun = r.DryRun || req.DryRun
	res := GroupResult{GroupID: req.Group.ID, Left: 1}
	take := func(ctx context.Context, groupID string, work func(context.Context, *Held) error) error {
		if req.Held != nil || r.DryRun {
			return work(ctx, req.Held)
		}
		if req.Open != nil {
			return r.Leases.begin(req.Open, ctx, groupID, work)
		}
		return r.Leases.With(ctx, groupID, work)
	}
	thenErr := error(nil)
	r.RunGroup(ctx, &res, take, func(ctx context.Context, held *Held) error {
		done := r.runWindow(ctx, held, reverie.DueGroup{Group: req.Group}, req.Window)
		res.Windows = append(res.Windows, done)
		if done.Err != nil {
			r.noteWindow(ctx, res.GroupID, done)
			return done.Err
		}
		res.Left = 0
		if !done.NoNew { // a window without messages proves nothing
			r.clearSetback(ctx, res.GroupID)
		}
		if req.Then != nil && !r.DryRun {
			thenErr = explainLoss(ctx, req.Then(ctx, held, done))
		}
		return nil
	})
	res.ThenErr = thenErr
	return res
}

// runWindow works on one window, with metrics and traces, and turns a panic into an error.
func (r *Runner) runWindow(ctx context.Context, held *Held, g reverie.DueGroup, w reverie.Window) Report {
	report := Report{GroupID: g.ID, Window: w}
	ended := func(Report) {}
	if r.Instrument != nil {
		ctx, ended = r.Instrument(ctx, g.ID, w)
	}
	begun := r.now()
	report.Err = r.recovered(g.ID, func() (err error) {
		report.RunOutcome, err = r.Work(ctx, held, g, w)
		return err
	})
	report.Took = r.now().Sub(begun)
	ended(report)
	return report
}

// noteWindow notes a failed window, for jobs that park windows and not groups.
func (r *Runner) noteWindow(ctx context.Context, groupID string, w Report) {
	if r.WindowFailed != nil && ctx.Err() == nil && CountsAgainstGroup(w.Err) {
		r.note(ctx, groupID, func(ctx context.Context) error { return r.WindowFailed(ctx, groupID, w.Window, w.Err) })
	}
}

// conclude sets the outcome from the error of the work on a group, and notes a failure of the group.
func (r *Runner) conclude(ctx context.Context, res *GroupResult, err error) {
	if r.Ended != nil && !r.DryRun {
		defer func() { r.Ended(*res) }()
	}
	busy, taken := errors.AsType[*reverie.BusyError](err)
	res.Outcome, res.Err = Deferred, err
	switch {
	case err == nil:
		res.Outcome = Done
		return
	case taken && len(res.Windows) == 0:
		res.Outcome, res.Reason = Skipped, busy.Error()
		return
	case ctx.Err() == nil && CountsAgainstGroup(err):
		res.Outcome = Failed
	}
	res.Reason = safety.MaskSecrets(reverie.ErrorText(err))
	if res.Outcome == Failed && r.WindowFailed == nil {
		r.note(ctx, res.GroupID, func(ctx context.Context) error {
			s, err := r.Store.NoteFailure(ctx, res.GroupID, r.Job, res.Reason, r.Rule)
			res.Parked = err == nil && s.ParkedAt != nil
			return err
		})
	}
}

// clearSetback deletes the noted failures of a group after a success: only failures in a row count.
func (r *Runner) clearSetback(ctx context.Context, groupID string) {
	r.note(ctx, groupID, func(ctx context.Context) error { return r.Store.ClearSetback(ctx, groupID, r.Job) })
}

// noteTimeout bounds the writing of a note, which is written even after ctx has ended.
const noteTimeout = 5 * time.Second

func (r *Runner) note(ctx context.Context, groupID string, write func(ctx context.Context) error) {
	if r.DryRun {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if err := write(ctx); err != nil {
		r.logger().Error("how a group's work ended could not be noted", "job", r.Job, "group_id", groupID, "error", err)
	}
}

// runIfFree works on a group, or adds it to busyGroups if another job of the process works on it.
func (f *fanOut) runIfFree(ctx context.Context, g reverie.DueGroup) {
	giveBack, busy := f.Leases.Queue.try(g.ID)
	if busy != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.busyGroups = append(f.busyGroups, g)
		return
	}
	f.runInSlot(ctx, g, giveBack)
}

// runWhenFree works on a group once no other job of the process does. It waits before it takes a slot. Otherwise two
// jobs could wait forever, each for a group and a slot of the other.
func (f *fanOut) runWhenFree(ctx context.Context, g reverie.DueGroup) {
	giveBack, err := f.Leases.Queue.take(f.open, g.ID)
	if err != nil {
		f.over() // notes the reason
		return
	}
	f.runInSlot(ctx, g, giveBack)
}

// runInSlot works on a group once a slot is free, counts the outcome, and gives the group back.
func (f *fanOut) runInSlot(ctx context.Context, g reverie.DueGroup, giveBack func()) {
	defer giveBack()
	if f.Enter != nil {
		var leave func()
		ctx, leave = f.Enter(ctx)
		defer leave()
	}
	if f.over() {
		return
	}
	if r, due := f.runGroup(ctx, g); due {
		f.count(r)
	}
}

// runGroup works on one group, and reports whether anything was due.
func (f *fanOut) runGroup(ctx context.Context, g reverie.DueGroup) (res GroupResult, due bool) {
	res.GroupID = g.ID
	agenda, err := f.plan(ctx, g)
	if err == nil && len(agenda.Windows) == 0 {
		return res, false
	}
	res.plans(agenda)
	due = true
	switch {
	case f.isSkipped(&res, g):
		return res, due
	case err != nil:
		f.conclude(ctx, &res, err)
	default:
		f.RunGroup(ctx, &res, f.take, func(ctx context.Context, held *Held) error {
			if f.over() {
				return errEnded
			}
			if f.Prepare != nil {
				if err := f.Prepare(ctx, held, g); err != nil {
					return err
				}
			}
			g, agenda, err := f.reload(ctx, g.ID)
			if err != nil {
				return err
			}
			res.plans(agenda)
			if due = len(agenda.Windows) > 0; !due || f.isSkipped(&res, g) {
				return nil
			}
			return f.windows(ctx, held, &res, g, agenda.Windows)
		})
	}
	f.stopIfGlobal(&res)
	return res, due
}

// take takes the group's lease. A dry run needs none.
func (f *fanOut) take(ctx context.Context, groupID string, work func(context.Context, *Held) error) error {
	if f.DryRun {
		return work(ctx, nil)
	}
	return f.Leases.hold(ctx, groupID, work)
}

// reload reads the group again under its lease. Since its page was read, another process may have done the work or
// failed, or a user may have changed the group.
func (f *fanOut) reload(ctx context.Context, groupID string) (reverie.DueGroup, Agenda, error) {
	found, err := f.Store.DueGroups(ctx, reverie.DueQuery{Job: f.Job, GroupID: groupID, Limit: 1})
	if err != nil || len(found) == 0 {
		return reverie.DueGroup{}, Agenda{}, err
	}
	agenda, err := f.plan(ctx, found[0])
	return found[0], agenda, err
}

// windows works on the windows of a group in order. It stops at an error after which the others must not run. Otherwise
// it returns the first error of a window.
func (f *fanOut) windows(ctx context.Context, held *Held, res *GroupResult, g reverie.DueGroup, windows []reverie.Window) error {
	var failed error
	for i, w := range windows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if f.over() {
			return cmp.Or(failed, errEnded)
		}
		if held != nil && i == len(windows)-1 && g.Setback == nil { // it needs one more write
			held.allowRelease()
		}
		done := f.runWindow(ctx, held, g, w)
		f.show(done)
		done.Err = f.classify(done)
		res.Windows = append(res.Windows, done)
		switch {
		case done.Err == nil:
			res.Left--
		case f.WindowFailed != nil && ctx.Err() == nil && CountsAgainstGroup(done.Err):
			failed = cmp.Or(failed, done.Err)
			f.noteWindow(ctx, g.ID, done)
			continue
		case f.WindowFailed != nil && llm.IsPending(done.Err): // the other windows do not depend on this one
			failed = cmp.Or(failed, done.Err)
			continue
		default:
			return done.Err
		}
		if g.Setback != nil {
			f.clearSetback(ctx, g.ID)
			g.Setback = nil
		}
	}
	return failed
}

// isSkipped reports whether a group is skipped now, and notes the reason.
func (f *fanOut) isSkipped(r *GroupResult, g reverie.DueGroup) bool {
	s := g.Setback
	switch {
	case g.Paused && f.GroupID == "":
		r.Reason = "paused"
	case s != nil && s.ParkedAt != nil:
		r.Parked = true
		r.Reason = fmt.Sprintf("parked: failed %d times in a row, the last time with: %s; when that is mended: reverie groups resume %s",
			s.Failures, s.Error, g.ID)
	case s != nil && !f.IgnoreRetry && reverie.LeftAlone(s.RetryAt, f.now()):
		r.Reason = fmt.Sprintf("failed before: %s; tried again from %s on", s.Error, s.RetryAt.UTC().Format(time.RFC3339))
	case s != nil && !f.Since.IsZero() && !s.UpdatedAt.Before(f.Since):
		r.Reason = "failed in the wave before: " + s.Error
	default:
		return false
	}
	r.Outcome = Skipped
	return true
}

// stopIfGlobal ends the fan-out after an error that is the same for every group.
func (f *fanOut) stopIfGlobal(r *GroupResult) {
	cause := aborted(r.Err)
	budget, spent := errors.AsType[*reverie.BudgetError](r.Err)
	switch {
	case errors.Is(r.Err, errEnded):
		f.mu.Lock()
		r.Reason, r.Err = "stopped before its next window: "+f.summary.Stopped, nil
		f.mu.Unlock()
	case cause != nil:
		r.Err = cause
		f.halt(reverie.ErrorText(cause))
		f.mu.Lock()
		f.abort = cmp.Or(f.abort, cause)
		f.mu.Unlock()
	case spent:
		f.halt(budget.Error())
	case r.Outcome == Failed && r.Parked:
		f.logger().Warn("parked: not worked on until reverie groups resume", "job", f.Job, "group_id", r.GroupID, "error", r.Reason)
	case r.Outcome == Skipped:
		r.Err = nil
	}
}

func (f *fanOut) plan(ctx context.Context, g reverie.DueGroup) (a Agenda, err error) {
	err = f.recovered(g.ID, func() error {
		var err error
		a, err = f.Plan(ctx, g)
		return err
	})
	return a, err
}
