package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

var quiet = slog.New(slog.DiscardHandler)

// TestManyGroups streams 10,000 groups through eight workers.
func TestManyGroups(t *testing.T) {
	const groups, workers, page = 10_000, 8, 500
	w := newWorld(ids(groups), 1)
	var begun atomic.Int64
	var mu sync.Mutex // guards what follows
	var inside, most int
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		inside += n
		most = max(most, inside)
	}
	meet := make(chan struct{}) // closed when all the workers are inside at once
	r, reports := w.runner(w.work(func(string, string) error {
		n := begun.Add(1)
		count(1)
		defer count(-1)
		if n == workers {
			close(meet)
		}
		<-meet
		return nil
	}))
	r.Concurrency = workers
	w.onPage = func(n int) error {
		if least := int64((n-1)*page - workers); begun.Load() < least {
			t.Errorf("page %d is read when %d groups are begun, want %d", n, begun.Load(), least)
		}
		return nil
	}
	s, err := r.Run(t.Context(), nil)
	if err != nil || s.Done != groups || s.Windows != groups || s.Left+s.Skipped+s.Failed+s.Deferred != 0 || s.Failures != nil || len(*reports) != groups {
		t.Errorf("%+v, %v, %d reports", s, err, len(*reports))
	}
	if most != workers || w.pages != groups/page+1 {
		t.Errorf("%d groups at a time, %d pages", most, w.pages)
	}
	slices.Sort(w.worked)
	if unique := slices.Compact(slices.Clone(w.worked)); len(unique) != groups || len(w.worked) != groups {
		t.Errorf("%d windows worked on, %d different ones", len(w.worked), len(unique))
	}
}

// TestShardedRunners lets the shards of a job, and two runners that overlap, do all
// of the work, each window once.
func TestShardedRunners(t *testing.T) {
	for _, shards := range [][]jobs.Shard{{{Index: 0, Count: 3}, {Index: 1, Count: 3}, {Index: 2, Count: 3}}, {{}, {}, {}}} {
		w := newWorld(ids(700), 3, 2, 1)
		own := make([]int, len(shards))
		for _, g := range w.groups {
			for i, shard := range shards {
				if shard.Has(g.ID) {
					own[i]++
				}
			}
		}
		var all sync.WaitGroup
		for i, shard := range shards {
			r, _ := w.runner(w.work(nil))
			r.Concurrency, r.Shard = 4, shard
			r.Leases.Holder = fmt.Sprintf("host:%d", i+1)
			all.Go(func() {
				if s, err := r.Run(t.Context(), nil); err != nil || s.Done+s.Skipped > own[i] || shard.Count > 0 && s.Done != own[i] {
					t.Errorf("%s of %d groups: %+v, %v", shard, own[i], s, err)
				}
			})
		}
		all.Wait()
		slices.Sort(w.worked)
		if unique := slices.Compact(slices.Clone(w.worked)); len(unique) != 3*700 || len(w.worked) != 3*700 {
			t.Errorf("%v: %d windows worked on, %d different ones", shards, len(w.worked), len(unique))
		}
	}
}

