package jobs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"reverie/internal/reverie"
)

// Store is what a runner reads and notes.
type Store interface {
	DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error)
	NoteFailure(ctx context.Context, groupID string, job reverie.Job, reason string, rule reverie.ParkRule) (reverie.Setback, error)
	ClearSetback(ctx context.Context, groupID string, job reverie.Job) error
}

// Work does one window of one group, whose lease is held. A window without
// pending messages is no error. What its error means:
//
//   - marked by [Abort], or the same for every group ([IsGlobal]): no other is begun
//   - [reverie.BudgetError]: the group is deferred, and no other is begun
//   - [reverie.ErrDeferred], [reverie.ErrUnavailable], [reverie.ErrLeaseLost], or
//     of a context: the group is deferred
//   - any other, and a panic: the group failed
type Work func(ctx context.Context, held *Held, g reverie.DueGroup, w reverie.Window) (RunOutcome, error)

// Runner does a job: for the groups that are due ([Runner.Run]), or for one that somebody
// asks for ([Runner.RunOne], which needs no Plan). No group stops another.
type Runner struct {
	Job         reverie.Job
	Store       Store
	Leases      *Leases
	Concurrency int    // groups at a time
	Shard       Shard  // the zero one is all groups
	GroupID     string // only this group, paused or not; "" = all that are not paused
	// After is the group behind which it begins, to come round to it at last; "" is
	// the order of ids. So that those at the end do not starve where each run is
	// cut short.
	After string
	Plan  Plan
	// Enter waits until a group may be begun, or ctx ends, and returns the context to work
	// in and what to call at the end; nil: there is nothing to wait for.
	Enter func(ctx context.Context) (work context.Context, leave func())
	// Prepare is called under a group's lease, before what is due for it is looked
	// at again and worked on; nil: nothing is.
	Prepare func(ctx context.Context, held *Held, g reverie.DueGroup) error
	Work    Work
	// WindowFailed, where set, says that the windows of a group do not build on each
	// other: one that fails stops no other, and is noted by this alone, as the window's
	// failure and not the group's. nil: a group has its windows in a row.
	WindowFailed func(ctx context.Context, groupID string, w reverie.Window, err error) error
	Rule         reverie.ParkRule
	IgnoreRetry  bool // a person asks: do not wait after a failure; parked groups stay parked
	// Instrument tells metrics, traces and logs that a run begins, and by what it returns
	// how it ended; nil: nobody is told.
	Instrument func(ctx context.Context, groupID string, w reverie.Window) (context.Context, func(Report))
	Show       func(Report)      // hears of each run of a fan-out, one at a time with Report; nil is nobody
	Report     func(GroupResult) // hears of each group that was due, one at a time; nil is nobody
	Now        func() time.Time  // nil: time.Now
	Log        *slog.Logger      // nil: slog.Default
}

const (
	pageSize     = 500
	pageAttempts = 4
	pageDelay    = time.Second // after the first attempt; doubled with each further one
)

// Run works on each due group, its windows in order and under one lease, until
// the first that is deferred, or that fails and others build on. When stop is
// closed no further group or window is begun; when ctx ends those under way are cut. The error is nil when
// all that was due is done or was skipped, the marked one after [Abort], the
// store's when not even the first groups could be found, else a [PartialError].
func (r *Runner) Run(ctx context.Context, stop <-chan struct{}) (Summary, error) {
	f := &fanOut{Runner: r, ctx: ctx, stop: stop, halted: make(chan struct{}), slots: semaphore.NewWeighted(int64(max(1, r.Concurrency)))}
	defer f.watch()()
	err := f.feed(ctx)
	f.running.Wait()
	// What others of the process work on is waited for when nothing else is left to do.
	for _, g := range f.busyGroups {
		if !f.start(ctx, g, f.runWhenFree) {
			break
		}
	}
	f.running.Wait()

	s := f.summary
	none := s.Done+s.Skipped+s.Failed+s.Deferred == 0
	switch {
	case f.abort != nil:
		return s, f.abort
	case err != nil && none:
		return s, err
	case s.Failed > 0 || s.Deferred > 0 || s.Stopped != "":
		return s, &PartialError{Summary: s, Err: err}
	}
	return s, nil
}

func (r *Runner) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

func (r *Runner) logger() *slog.Logger { return cmp.Or(r.Log, slog.Default()) }

// fanOut is one run of a runner.
type fanOut struct {
	*Runner
	ctx     context.Context // ends: what is under way is cut
	stop    <-chan struct{}
	open    context.Context     // ends with ctx, stop and halted: nothing that is not begun is waited for
	slots   *semaphore.Weighted // of groups that are worked on
	running sync.WaitGroup

	halted     chan struct{} // closed: no further group or window is begun
	showing    sync.Mutex    // guards calls of Show and Report
	mu         sync.Mutex    // guards what follows
	abort      error
	busyGroups []reverie.DueGroup // that other jobs of the process work on
	refused    int                // runs in a row whose question the model's server refused with 403
	summary    Summary
}

