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

// Work processes one window of one group under the group's lease. A window without pending messages is no error. The
// errors mean:
//
//   - marked by [Abort], or the same for every group ([IsGlobal]): no other group is begun
//   - [reverie.BudgetError]: the group is deferred, and no other group is begun
//   - [reverie.ErrDeferred], [reverie.ErrUnavailable], [reverie.ErrLeaseLost], or
//     of a context: the group is deferred
//   - any other, and a panic: the group failed
type Work func(ctx context.Context, held *Held, g reverie.DueGroup, w reverie.Window) (RunOutcome, error)

// Runner does a job: for all due groups ([Runner.Run]), or for one group on request ([Runner.RunOne], which needs no
// Plan). The failure of a group does not stop the others.
type Runner struct {
	Job         reverie.Job
	Store       Store
	Leases      *Leases
	Concurrency int    // groups at a time
	Shard       Shard  // the zero Shard is all groups
	GroupID     string // only this group, paused or not; "" = all that are not paused
	// After is the group after which Run begins; it then continues from the first group. "" begins with the first. It
	// gives the last groups their turn where each run is cut short.
	After string
	Plan  Plan
	// Enter waits until a group may begin, or until ctx ends. It returns the context for the work, and a function to
	// call at its end. It may be nil.
	Enter func(ctx context.Context) (work context.Context, leave func())
	// Prepare is called under the group's lease, before the runner reads again what is due. It may be nil.
	Prepare func(ctx context.Context, held *Held, g reverie.DueGroup) error
	Work    Work
	// WindowFailed is set for jobs whose windows do not depend on each other. A failed window then stops no other
	// window. WindowFailed notes the failure for the window, and the group has none. nil: a failed window stops the
	// later ones of its group.
	WindowFailed func(ctx context.Context, groupID string, w reverie.Window, err error) error
	Rule         reverie.ParkRule
	DryRun       bool      // the work writes nothing: the runner takes no lease and notes nothing
	IgnoreRetry  bool      // a person asks: do not wait after a failure; parked groups stay parked
	Since        time.Time // groups that have failed since are skipped: an earlier wave tried them
	// Instrument begins metrics, traces and logs of a run. It returns the context for the run, and a function to call
	// with its report. It may be nil.
	Instrument func(ctx context.Context, groupID string, w reverie.Window) (context.Context, func(Report))
	Ended      func(GroupResult) // called with the result of each group, by Run and RunOne; may be nil
	Show       func(Report)      // called with each run of a fan-out, never at once with Report; may be nil
	Report     func(GroupResult) // called with each group that was due, one at a time; may be nil
	Now        func() time.Time  // nil: time.Now
	Log        *slog.Logger      // nil: slog.Default
}

const (
	pageSize     = 500
	pageAttempts = 4
	pageDelay    = time.Second // after the first attempt; doubled after each further one
)

// Run works on each due group under one lease, window by window. It stops at a window that is deferred, or that fails
// while later ones depend on it. Once stop is closed, no further group or window is begun. When ctx ends, work in
// progress is cut.
//
// The error is nil when all that was due was done or skipped. After [Abort] it is the marked error. If not even the
// first groups could be listed, it is the store's error. Otherwise it is a [PartialError].
func (r *Runner) Run(ctx context.Context, stop <-chan struct{}) (Summary, error) {
	f := &fanOut{Runner: r, ctx: ctx, stop: stop, halted: make(chan struct{}), slots: semaphore.NewWeighted(int64(max(1, r.Concurrency)))}
	defer f.watch()()
	err := f.feed(ctx)
	f.running.Wait()
	// Groups that other jobs of the process work on come last.
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

// fanOut is one call of Run.
type fanOut struct {
	*Runner
	ctx     context.Context // when it ends, work in progress is cut
	stop    <-chan struct{}
	open    context.Context     // ends with ctx, stop and halted: waiting for new work ends
	slots   *semaphore.Weighted // limits the groups in progress
	running sync.WaitGroup

	halted     chan struct{} // closed: no further group or window is begun
	showing    sync.Mutex    // serializes calls of Show and Report
	mu         sync.Mutex    // guards the fields below
	abort      error
	busyGroups []reverie.DueGroup // groups that other jobs of the process work on
	refused    int                // runs in a row that the model's server refused with 403
	summary    Summary
}

// watch ends open when its time has come. It returns a function that stops the watching.
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

// feed starts the due groups: those after After, then the others.
func (f *fanOut) feed(ctx context.Context) error {
	if f.After == "" || f.GroupID != "" {
		return f.startRange(ctx, "", "")
	}
	if err := f.startRange(ctx, f.After, ""); err != nil {
		return err
	}
	return f.startRange(ctx, "", f.After)
}

// startRange starts the due groups after one id, up to and including another; "" is no bound. It reads a page once it
// has started all groups of the page before. It reads the first page even when the run must stop, to learn whether that
// leaves work undone.
func (f *fanOut) startRange(ctx context.Context, after, last string) error {
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
			if last != "" && g.ID > last { // the database orders ids by bytes, too
				return nil
			}
			if f.Shard.Has(g.ID) && f.mustStart(ctx, g) && !f.start(ctx, g, f.runIfFree) {
				return nil
			}
		}
		if len(page) < pageSize || f.over() {
			return nil
		}
		q.After = page[len(page)-1].ID
	}
}