// TestNoGroupStopsAnother runs a group of every kind beside healthy ones.
func TestNoGroupStopsAnother(t *testing.T) {
	parkedAt := midday.AddDate(0, 0, -1)
	w := newWorld([]string{"a", "breaks", "busy", "defers", "gone", "known", "lost", "open", "parks", "parked", "timeout", "waited", "waits", "zone", "zz"}, 3, 2, 1)
	slices.SortFunc(w.groups, func(a, b reverie.Group) int { return strings.Compare(a.ID, b.ID) })
	w.pending["open"] = []time.Time{midday.Add(-time.Hour)}
	w.held["busy"] = "host:2"
	w.group("zone").TimeZone = "Mars/Olympus"
	for id, s := range map[string]reverie.Setback{
		"known":  {Failures: 1, Error: "no luck", RetryAt: midday.Add(-time.Minute)},
		"parked": {Failures: 3, Error: "no luck", RetryAt: midday.Add(-time.Minute), ParkedAt: &parkedAt},
		"parks":  {Failures: 2, Error: "no luck", RetryAt: midday.Add(-time.Minute)},
		"waited": {Failures: 1, Error: "no luck", RetryAt: midday.AddDate(3, 0, 0)}, // of before the clock was set back
		"waits":  {Failures: 1, Error: "no luck", RetryAt: midday.Add(time.Hour)},
	} {
		w.setbacks[id] = &s
	}
	r, reports := w.runner(w.work(func(id, date string) error {
		switch {
		case date != "2026-01-13" && id != "parks":
			return nil
		case id == "defers":
			return fmt.Errorf("ask the model: %w", reverie.ErrDeferred)
		case id == "gone":
			return reverie.ErrUnavailable
		case id == "timeout":
			return fmt.Errorf("ask: %w", context.DeadlineExceeded)
		case id == "lost":
			return reverie.ErrLeaseLost
		case id == "breaks":
			panic("out of range")
		case id == "known" || id == "parks":
			return errors.New("unusable answer of key sk-ant-api03-" + strings.Repeat("Ab1", 30) + "AA")
		}
		return nil
	}))
	s, err := r.Run(t.Context(), nil)
	key := "unusable answer of key [secret:anthropic-key]"
	lines(t, "reports", *reports,
		"a done, 3 begun, 0 left",
		"breaks failed, 2 begun, 2 left: panic, see the log: out of range",
		`busy skipped, 0 begun, 3 left: group "busy" is busy: held by host:2 until 2026-01-15T12:00:00Z; try again after that`,
		"defers deferred, 2 begun, 2 left: ask the model: deferred",
		"gone deferred, 2 begun, 2 left: database unavailable",
		"known failed, 2 begun, 2 left: "+key,
		"lost deferred, 2 begun, 2 left: lease lost",
		"parked skipped, 0 begun, 3 left, parked: parked: failed 3 times in a row, the last time with: no luck; when that is mended: reverie groups resume parked",
		"parks failed, 1 begun, 3 left, parked: "+key,
		"timeout deferred, 2 begun, 2 left: ask: context deadline exceeded",
		"waited done, 3 begun, 0 left",
		"waits skipped, 0 begun, 3 left: failed before: no luck; tried again from 2026-01-15T13:00:00Z on",
		`zone failed, 0 begun, 0 left: group "zone": time zone "Mars/Olympus": use an IANA name such as Asia/Shanghai`,
		"zz done, 3 begun, 0 left",
	)
	partial, ok := errors.AsType[*jobs.PartialError](err)
	if !ok || errors.Is(err, reverie.ErrDeferred) || partial.Summary.Failed != s.Failed ||
		err.Error() != "4 groups failed, 4 groups deferred, 3 groups done; what is not done stays pending for the next run" {
		t.Errorf("error %v", err)
	}
	if s.Done != 3 || s.Skipped != 3 || s.Failed != 4 || s.Deferred != 4 || s.Parked != 2 || s.Left != 24 || s.Windows != 15 || len(s.Failures) != 4 || s.Failures[0].GroupID != "breaks" || s.Stopped != "" {
		t.Errorf("summary %+v", s)
	}
	// A success clears the setback, so that a failure after it is the first in a row.
	failures := map[string]int{}
	for id, s := range w.setbacks {
		failures[id] = s.Failures
		if strings.Contains(s.Error, "sk-ant") {
			t.Errorf("%s: a key is kept: %s", id, s.Error)
		}
	}
	if want := map[string]int{"breaks": 1, "known": 1, "parked": 3, "parks": 3, "waits": 1, "zone": 1}; fmt.Sprint(failures) != fmt.Sprint(want) {
		t.Errorf("failures %v, want %v", failures, want)
	}
	if len(w.held) != 1 {
		t.Errorf("leases that were not given back: %v", w.held)
	}
}

