package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"reverie/internal/reverie"
)

// errEnded ends a group's turn between two windows, when no further is begun.
var errEnded = errors.New("no further window is begun")

// enter has a group taken that nobody else of the process works on; others are put aside.
func (f *fanOut) enter(ctx context.Context, g reverie.DueGroup) {
	giveBack, busy := f.Leases.Queue.try(g.ID)
	if busy != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.aside = append(f.aside, g)
		return
	}
	f.placed(ctx, g, giveBack)
}

// enterLater has a group taken when nobody else of the process works on it any more. That is
// waited for before there is a place to work in: two jobs that each wait for groups of the
// other, and for its places, would wait for ever.
func (f *fanOut) enterLater(ctx context.Context, g reverie.DueGroup) {
	giveBack, err := f.Leases.Queue.take(f.open, g.ID)
	if err != nil {
		f.over() // keeps why
		return
	}
	f.placed(ctx, g, giveBack)
}

// placed has a group taken when there is a place to work in, and then gives it back.
func (f *fanOut) placed(ctx context.Context, g reverie.DueGroup, giveBack func()) {
	defer giveBack()
	if f.Enter != nil {
		var leave func()
		ctx, leave = f.Enter(ctx)
		defer leave()
	}
	f.take(ctx, g)
}

// take gives a group its turn and counts what became of it.
func (f *fanOut) take(ctx context.Context, g reverie.DueGroup) {
	if f.over() {
		return
	}
	if r, due := f.turn(ctx, g); due {
		f.count(r)
	}
}

// turn works on one group, if anything is due for it.
func (f *fanOut) turn(ctx context.Context, g reverie.DueGroup) (r GroupResult, due bool) {
	r.GroupID = g.ID
	agenda, err := f.plan(ctx, g)
	if err == nil && len(agenda.Windows) == 0 {
		return r, false
	}
	r.plans(agenda)
	if f.leaveAlone(&r, g) {
		return r, true
	}
	if err != nil {
		f.settle(ctx, &r, err)
		return r, true
	}
	due = true
	worked := false
	err = f.Leases.hold(ctx, g.ID, func(ctx context.Context, held *Held) error {
		if f.over() {
			return errEnded
		}
		if f.Prepare != nil {
			if err := f.guard(g.ID, func() error { return f.Prepare(ctx, held, g) }); err != nil {
				return err
			}
		}
		g, agenda, err := f.look(ctx, g.ID)
		if err != nil {
			return err
		}
		r.plans(agenda)
		if len(agenda.Windows) == 0 {
			due = false
		} else if !f.leaveAlone(&r, g) {
			err = f.windows(ctx, held, &r, g, agenda.Windows)
		}
		worked = err == nil
		return err
	})
	if worked && err != nil { // only the lease was not given back
		f.log.Warn("the work is done, but its lease was not given back", "job", f.Job, "group_id", g.ID, "error", err)
		err = nil
	}
	if r.Outcome == "" {
		f.settle(ctx, &r, err)
	}
	return r, due
}

// look reads the group again, now that its lease is held: since its page was
// read, another process may have done the work, or failed at it, and a person may
// have changed the group.
func (f *fanOut) look(ctx context.Context, groupID string) (reverie.DueGroup, Agenda, error) {
	found, err := f.Store.DueGroups(ctx, reverie.DueQuery{Job: f.Job, GroupID: groupID, Limit: 1})
	if err != nil || len(found) == 0 {
		return reverie.DueGroup{}, Agenda{}, err
	}
	agenda, err := f.plan(ctx, found[0])
	return found[0], agenda, err
}

// windows works on the windows of a group in order, up to the first error that the
// others must not be tried after. Of those that are passed over the first counts.
func (f *fanOut) windows(ctx context.Context, held *Held, r *GroupResult, g reverie.DueGroup, windows []reverie.Window) error {
	var failed error
	for _, w := range windows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if f.over() {
			return cmp.Or(failed, errEnded)
		}
		begun := f.now()
		err := f.guard(g.ID, func() error { return f.Work(ctx, held, g, w) })
		r.Windows = append(r.Windows, Report{Window: w, Took: f.now().Sub(begun), Err: err})
		switch {
		case err == nil:
			r.Left--
		case f.WindowFailed != nil && ctx.Err() == nil && aborted(err) == nil && !reverie.Passing(err):
			failed = cmp.Or(failed, err)
			f.noting(ctx, g.ID, func(ctx context.Context) error { return f.WindowFailed(ctx, g.ID, w, err) })
			continue
		default:
			return err
		}
		if g.Setback != nil { // not in a row any more
			f.noting(ctx, g.ID, func(ctx context.Context) error { return f.Store.ClearSetback(ctx, g.ID, f.Job) })
			g.Setback = nil
		}
	}
	return failed
}

// leaveAlone skips a group that is not to be worked on now, and says why.
func (f *fanOut) leaveAlone(r *GroupResult, g reverie.DueGroup) bool {
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
	default:
		return false
	}
	r.Outcome = Skipped
	return true
}

// settle makes an outcome of the error that a group's turn ended with.
func (f *fanOut) settle(ctx context.Context, r *GroupResult, err error) {
	if err == nil {
		r.Outcome = Done
		return
	}
	r.Outcome, r.Reason, r.Err = Deferred, reverie.MaskSecrets(err.Error()), err
	cause := aborted(err)
	budget, spent := errors.AsType[*reverie.BudgetError](err)
	busy, taken := errors.AsType[*reverie.BusyError](err)
	switch {
	case errors.Is(err, errEnded):
		f.mu.Lock()
		r.Reason, r.Err = "stopped before its next window: "+f.summary.Stopped, nil
		f.mu.Unlock()
	case cause != nil:
		r.Err = cause
		f.halt(cause.Error())
		f.mu.Lock()
		f.abort = cmp.Or(f.abort, cause)
		f.mu.Unlock()
	case spent:
		f.halt(budget.Error())
	case taken && len(r.Windows) == 0:
		r.Outcome, r.Reason, r.Err = Skipped, busy.Error(), nil
	case ctx.Err() == nil && !reverie.Passing(err):
		r.Outcome = Failed
		if f.WindowFailed == nil {
			f.noteFailure(ctx, r)
		}
	}
}

func (f *fanOut) noteFailure(ctx context.Context, r *GroupResult) {
	f.noting(ctx, r.GroupID, func(ctx context.Context) error {
		s, err := f.Store.NoteFailure(ctx, r.GroupID, f.Job, r.Reason, f.Rule)
		if err == nil && s.ParkedAt != nil {
			r.Parked = true
			f.log.Warn("parked: not worked on until reverie groups resume", "job", f.Job, "group_id", r.GroupID, "failures", s.Failures, "error", s.Error)
		}
		return err
	})
}

// noteTimeout bounds a note, which is written even when all else has to end.
const noteTimeout = 5 * time.Second

func (f *fanOut) noting(ctx context.Context, groupID string, note func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if err := note(ctx); err != nil {
		f.log.Error("how a group's work ended could not be noted", "job", f.Job, "group_id", groupID, "error", err)
	}
}

func (f *fanOut) plan(ctx context.Context, g reverie.DueGroup) (a Agenda, err error) {
	err = f.guard(g.ID, func() error {
		var err error
		a, err = f.Plan(ctx, g)
		return err
	})
	return a, err
}

// guard makes an error of a panic: it is one group's, not the process's.
func (f *fanOut) guard(groupID string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f.log.Error("panic", "job", f.Job, "group_id", groupID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic, see the log: %v", p)
		}
	}()
	return fn()
}