// watch lets open end, and returns what ends the watching.
func (f *fanOut) watch() (end func()) {
	open, shut := context.WithCancel(f.ctx)
	f.open = open
	go func() {
		select {
		case <-f.stop:
		case <-f.halted:
		case <-open.Done():
		}
		shut()
	}()
	return shut
}

// feed hands the due groups out: those behind After, then the others.
func (f *fanOut) feed(ctx context.Context) error {
	if f.After == "" || f.GroupID != "" {
		return f.stretch(ctx, "", "")
	}
	if err := f.stretch(ctx, f.After, ""); err != nil {
		return err
	}
	return f.stretch(ctx, "", f.After)
}

// stretch hands out the due groups after an id, up to and with another, "" for all,
// page by page: a page is read when the one before has been handed out. The first is read also
// where the run is told to stop, and says whether that leaves anything undone.
func (f *fanOut) stretch(ctx context.Context, after, last string) error {
	q := reverie.DueQuery{Job: f.Job, GroupID: f.GroupID, After: after, Limit: pageSize}
	for {
		page, err := f.page(ctx, q)
		if err != nil {
			if f.over() {
				return nil
			}
			f.halt("the groups that are due could not be listed: " + err.Error())
			return err
		}
		for _, g := range page {
			if last != "" && g.ID > last { // ids are ordered by their bytes, there and here
				return nil
			}
			if f.Shard.Has(g.ID) && f.waits(ctx, g) && !f.start(ctx, g, f.runIfFree) {
				return nil
			}
		}
		if len(page) < pageSize || f.over() {
			return nil
		}
		q.After = page[len(page)-1].ID
	}
}

// waits tells whether a group has to be handed out. Only where the run is told to stop that is
// looked at beforehand: it has left nothing undone where nothing is due.
func (f *fanOut) waits(ctx context.Context, g reverie.DueGroup) bool {
	if !closed(f.stop) || closed(f.halted) {
		return true
	}
	agenda, err := f.plan(ctx, g)
	return err != nil || len(agenda.Windows) > 0 && !f.leaveAlone(&GroupResult{}, g)
}

// start has a group worked on when fewer others are; false when none shall be any more.
func (f *fanOut) start(ctx context.Context, g reverie.DueGroup, run func(context.Context, reverie.DueGroup)) bool {
	if f.over() {
		return false
	}
	if f.slots.Acquire(f.open, 1) != nil {
		f.over() // keeps why
		return false
	}
	f.running.Go(func() {
		defer f.slots.Release(1)
		run(ctx, g)
	})
	return true
}

// page reads a page, several times if need be.
func (f *fanOut) page(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error) {
	for attempt, delay := 1, pageDelay; ; attempt, delay = attempt+1, delay*2 {
		page, err := f.Store.DueGroups(ctx, q)
		if err == nil || attempt == pageAttempts || hopeless(err) {
			return page, err
		}
		f.logger().Warn("the groups that are due could not be listed; trying again", "job", f.Job, "after", q.After, "in", delay, "error", err)
		select {
		case <-time.After(delay):
		case <-f.open.Done():
			return nil, err
		}
	}
}

// hopeless errors are the same at the next attempt.
func hopeless(err error) bool {
	return errors.Is(err, reverie.ErrNotFound) || errors.Is(err, reverie.ErrInvalid) ||
		errors.Is(err, reverie.ErrConfiguration) || errors.Is(err, reverie.ErrOutdatedSchema)
}

// over tells whether no further group or window may be begun, and keeps why. That what is
// under way is cut says more than that nothing more is begun.
func (f *fanOut) over() bool {
	switch {
	case closed(f.halted):
	case f.ctx.Err() != nil:
		f.halt("interrupted: " + context.Cause(f.ctx).Error())
	case closed(f.stop):
		f.halt("asked to stop")
	default:
		return false
	}
	return true
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// halt lets no further group or window begin. The first reason counts.
func (f *fanOut) halt(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.summary.Stopped == "" {
		f.summary.Stopped = why
		close(f.halted)
	}
}

// count adds a group to the summary and reports it.
func (f *fanOut) count(r GroupResult) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.summary
	switch r.Outcome {
	case Done:
		s.Done++
	case Skipped:
		s.Skipped++
	case Deferred:
		s.Deferred++
	case Failed:
		s.Failed++
		if len(s.Failures) < MaxFailures {
			s.Failures = append(s.Failures, GroupFailure{GroupID: r.GroupID, Error: r.Reason})
		}
	}
	for _, w := range r.Windows {
		if w.Err == nil {
			s.Windows++
		}
	}
	s.Left += r.Left
	if r.Parked {
		s.Parked++
	}
	if f.Report != nil {
		f.showing.Lock()
		defer f.showing.Unlock()
		f.Report(r)
	}
}

// show tells of a run that has ended. What was begun where the lease was lost is then
// another's to report.
func (f *fanOut) show(done Report) {
	if f.Show == nil || errors.Is(done.Err, reverie.ErrLeaseLost) {
		return
	}
	f.showing.Lock()
	defer f.showing.Unlock()
	f.Show(done)
}
