package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"reverie/internal/llm"
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
	DryRun       bool      // the work writes nothing: it is done without a lease, and nothing is noted
	IgnoreRetry  bool      // a person asks: do not wait after a failure; parked groups stay parked
	Since        time.Time // groups that have failed since are left alone, as an earlier wave has tried them
	// Instrument tells metrics, traces and logs that a run begins, and by what it returns
	// how it ended; nil: nobody is told.
	Instrument func(ctx context.Context, groupID string, w reverie.Window) (context.Context, func(Report))
	Ended      func(GroupResult) // hears how the work on a group ended, whoever asked for it; nil is nobody
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

// Agenda is what is due for a group.
type Agenda struct {
	Windows []reverie.Window // the oldest first
	Capped  int              // further ones that are due and left for a later run
}

// Plan tells what is due for a group; an empty agenda says nothing is. An error
// counts as a failure of the group, like one of [Work].
type Plan func(ctx context.Context, g reverie.DueGroup) (Agenda, error)

// PendingStore tells in which windows a group has pending messages.
type PendingStore interface {
	PendingWindows(ctx context.Context, groupID string, windows []reverie.Window) ([]reverie.WindowLoad, error)
}

// Nightly plans the dates that have ended and have pending messages, at most so
// many of them; 0 is all.
func Nightly(store PendingStore, now func() time.Time, limit int) Plan {
	return func(ctx context.Context, g reverie.DueGroup) (Agenda, error) {
		cal, err := CalendarOf(g.Group)
		if err != nil {
			return Agenda{}, err
		}
		due := slices.Collect(cal.Closed(g.FirstPending, now()))
		if len(due) > 1 { // the oldest pending message lies in the first one
			if due, err = pending(ctx, store, g.ID, due); err != nil {
				return Agenda{}, err
			}
		}
		if limit > 0 && len(due) > limit {
			return Agenda{Windows: due[:limit], Capped: len(due) - limit}, nil
		}
		return Agenda{Windows: due}, nil
	}
}

// Everything plans all that is pending at once, the open date included.
func Everything() Plan {
	return func(context.Context, reverie.DueGroup) (Agenda, error) {
		return Agenda{Windows: []reverie.Window{{}}}, nil
	}
}

// Dates plans those of the dates from the one to the other, both included, that
// have ended and have pending messages. Dates that cannot be read stop it all.
func Dates(store PendingStore, from, to string, now func() time.Time) Plan {
	return func(ctx context.Context, g reverie.DueGroup) (Agenda, error) {
		if _, _, err := parseRange(from, to); err != nil {
			return Agenda{}, Abort(err)
		}
		cal, err := CalendarOf(g.Group)
		if err != nil {
			return Agenda{}, err
		}
		windows, err := cal.Between(from, to)
		if err != nil {
			return Agenda{}, err
		}
		open := now()
		windows = slices.DeleteFunc(windows, func(w reverie.Window) bool {
			return w.Until.After(open) || !w.Until.After(g.FirstPending)
		})
		due, err := pending(ctx, store, g.ID, windows)
		return Agenda{Windows: due}, err
	}
}

// windowsAtOnce bounds one question to the store: a message from long ago makes
// for very many dates.
const windowsAtOnce = 4000

// pending are those of the windows that have pending messages.
func pending(ctx context.Context, store PendingStore, groupID string, windows []reverie.Window) ([]reverie.Window, error) {
	var due []reverie.Window
	for some := range slices.Chunk(windows, windowsAtOnce) {
		loads, err := store.PendingWindows(ctx, groupID, some)
		if err != nil {
			return nil, err
		}
		for _, l := range loads {
			due = append(due, l.Window)
		}
	}
	return due, nil
}

// Abort marks an error that is the same for every group, such as a refused key:
// the fan-out ends with it. What is under way may finish.
func Abort(err error) error {
	if err == nil {
		return nil
	}
	return &abortError{err}
}

type abortError struct{ err error }

func (e *abortError) Error() string { return e.err.Error() }
func (e *abortError) Unwrap() error { return e.err }

// aborted is the error that was marked, or nil.
func aborted(err error) error {
	if a, ok := errors.AsType[*abortError](err); ok {
		return a.err
	}
	return nil
}

// IsGlobal tells whether an error is the same for every group: a key that is not known,
// a model or a table that is not there. An unreadable time zone, which is invalid too, is
// one group's.
func IsGlobal(err error) bool {
	return errors.Is(err, reverie.ErrOutdatedSchema) ||
		errors.Is(err, reverie.ErrConfiguration) && !errors.Is(err, reverie.ErrInvalid) && !IsForbidden(err)
}

// IsForbidden tells whether the model's server has refused a question with 403.
func IsForbidden(err error) bool {
	fault, ok := errors.AsType[*llm.Error](err)
	return ok && fault.Status == http.StatusForbidden
}

// CountsAgainstGroup tells whether an error counts against its group: it does not pass
// by itself, and is not the same for all.
func CountsAgainstGroup(err error) bool {
	return err != nil && !reverie.Passing(err) && !IsGlobal(err) && !IsForbidden(err) &&
		aborted(err) == nil && !errors.Is(err, errEnded)
}

// MaxRefused is how many runs in a row may be refused with 403 before that is taken
// for the key's fault. A single one may be a gateway that dislikes what somebody
// wrote, which must not stop the groups behind.
const MaxRefused = 5

