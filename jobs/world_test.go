package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// midday is when the tests are: the 15th is open everywhere in UTC.
var midday = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// rule parks at the third failure in a row.
var rule = reverie.ParkRule{After: 3, RetryAfter: time.Hour, MaxRetryAfter: 12 * time.Hour}

// world is a store in memory: groups with messages that are pending or not.
type world struct {
	mu       sync.Mutex
	groups   []reverie.Group // by id
	pending  map[string][]time.Time
	setbacks map[string]*reverie.Setback
	held     map[string]string // who has the lease
	fence    int64

	asked   []string          // "after ID" for each page, "look ID" for each group by itself, "windows ID n", "clear ID"
	onPage  func(n int) error // before the n-th page is read, counted from 1
	onLease func(id string)   // after a lease was acquired
	freeErr error             // of giving a lease back
	noteErr error
	worked  []string // "ID DATE", in order
	pages   int
}

// newWorld makes groups that have a message at noon of each of the days ago.
func newWorld(ids []string, daysAgo ...int) *world {
	w := &world{pending: map[string][]time.Time{}, setbacks: map[string]*reverie.Setback{}, held: map[string]string{}}
	for _, id := range ids {
		w.groups = append(w.groups, reverie.Group{ID: id, TimeZone: "UTC"})
		for _, d := range daysAgo {
			w.pending[id] = append(w.pending[id], midday.AddDate(0, 0, -d))
		}
	}
	return w
}

// at is where a group stands among all, or would.
func (w *world) at(id string) (int, bool) {
	return slices.BinarySearchFunc(w.groups, id, func(g reverie.Group, id string) int { return strings.Compare(g.ID, id) })
}

func (w *world) group(id string) *reverie.Group {
	i, _ := w.at(id)
	return &w.groups[i]
}

func (w *world) DueGroups(ctx context.Context, q reverie.DueQuery) ([]reverie.DueGroup, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if q.GroupID == "" {
		w.mu.Lock()
		w.pages++
		n, hook := w.pages, w.onPage
		w.asked = append(w.asked, "after "+q.After)
		w.mu.Unlock()
		if hook != nil {
			if err := hook(n); err != nil {
				return nil, err
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.GroupID != "" {
		w.asked = append(w.asked, "look "+q.GroupID)
		i, found := w.at(q.GroupID)
		if !found {
			return nil, fmt.Errorf("group %q: %w", q.GroupID, reverie.ErrNotFound)
		}
		return w.due(w.groups[i:i+1], 1, true), nil
	}
	i, found := w.at(q.After)
	if found {
		i++
	}
	return w.due(w.groups[i:], q.Limit, false), nil
}

// due are the first of the groups with pending messages.
func (w *world) due(groups []reverie.Group, limit int, paused bool) []reverie.DueGroup {
	var list []reverie.DueGroup
	for _, g := range groups {
		sent := w.pending[g.ID]
		if len(sent) == 0 || g.Paused && !paused {
			continue
		}
		due := reverie.DueGroup{Group: g, FirstPending: slices.MinFunc(sent, time.Time.Compare)}
		if s := w.setbacks[g.ID]; s != nil {
			kept := *s
			due.Setback = &kept
		}
		if list = append(list, due); len(list) == limit {
			break
		}
	}
	return list
}

func holds(win reverie.Window, at time.Time) bool {
	return !at.Before(win.Since) && (win.Until.IsZero() || at.Before(win.Until))
}

func (w *world) PendingWindows(_ context.Context, id string, windows []reverie.Window) ([]reverie.WindowLoad, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, fmt.Sprintf("windows %s %d", id, len(windows)))
	var list []reverie.WindowLoad
	for _, win := range windows {
		n := 0
		for _, at := range w.pending[id] {
			if holds(win, at) {
				n++
			}
		}
		if n > 0 {
			list = append(list, reverie.WindowLoad{Window: win, Messages: n})
		}
	}
	return list, nil
}

func (w *world) NoteFailure(ctx context.Context, id string, _ reverie.Job, reason string, rule reverie.ParkRule) (reverie.Setback, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, bounded := ctx.Deadline(); ctx.Err() != nil || !bounded {
		return reverie.Setback{}, fmt.Errorf("noted with a context that is dead, or has no end: %v", ctx.Err())
	}
	if w.noteErr != nil {
		return reverie.Setback{}, w.noteErr
	}
	before := reverie.Setback{GroupID: id}
	if s := w.setbacks[id]; s != nil {
		before = *s
	}
	s := rule.Next(before, reason, midday)
	w.setbacks[id] = &s
	return s, nil
}

func (w *world) ClearSetback(ctx context.Context, id string, _ reverie.Job) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, "clear "+id)
	if _, bounded := ctx.Deadline(); ctx.Err() != nil || !bounded {
		return fmt.Errorf("cleared with a context that is dead, or has no end: %v", ctx.Err())
	}
	if w.held[id] == "" {
		return fmt.Errorf("cleared of %q, whose lease nobody has", id)
	}
	delete(w.setbacks, id)
	return nil
}