// TestIndependent: where windows do not build on each other, one that fails stops
// none of its group, and is noted by itself; a passing fault and a stop still end
// the group's turn.
func TestIndependent(t *testing.T) {
	w := newWorld([]string{"all", "defers", "first", "mixed"}, 3, 2, 1)
	r, reports := w.runner(w.work(func(id, date string) error {
		switch {
		case id == "all", id == "first" && date == "2026-01-12", id == "mixed" && date == "2026-01-12":
			return errors.New("unusable answer")
		case (id == "defers" || id == "mixed") && date == "2026-01-13":
			return reverie.ErrDeferred
		}
		return nil
	}))
	var noted []string
	r.Concurrency = 1
	r.WindowFailed = func(_ context.Context, groupID string, w reverie.Window, err error) error {
		noted = append(noted, groupID+" "+w.Date+" "+err.Error())
		return nil
	}
	s, _ := r.Run(t.Context(), nil)
	lines(t, "reports", *reports,
		"all failed, 3 begun, 3 left: unusable answer",
		"defers deferred, 2 begun, 2 left: deferred",
		"first failed, 3 begun, 1 left: unusable answer",
		"mixed deferred, 2 begun, 3 left: deferred")
	if s.Failed != 2 || s.Deferred != 2 || s.Windows != 3 || s.Left != 9 {
		t.Errorf("summary %+v", s)
	}
	lines(t, "noted", noted,
		"all 2026-01-12 unusable answer", "all 2026-01-13 unusable answer", "all 2026-01-14 unusable answer",
		"first 2026-01-12 unusable answer", "mixed 2026-01-12 unusable answer")
	if len(w.setbacks) > 0 {
		t.Errorf("setbacks %v: what failed is no group's", w.setbacks)
	}
}

// TestAsked does not wait after a failure when a person asks, but leaves what is
// parked to be resumed, and a paused group only to one who names it.
func TestAsked(t *testing.T) {
	at := midday
	for _, c := range []struct {
		name    string
		setback *reverie.Setback
		paused  bool
		named   string
		want    []string
	}{
		{"waits", &reverie.Setback{Failures: 1, RetryAt: midday.Add(time.Hour)}, false, "g00000", []string{"g00000 done, 1 begun, 0 left"}},
		{"parked", &reverie.Setback{Failures: 3, Error: "e", ParkedAt: &at}, false, "g00000",
			[]string{"g00000 skipped, 0 begun, 1 left, parked: parked: failed 3 times in a row, the last time with: e; when that is mended: reverie groups resume g00000"}},
		{"paused and named", nil, true, "g00000", []string{"g00000 done, 1 begun, 0 left"}},
		{"paused", nil, true, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(ids(1), 1)
			w.groups[0].Paused = c.paused
			if c.setback != nil {
				w.setbacks["g00000"] = c.setback
			}
			r, reports := w.runner(w.work(nil))
			r.IgnoreRetry, r.GroupID = true, c.named
			if _, err := r.Run(t.Context(), nil); err != nil {
				t.Error(err)
			}
			lines(t, "reports", *reports, c.want...)
		})
	}
	w := newWorld(nil)
	r, _ := w.runner(w.work(nil))
	r.GroupID = "nobody"
	if s, err := r.Run(t.Context(), nil); !errors.Is(err, reverie.ErrNotFound) || errors.Is(err, reverie.ErrDeferred) || len(w.asked) != 1 {
		t.Errorf("an unknown group: %+v, %v, asked %q", s, err, w.asked)
	}
}

// TestSecondLook sees under the lease what others did since the page was read.
func TestSecondLook(t *testing.T) {
	at := midday
	for _, c := range []struct {
		name string
		do   func(w *world)
		want []string
	}{
		{"another has done it", func(w *world) { w.pending["g00000"] = nil }, nil},
		{"another has done some", func(w *world) { w.pending["g00000"] = w.pending["g00000"][1:] }, []string{"g00000 done, 1 begun, 0 left"}},
		{"another has failed", func(w *world) {
			w.setbacks["g00000"] = &reverie.Setback{Failures: 1, Error: "e", RetryAt: midday.Add(1)}
		},
			[]string{"g00000 skipped, 0 begun, 2 left: failed before: e; tried again from 2026-01-15T12:00:00Z on"}},
		{"it is parked", func(w *world) { w.setbacks["g00000"] = &reverie.Setback{Failures: 1, Error: "e", ParkedAt: &at} },
			[]string{"g00000 skipped, 0 begun, 2 left, parked: parked: failed 1 times in a row, the last time with: e; when that is mended: reverie groups resume g00000"}},
		{"a person has paused it", func(w *world) { w.groups[0].Paused = true }, []string{"g00000 skipped, 0 begun, 2 left: paused"}},
		{"a person has moved it", func(w *world) { w.groups[0].TimeZone = "Mars" },
			[]string{`g00000 failed, 0 begun, 2 left: group "g00000": time zone "Mars": use an IANA name such as Asia/Shanghai`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(ids(1), 2, 1)
			w.onLease = func(string) { c.do(w) }
			r, reports := w.runner(w.work(nil))
			_, err := r.Run(t.Context(), nil)
			if failed := c.name == "a person has moved it"; failed != (err != nil) {
				t.Error(err)
			}
			lines(t, "reports", *reports, c.want...)
		})
	}
}