// mustStart reports whether a group must be started. Only a run that must stop checks first whether anything is due,
// since a group with nothing due is not left undone.
func (f *fanOut) mustStart(ctx context.Context, g reverie.DueGroup) bool {
	if !closed(f.stop) || closed(f.halted) {
		return true
	}
	agenda, err := f.plan(ctx, g)
	return err != nil || len(agenda.Windows) > 0 && !f.isSkipped(&GroupResult{}, g)
}

// start runs a group once a slot is free. It returns false when no further group may begin.
func (f *fanOut) start(ctx context.Context, g reverie.DueGroup, run func(context.Context, reverie.DueGroup)) bool {
	if f.over() {
		return false
	}
	if f.slots.Acquire(f.open, 1) != nil {
		f.over() // notes the reason
		return false
	}
	f.running.Go(func() {
		defer f.slots.Release(1)
		run(ctx, g)
	})
	return true
}

// page reads a page of due groups, with retries.
func (f *fanOut) page(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error) {
	for attempt, delay := 1, pageDelay; ; attempt, delay = attempt+1, delay*2 {
		page, err := f.Store.DueGroups(ctx, q)
		if err == nil || attempt == pageAttempts || isPermanent(err) {
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

// isPermanent reports whether a retry would fail with the same error.
func isPermanent(err error) bool {
	return errors.Is(err, reverie.ErrNotFound) || errors.Is(err, reverie.ErrInvalid) ||
		errors.Is(err, reverie.ErrConfiguration) || errors.Is(err, reverie.ErrOutdatedSchema)
}

// over reports whether no further group or window may begin, and notes the reason. A cut of the work in progress is the
// stronger reason, so it is checked first.
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

// halt prevents further groups and windows. The first reason is kept.
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

// show calls Show for a run that has ended. Work whose lease was lost is reported by the next holder.
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
	Capped  int              // further due windows, left for a later run
}

// Plan returns what is due for a group; an empty agenda means nothing. An error counts as a failure of the group, like
// an error of [Work].
type Plan func(ctx context.Context, g reverie.DueGroup) (Agenda, error)

// PendingStore finds the windows of a group with pending messages.
type PendingStore interface {
	PendingWindows(ctx context.Context, groupID string, windows []reverie.Window) ([]reverie.WindowLoad, error)
}

// Nightly plans the dates that have ended and have pending messages, at most limit of them; 0 is no limit.
func Nightly(store PendingStore, now func() time.Time, limit int) Plan {
	return func(ctx context.Context, g reverie.DueGroup) (Agenda, error) {
		cal, err := CalendarOf(g.Group)
		if err != nil {
			return Agenda{}, err
		}
		due := slices.Collect(cal.Closed(g.FirstPending, now()))
		if len(due) > 1 { // the first date has the oldest pending message
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

// Everything plans all pending messages as one window, with those of the open date.
func Everything() Plan {
	return func(context.Context, reverie.DueGroup) (Agenda, error) {
		return Agenda{Windows: []reverie.Window{{}}}, nil
	}
}

// Dates plans the dates from..to, both included, that have ended and have pending messages. Dates that cannot be parsed
// end the fan-out.
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

// windowsAtOnce bounds one query: an old pending message makes very many dates.
const windowsAtOnce = 4000

// pending returns the windows that have pending messages.
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

// Abort marks an error that is the same for every group, such as a rejected API key. The fan-out ends with it. Work in
// progress may finish.
func Abort(err error) error {
	if err == nil {
		return nil
	}
	return &abortError{err}
}

type abortError struct{ err error }

func (e *abortError) Error() string { return e.err.Error() }
func (e *abortError) Unwrap() error { return e.err }

// aborted returns the error that Abort marked, or nil.
func aborted(err error) error {
	if a, ok := errors.AsType[*abortError](err); ok {
		return a.err
	}
	return nil
}

// IsGlobal reports whether an error is the same for every group: an unknown API key, a missing model or a missing
// table. An invalid time zone concerns one group only.
func IsGlobal(err error) bool {
	return errors.Is(err, reverie.ErrOutdatedSchema) ||
		errors.Is(err, reverie.ErrConfiguration) && !errors.Is(err, reverie.ErrInvalid) && !IsForbidden(err)
}

// IsForbidden reports whether the model's server refused a question with 403.
func IsForbidden(err error) bool {
	fault, ok := errors.AsType[*llm.Error](err)
	return ok && fault.Status == http.StatusForbidden
}

// CountsAgainstGroup reports whether an error counts as a failure of its group. Such an error is not transient, and not
// the same for all groups.
func CountsAgainstGroup(err error) bool {
	return err != nil && !reverie.Passing(err) && !IsGlobal(err) && !IsForbidden(err) &&
		aborted(err) == nil && !errors.Is(err, errEnded)
}

// MaxRefused is how many runs in a row may be refused with 403 before the API key is blamed. A single refusal may come
// from a gateway that rejects the text of one group. It must not stop the other groups.
const MaxRefused = 5

// classify marks errors that end the fan-out, and defers a group whose question was refused.
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

// Recovered runs fn and turns a panic into an error. It logs the stack, with the attributes in what.
func Recovered(log *slog.Logger, fn func() error, what ...any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic", append(what, "panic", p, "stack", string(debug.Stack()))...)
			err = fmt.Errorf("panic, see the log: %v", p)
		}
	}()
	return fn()
}

// recovered is [Recovered] for the work on one group.
func (r *Runner) recovered(groupID string, fn func() error) error {
	return Recovered(r.logger(), fn, "job", r.Job, "group_id", groupID)
}

// Outcome is the outcome of a group in a fan-out.
type Outcome string

// The outcomes of a group.
const (
	Done     Outcome = "done"     // all of its windows were worked on, or nothing was pending
	Skipped  Outcome = "skipped"  // busy, parked, or waiting for a retry
	Failed   Outcome = "failed"   // a window failed; later ones were not begun
	Deferred Outcome = "deferred" // a transient fault, a spent budget or a stop
)

// RunOutcome is the outcome of one window of one group, for any job.
type RunOutcome struct {
	RunID   string // "" if no run was begun
	Status  reverie.RunStatus
	NoNew   bool // nothing was pending
	Stats   reverie.Stats
	Held    []string // why plans are held
	Waiting int      // lines of Stats.Refused that a person will decide on, or has rejected
	Through string   // of a dream: the last session that it covers
	Result  any      // the job's own result
}

// Report is the end of one window of a group.
type Report struct {
	GroupID string
	Window  reverie.Window
	RunOutcome
	Took time.Duration
	Err  error // nil: done, or held for review
}

// GroupResult is the outcome of one group.
type GroupResult struct {
	GroupID string
	Outcome Outcome
	Reason  string   // why it was skipped, or what failed or deferred it
	Err     error    // of the window that failed or was deferred
	ThenErr error    // the error of [Request.Then]
	Windows []Report // the windows that were begun, oldest first
	Left    int      // due windows that were not finished, including Capped
	Capped  int      // due windows beyond the limit of missed nights
	Parked  bool     // the group is parked now
}

// Last returns the last window that was begun, or the zero Report.
func (r *GroupResult) Last() Report {
	if len(r.Windows) == 0 {
		return Report{GroupID: r.GroupID}
	}
	return r.Windows[len(r.Windows)-1]
}

// plans counts the due windows of a group before any is begun.
func (r *GroupResult) plans(a Agenda) { r.Left, r.Capped = len(a.Windows)+a.Capped, a.Capped }

// Summary counts the outcomes of a fan-out. Its size does not depend on the number of groups.
type Summary struct {
	Done     int `json:"done"`
	Skipped  int `json:"skipped"`
	Failed   int `json:"failed"`
	Deferred int `json:"deferred"`
	Windows  int `json:"windows"` // finished
	Left     int `json:"left"`    // due windows that were not finished
	Parked   int `json:"parked"`  // groups that are parked
	// Failures are the first groups that failed, at most MaxFailures.
	Failures []GroupFailure `json:"failures,omitempty"`
	// Stopped says why the fan-out ended early: a signal, or a spent budget. The groups that it did not reach are not
	// counted above.
	Stopped string `json:"stopped,omitempty"`
}

// Next adds a further wave over the same groups.
func (s *Summary) Next(n Summary) {
	n.Skipped = max(0, n.Skipped-s.Failed) // the later wave skips those that failed
	n.Done, n.Failed, n.Windows = s.Done+n.Done, s.Failed+n.Failed, s.Windows+n.Windows
	n.Failures = slices.Concat(s.Failures, n.Failures)
	n.Failures = n.Failures[:min(len(n.Failures), MaxFailures)]
	*s = n
}

// MaxFailures is the most failures that a summary lists.
const MaxFailures = 20

// GroupFailure says why a group failed.
type GroupFailure struct {
	GroupID string `json:"group_id"`
	Error   string `json:"error"`
}

// PartialError says that a fan-out did not do everything: some groups failed or were deferred. The others are done.
type PartialError struct {
	Summary Summary
	Err     error // why further groups could not be listed; nil: all were
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

// Is reports a fan-out without failures as [reverie.ErrDeferred].
func (e *PartialError) Is(target error) bool {
	return target == reverie.ErrDeferred && e.Summary.Failed == 0 && e.Err == nil
}

func (e *PartialError) Unwrap() error { return e.Err }