func (w *world) AcquireLease(_ context.Context, id, _, holder string, _ time.Duration) (reverie.Lease, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.held[id]; h != "" {
		return reverie.Lease{}, &reverie.BusyError{GroupID: id, Holder: h, ExpiresAt: midday}
	}
	w.held[id] = holder
	w.fence++
	if w.onLease != nil {
		w.onLease(id)
	}
	return reverie.Lease{GroupID: id, Holder: holder, Fence: w.fence}, nil
}

func (w *world) RenewLease(context.Context, reverie.Lease, time.Duration) (time.Time, error) {
	return time.Time{}, fmt.Errorf("taken: %w", reverie.ErrLeaseLost)
}

func (w *world) ReleaseLease(_ context.Context, lease reverie.Lease) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, lease.GroupID)
	return w.freeErr
}

// work is [jobs.Work] of which only the error counts.
type work func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, win reverie.Window) error

func (work work) run(ctx context.Context, held *jobs.Held, g reverie.DueGroup, win reverie.Window) (jobs.RunOutcome, error) {
	return jobs.RunOutcome{}, work(ctx, held, g, win)
}

// work consumes what is pending in a window, or fails as err says.
func (w *world) work(err func(id, date string) error) work {
	return func(_ context.Context, held *jobs.Held, g reverie.DueGroup, win reverie.Window) error {
		if held.Lease().GroupID != g.ID {
			return fmt.Errorf("%q is worked on under the lease of %q", g.ID, held.Lease().GroupID)
		}
		if err != nil {
			if err := err(g.ID, win.Date); err != nil {
				return err
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if end := held.Lease().GiveBack; end != nil { // as with the end of the run
			*end = true
			delete(w.held, g.ID)
		}
		w.worked = append(w.worked, strings.TrimSpace(g.ID+" "+win.Date))
		w.pending[g.ID] = slices.DeleteFunc(w.pending[g.ID], func(at time.Time) bool { return holds(win, at) })
		return nil
	}
}

// still is a heart that does not beat.
func still(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

// runner works on the world at midday, one group at a time, and keeps the reports.
func (w *world) runner(work work) (*jobs.Runner, *[]string) {
	var reports []string
	now := func() time.Time { return midday }
	r := &jobs.Runner{Job: reverie.JobEvolve, Store: w, Leases: &jobs.Leases{Store: w, Holder: "host:1", Beat: still},
		Concurrency: 1, Plan: jobs.Nightly(w, now, 0), Work: work.run, Rule: rule, Now: now, Log: quiet}
	r.Report = func(g jobs.GroupResult) {
		line := fmt.Sprintf("%s %s, %d begun, %d left", g.GroupID, g.Outcome, len(g.Windows), g.Left)
		if g.Capped > 0 {
			line += fmt.Sprintf(" (%d capped)", g.Capped)
		}
		if g.Parked {
			line += ", parked"
		}
		if g.Reason != "" {
			line += ": " + g.Reason
		}
		reports = append(reports, line)
	}
	return r, &reports
}

func ids(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("g%05d", i)
	}
	return list
}

// lines compares lists, and shows both where they differ.
func lines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