// TestEndsEarly begins nothing more after an error that is everybody's, a spent
// budget, a stop or the end of the context.
func TestEndsEarly(t *testing.T) {
	refused := fmt.Errorf("the key is refused: %w", reverie.ErrConfiguration)
	budget := &reverie.BudgetError{Scope: "run", What: "calls", Limit: 5, Spent: 5}
	const rest = "; what is not done stays pending for the next run"
	for _, c := range []struct {
		name    string
		end     func(stop chan struct{}, cancel context.CancelCauseFunc) error // in the 2nd group's 1st window
		want    []string
		summary jobs.Summary
		err     string
	}{
		{"abort", func(chan struct{}, context.CancelCauseFunc) error {
			return fmt.Errorf("group b: %w", jobs.Abort(refused))
		},
			[]string{"g00000 done, 2 begun, 0 left", "g00001 deferred, 1 begun, 2 left: group b: the key is refused"},
			jobs.Summary{Done: 1, Deferred: 1, Windows: 2, Left: 2, Stopped: "the key is refused"}, refused.Error()},
		{"budget", func(chan struct{}, context.CancelCauseFunc) error { return fmt.Errorf("ask: %w", budget) },
			[]string{"g00000 done, 2 begun, 0 left", "g00001 deferred, 1 begun, 2 left: ask: " + budget.Error()},
			jobs.Summary{Done: 1, Deferred: 1, Windows: 2, Left: 2, Stopped: budget.Error()}, "1 group deferred, 1 group done" + rest + "; stopped before the rest: " + budget.Error()},
		{"stop", func(stop chan struct{}, _ context.CancelCauseFunc) error { close(stop); return nil },
			[]string{"g00000 done, 2 begun, 0 left", "g00001 deferred, 1 begun, 1 left: stopped before its next window: asked to stop"},
			jobs.Summary{Done: 1, Deferred: 1, Windows: 3, Left: 1, Stopped: "asked to stop"}, "1 group deferred, 1 group done" + rest + "; stopped before the rest: asked to stop"},
		{"cancel", func(_ chan struct{}, cancel context.CancelCauseFunc) error {
			cancel(errors.New("a second signal"))
			return errors.New("canceling statement due to user request") // as the database says it
		},
			[]string{"g00000 done, 2 begun, 0 left", "g00001 deferred, 1 begun, 2 left: canceling statement due to user request"},
			jobs.Summary{Done: 1, Deferred: 1, Windows: 2, Left: 2, Stopped: "interrupted: a second signal"}, "1 group deferred, 1 group done" + rest + "; stopped before the rest: interrupted: a second signal"},
		{"cancel and stop", func(stop chan struct{}, cancel context.CancelCauseFunc) error {
			cancel(errors.New("a second signal"))
			close(stop)
			return errors.New("canceling statement due to user request") // as the database says it
		},
			[]string{"g00000 done, 2 begun, 0 left", "g00001 deferred, 1 begun, 2 left: canceling statement due to user request"},
			jobs.Summary{Done: 1, Deferred: 1, Windows: 2, Left: 2, Stopped: "interrupted: a second signal"}, "1 group deferred, 1 group done" + rest + "; stopped before the rest: interrupted: a second signal"},
		{"cancel between windows", func(_ chan struct{}, cancel context.CancelCauseFunc) error {
			cancel(errors.New("a second signal"))
			return nil
		},
			[]string{"g00000 done, 2 begun, 0 left", "g00001 deferred, 1 begun, 1 left: a second signal"},
			jobs.Summary{Done: 1, Deferred: 1, Windows: 3, Left: 1, Stopped: "interrupted: a second signal"}, "1 group deferred, 1 group done" + rest + "; stopped before the rest: interrupted: a second signal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(ids(5), 2, 1)
			w.setbacks["g00000"] = &reverie.Setback{Failures: 1, RetryAt: midday}
			if c.name == "cancel between windows" { // what has been done counts, however it ends
				w.setbacks["g00001"] = &reverie.Setback{Failures: 1, RetryAt: midday}
			}
			stop := make(chan struct{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			r, reports := w.runner(w.work(func(id, date string) error {
				if id == "g00001" && date == "2026-01-13" {
					return c.end(stop, cancel)
				}
				return nil
			}))
			s, err := r.Run(ctx, stop)
			lines(t, "reports", *reports, c.want...)
			if fmt.Sprintf("%+v", s) != fmt.Sprintf("%+v", c.summary) || fmt.Sprint(err) != c.err {
				t.Errorf("%+v, %v; want\n%+v, %s", s, err, c.summary, c.err)
			}
			if c.name == "abort" && !errors.Is(err, reverie.ErrConfiguration) || c.name != "abort" && !errors.Is(err, reverie.ErrDeferred) {
				t.Errorf("error %v is of the wrong kind", err)
			}
			if len(w.setbacks) != 0 || len(w.held) != 0 {
				t.Errorf("setbacks %v, leases %v", w.setbacks, w.held)
			}
		})
	}
}

// TestOthersFinish lets the window that another group is in go on after a stop.
func TestOthersFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(ids(10), 2, 1)
		stop := make(chan struct{})
		r, reports := w.runner(w.work(func(string, string) error {
			<-time.After(time.Hour)
			return nil
		}))
		r.Concurrency = 3
		ended := make(chan error)
		go func() {
			_, err := r.Run(t.Context(), stop)
			ended <- err
		}()
		synctest.Wait()
		close(stop)
		err := <-ended
		slices.Sort(*reports)
		lines(t, "reports", *reports, "g00000 deferred, 1 begun, 1 left: stopped before its next window: asked to stop",
			"g00001 deferred, 1 begun, 1 left: stopped before its next window: asked to stop",
			"g00002 deferred, 1 begun, 1 left: stopped before its next window: asked to stop")
		if !errors.Is(err, reverie.ErrDeferred) {
			t.Error(err)
		}
	})
}