// classify marks the error of a window that ends the fan-out, and defers the group whose
// question was refused.
func (f *fanOut) classify(done Report) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch err := done.Err; {
	case aborted(err) != nil:
		return err
	case IsGlobal(err):
		return Abort(err)
	case IsForbidden(err):
		if f.refused++; f.refused >= MaxRefused {
			return Abort(err)
		}
		return fmt.Errorf("%w: %w", reverie.ErrDeferred, err)
	case err == nil && !done.NoNew:
		f.refused = 0
	}
	return done.Err
}

// Recovered runs fn and makes an error of a panic, which the log has with its stack and
// with what names the work.
func Recovered(log *slog.Logger, fn func() error, what ...any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic", append(what, "panic", p, "stack", string(debug.Stack()))...)
			err = fmt.Errorf("panic, see the log: %v", p)
		}
	}()
	return fn()
}

// recovered is [Recovered] for one group: its panic is not the process's.
func (r *Runner) recovered(groupID string, fn func() error) error {
	return Recovered(r.logger(), fn, "job", r.Job, "group_id", groupID)
}

// Outcome is what became of a group in a fan-out.
type Outcome string

// The outcomes of a group.
const (
	Done     Outcome = "done"     // all of its windows were worked on; nothing pending counts too
	Skipped  Outcome = "skipped"  // busy, parked, or left alone after a failure
	Failed   Outcome = "failed"   // a window failed; later ones were not begun
	Deferred Outcome = "deferred" // a passing fault, a spent budget or a stop
)

// RunOutcome is what became of one window of one group, whatever the job.
type RunOutcome struct {
	RunID   string // "" where nothing was begun
	Status  reverie.RunStatus
	NoNew   bool // nothing was pending
	Stats   reverie.Stats
	Held    []string // why plans are held
	Waiting int      // of Stats.Refused, lines on which a person decides, or has decided
	Through string   // the session up to which it reached (dream)
	Result  any      // the job's own result
}

// Report is how one window of a group ended.
type Report struct {
	GroupID string
	Window  reverie.Window
	RunOutcome
	Took time.Duration
	Err  error // nil: done, or held for a person
}

// GroupResult is what became of one group.
type GroupResult struct {
	GroupID string
	Outcome Outcome
	Reason  string   // why it was skipped, or what failed or deferred it
	Err     error    // of the window that failed or was deferred
	ThenErr error    // of what followed the window: see [Request]
	Windows []Report // those that were begun, oldest first
	Left    int      // windows that are due and were not finished; those beyond the cap among them
	Capped  int      // of those, the ones beyond the cap on missed nights
	Parked  bool     // it is parked now
}

// Last is the last window that was begun, the zero report where none was.
func (r *GroupResult) Last() Report {
	if len(r.Windows) == 0 {
		return Report{GroupID: r.GroupID}
	}
	return r.Windows[len(r.Windows)-1]
}

// plans sets what is left of a group before any of it is begun.
func (r *GroupResult) plans(a Agenda) { r.Left, r.Capped = len(a.Windows)+a.Capped, a.Capped }

// Summary is how far a fan-out came. Its size does not depend on the number of
// groups.
type Summary struct {
	Done     int `json:"done"`
	Skipped  int `json:"skipped"`
	Failed   int `json:"failed"`
	Deferred int `json:"deferred"`
	Windows  int `json:"windows"` // finished
	Left     int `json:"left"`    // windows that are due and were not finished
	Parked   int `json:"parked"`  // groups that are parked
	// Failures are the first groups that failed, at most MaxFailures.
	Failures []GroupFailure `json:"failures,omitempty"`
	// Stopped says why groups were left that nobody has looked at: a signal, or a
	// spent budget. They count nowhere above.
	Stopped string `json:"stopped,omitempty"`
}

// Next adds a further run over the same groups, in which those before have done their part.
func (s *Summary) Next(n Summary) {
	n.Skipped = max(0, n.Skipped-s.Failed) // those that have failed are left alone
	n.Done, n.Failed, n.Windows = s.Done+n.Done, s.Failed+n.Failed, s.Windows+n.Windows
	n.Failures = slices.Concat(s.Failures, n.Failures)
	n.Failures = n.Failures[:min(len(n.Failures), MaxFailures)]
	*s = n
}

// MaxFailures bounds the failures that a summary names.
const MaxFailures = 20

// GroupFailure says why a group failed.
type GroupFailure struct {
	GroupID string `json:"group_id"`
	Error   string `json:"error"`
}

// PartialError says that a fan-out did not do all there was: some groups failed
// or were deferred, the others are done.
type PartialError struct {
	Summary Summary
	Err     error // that kept it from finding further groups; nil: none did
}

func (e *PartialError) Error() string {
	s := e.Summary
	var parts []string
	add := func(n int, what string) {
		if n == 1 {
			parts = append(parts, "1 group "+what)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d groups %s", n, what))
		}
	}
	add(s.Failed, "failed")
	add(s.Deferred, "deferred")
	add(s.Done, "done")
	parts = []string{strings.Join(parts, ", "), "what is not done stays pending for the next run"}
	if s.Stopped != "" {
		parts = append(parts, "stopped before the rest: "+s.Stopped)
	}
	return strings.TrimPrefix(strings.Join(parts, "; "), "; ")
}

// Is makes a fan-out in which nothing failed an [reverie.ErrDeferred].
func (e *PartialError) Is(target error) bool {
	return target == reverie.ErrDeferred && e.Summary.Failed == 0 && e.Err == nil
}

func (e *PartialError) Unwrap() error { return e.Err }