// TestPageFails tries again, with time between, and gives up in the end.
func TestPageFails(t *testing.T) {
	gone := fmt.Errorf("read: %w", reverie.ErrUnavailable)
	for _, c := range []struct {
		name       string
		from, fail int // pages that cannot be read: from this one on, so many times
		stop       bool
		err        error
		took       time.Duration
		done       int
		text       string
	}{
		{"once", 2, 1, false, nil, time.Second, 700, ""},
		{"too often", 2, 4, false, gone, 7 * time.Second, 500,
			"500 groups done; what is not done stays pending for the next run; stopped before the rest: the groups that are due could not be listed: read: database unavailable"},
		{"from the start", 1, 4, false, gone, 7 * time.Second, 0, "read: database unavailable"},
		{"stopped meanwhile", 2, 4, true, reverie.ErrDeferred, 0, 500,
			"500 groups done; what is not done stays pending for the next run; stopped before the rest: asked to stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(ids(700), 1)
				stop := make(chan struct{})
				w.onPage = func(n int) error {
					if n < c.from || n >= c.from+c.fail {
						return nil
					}
					if c.stop {
						synctest.Wait() // the groups of the first page are done
						close(stop)
					}
					return gone
				}
				r, _ := w.runner(w.work(nil))
				begun := time.Now()
				s, err := r.Run(t.Context(), stop)
				if s.Done != c.done || !errors.Is(err, c.err) || errors.Is(err, reverie.ErrDeferred) != c.stop || time.Since(begun) != c.took || err != nil && err.Error() != c.text {
					t.Errorf("%+v, %v, after %s", s, err, time.Since(begun))
				}
			})
		})
	}
}

// TestLeaseTrouble loses leases, and fails to give them back.
func TestLeaseTrouble(t *testing.T) {
	w := newWorld(ids(2), 2, 1)
	w.freeErr = errors.New("the database is gone")
	r, reports := w.runner(w.work(nil))
	if _, err := r.Run(t.Context(), nil); err != nil || len(w.setbacks) != 0 {
		t.Errorf("a lease that was not given back: %v, setbacks %v", err, w.setbacks)
	}
	lines(t, "reports", *reports, "g00000 done, 2 begun, 0 left", "g00001 done, 2 begun, 0 left")

	w = newWorld(ids(2), 2, 1)
	beat := make(chan time.Time)
	r, reports = w.runner(func(ctx context.Context, _ *jobs.Held, g reverie.DueGroup, win reverie.Window) error {
		if g.ID == "g00000" {
			beat <- midday // the renewal finds that another has the lease
			<-ctx.Done()
		}
		return nil // the work has not noticed
	})
	r.Leases.Beat = func(time.Duration) (<-chan time.Time, func()) { return beat, func() {} }
	if _, err := r.Run(t.Context(), nil); !errors.Is(err, reverie.ErrDeferred) || len(w.setbacks) != 0 {
		t.Errorf("a lost lease: %v, setbacks %v", err, w.setbacks)
	}
	if len(*reports) != 2 || !strings.HasPrefix((*reports)[0], "g00000 deferred, 1 begun, 1 left") || !strings.Contains((*reports)[0], "lease lost") {
		t.Errorf("reports %q", *reports)
	}
}

// TestNotNoted goes on when a failure cannot be noted, and names the first failures only.
func TestNotNoted(t *testing.T) {
	w := newWorld(ids(50), 1)
	w.noteErr = errors.New("the database is gone")
	r, reports := w.runner(w.work(func(string, string) error { return errors.New("no luck") }))
	r.Concurrency = 4
	s, err := r.Run(t.Context(), nil)
	if s.Failed != 50 || len(s.Failures) != jobs.MaxFailures || s.Parked != 0 || len(*reports) != 50 || err == nil {
		t.Errorf("%+v, %v, %d reports", s, err, len(*reports))
	}
}

func TestAbortNil(t *testing.T) {
	if err := jobs.Abort(nil); err != nil {
		t.Error(err)
	}
}

// TestEnter has each group wait for its turn, hands the context on, and gives the turn
// back, whatever becomes of the group.
func TestEnter(t *testing.T) {
	type key struct{}
	w := newWorld(ids(7), 1)
	entered, left := 0, 0
	r, _ := w.runner(func(ctx context.Context, _ *jobs.Held, g reverie.DueGroup, _ reverie.Window) error {
		if ctx.Value(key{}) != entered || left != entered-1 {
			t.Errorf("%s is worked on with %v, %d entered and %d left", g.ID, ctx.Value(key{}), entered, left)
		}
		if entered == 3 {
			panic("of the third")
		}
		return nil
	})
	r.Enter = func(ctx context.Context) (context.Context, func()) {
		entered++
		return context.WithValue(ctx, key{}, entered), func() { left++ }
	}
	if s, err := r.Run(t.Context(), nil); s.Done != 6 || s.Failed != 1 || entered != 7 || left != 7 {
		t.Errorf("%+v, %v; %d entered, %d left", s, err, entered, left)
	}
}

// TestSetbackIsClearedUnderTheLease: what a success says of the failures before is written while the lease is held, and
// only where there are none is it given back with the run's end.
func TestSetbackIsClearedUnderTheLease(t *testing.T) {
	w := newWorld(ids(2), 1)
	w.setbacks["g00000"] = &reverie.Setback{Failures: 1, RetryAt: midday}
	r, _ := w.runner(w.work(nil))
	if s, err := r.Run(t.Context(), nil); err != nil || s.Done != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	if len(w.setbacks) > 0 || len(w.held) > 0 {
		t.Errorf("setbacks %v, leases %v; want none", w.setbacks, w.held)
	}
}
