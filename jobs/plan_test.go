package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

func now() time.Time { return midday }

// TestNightly works on the dates that have ended, in order and up to the limit, and
// asks about messages only where there is more than one.
func TestNightly(t *testing.T) {
	for _, c := range []struct {
		name    string
		daysAgo []int
		limit   int
		worked  []string
		report  []string
		asked   []string // besides the page
	}{
		{"one", []int{1}, 30, []string{"g00000 2026-01-14"}, []string{"g00000 done, 1 begun, 0 left"}, []string{"look g00000"}},
		{"today", []int{0}, 30, nil, nil, nil},
		{"missed nights", []int{0, 1, 4, 9}, 30, []string{"g00000 2026-01-06", "g00000 2026-01-11", "g00000 2026-01-14"},
			[]string{"g00000 done, 3 begun, 0 left"}, []string{"windows g00000 9", "look g00000", "windows g00000 9"}},
		{"too many", []int{1, 2, 4, 9}, 2, []string{"g00000 2026-01-06", "g00000 2026-01-11"},
			[]string{"g00000 done, 2 begun, 2 left (2 capped)"}, []string{"windows g00000 9", "look g00000", "windows g00000 9"}},
		{"no limit", []int{1, 2, 4, 9}, 0, []string{"g00000 2026-01-06", "g00000 2026-01-11", "g00000 2026-01-13", "g00000 2026-01-14"},
			[]string{"g00000 done, 4 begun, 0 left"}, []string{"windows g00000 9", "look g00000", "windows g00000 9"}},
		{"long ago", []int{9000, 1}, 1, []string{"g00000 2001-05-26"}, []string{"g00000 done, 1 begun, 1 left (1 capped)"},
			[]string{"windows g00000 4000", "windows g00000 4000", "windows g00000 1000", "look g00000", "windows g00000 4000", "windows g00000 4000", "windows g00000 1000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(ids(1), c.daysAgo...)
			r, reports := w.runner(w.work(nil))
			r.Plan = jobs.Nightly(w, now, c.limit)
			if _, err := r.Run(t.Context(), nil); err != nil {
				t.Error(err)
			}
			lines(t, "worked", w.worked, c.worked...)
			lines(t, "reports", *reports, c.report...)
			lines(t, "asked", w.asked, append([]string{"after "}, c.asked...)...)
		})
	}
}

// TestOwnCalendar counts a group's own dates.
func TestOwnCalendar(t *testing.T) {
	w := newWorld([]string{"auckland", "honolulu", "late"}, 0)
	for id, zone := range map[string]string{"auckland": "Pacific/Auckland", "honolulu": "Pacific/Honolulu", "late": "UTC"} {
		w.group(id).TimeZone = zone
		w.pending[id] = []time.Time{time.Date(2026, 1, 15, 2, 0, 0, 0, time.UTC)}
	}
	w.pending["auckland"] = []time.Time{time.Date(2026, 1, 15, 10, 59, 0, 0, time.UTC), time.Date(2026, 1, 15, 11, 0, 0, 0, time.UTC)}
	w.group("late").DayBoundary = "04:00"
	r, _ := w.runner(w.work(nil))
	if _, err := r.Run(t.Context(), nil); err != nil {
		t.Error(err)
	}
	lines(t, "worked", w.worked, "auckland 2026-01-15", "honolulu 2026-01-14", "late 2026-01-14")
	if len(w.pending["auckland"]) != 1 {
		t.Errorf("pending in Auckland: %v", w.pending["auckland"])
	}
}

// TestInOrder stops at the first window that fails, and goes on there the next time.
func TestInOrder(t *testing.T) {
	w := newWorld(ids(1), 1, 2, 3, 4)
	broken := true
	r, reports := w.runner(w.work(func(_, date string) error {
		if broken && date == "2026-01-13" {
			return errors.New("no luck")
		}
		return nil
	}))
	var partial *jobs.PartialError
	if _, err := r.Run(t.Context(), nil); !errors.As(err, &partial) {
		t.Errorf("error %v", err)
	}
	broken, r.IgnoreRetry = false, true
	if _, err := r.Run(t.Context(), nil); err != nil || len(w.setbacks) != 0 {
		t.Errorf("%v, setbacks %v", err, w.setbacks)
	}
	lines(t, "worked", w.worked, "g00000 2026-01-11", "g00000 2026-01-12", "g00000 2026-01-13", "g00000 2026-01-14")
	lines(t, "reports", *reports, "g00000 failed, 3 begun, 2 left: no luck", "g00000 done, 2 begun, 0 left")
	lines(t, "asked the second time", w.asked[len(w.asked)-5:], "after ", "windows g00000 2", "look g00000", "windows g00000 2", "clear g00000")
}

func TestEverything(t *testing.T) {
	w := newWorld(ids(2), 0, 1, 9)
	r, reports := w.runner(w.work(nil))
	r.Plan = jobs.Everything()
	if s, err := r.Run(t.Context(), nil); err != nil || s.Windows != 2 || len(w.pending["g00000"])+len(w.pending["g00001"]) != 0 {
		t.Errorf("%+v, %v, pending %v", s, err, w.pending)
	}
	lines(t, "worked", w.worked, "g00000", "g00001")
	lines(t, "reports", *reports, "g00000 done, 1 begun, 0 left", "g00001 done, 1 begun, 0 left")
}

// TestDatesPlan works on what has ended of a range of dates.
func TestDatesPlan(t *testing.T) {
	for _, c := range []struct {
		from, to string
		worked   []string
		err      string
	}{
		{"2026-01-06", "2026-01-13", []string{"g00000 2026-01-06", "g00000 2026-01-13"}, ""},
		{"2026-01-13", "2026-01-13", []string{"g00000 2026-01-13"}, ""},
		{"2026-01-14", "2026-02-28", []string{"g00000 2026-01-14"}, ""}, // the 15th is open
		{"2025-01-01", "2025-12-31", nil, ""},
		{"2026-01-15", "2026-01-01", nil, "swap them"},
		{"2026-01-32", "2026-02-01", nil, "write YYYY-MM-DD"},
	} {
		w := newWorld(ids(1), 0, 1, 2, 9)
		r, reports := w.runner(w.work(nil))
		r.Plan = jobs.Dates(w, c.from, c.to, now)
		_, err := r.Run(t.Context(), nil)
		if (err != nil) != (c.err != "") || err != nil && (!strings.Contains(err.Error(), c.err) || !errors.Is(err, reverie.ErrInvalid)) || len(w.setbacks) != 0 {
			t.Errorf("%s to %s: %v, setbacks %v, reports %q", c.from, c.to, err, w.setbacks, *reports)
		}
		lines(t, c.from+" to "+c.to, w.worked, c.worked...)
	}
}

// TestPlanFails leaves a group to itself, unless it is the database that is gone.
func TestPlanFails(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("no plan"), "g00000 failed, 0 begun, 0 left: no plan"},
		{reverie.ErrUnavailable, "g00000 deferred, 0 begun, 0 left: database unavailable"},
		{nil, "g00000 failed, 0 begun, 0 left: panic, see the log: no plan"},
	} {
		w := newWorld(ids(2), 1)
		r, reports := w.runner(w.work(nil))
		nightly := r.Plan
		r.Plan = func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
			if g.ID == "g00001" {
				return nightly(ctx, g)
			}
			if c.err == nil {
				panic("no plan")
			}
			return jobs.Agenda{}, c.err
		}
		if _, err := r.Run(t.Context(), nil); err == nil {
			t.Error("no error")
		}
		lines(t, "reports", *reports, c.want, "g00001 done, 1 begun, 0 left")
	}
}

// TestPrepare comes first under the lease, and what is due is counted after it.
func TestPrepare(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world) error
		want []string
	}{
		{"takes a date", func(w *world) error { w.pending["g00000"] = w.pending["g00000"][1:]; return nil }, []string{"g00000 done, 1 begun, 0 left"}},
		{"fails", func(*world) error { return errors.New("no luck") }, []string{"g00000 failed, 0 begun, 2 left: no luck"}},
		{"panics", func(*world) error { panic("oh") }, []string{"g00000 failed, 0 begun, 2 left: panic, see the log: oh"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(ids(1), 2, 1)
			r, reports := w.runner(w.work(nil))
			r.Prepare = func(_ context.Context, held *jobs.Held, g reverie.DueGroup) error {
				if held.Lease().GroupID != g.ID || len(w.worked) > 0 {
					t.Errorf("prepared under %+v, after %q", held.Lease(), w.worked)
				}
				return c.do(w)
			}
			_, _ = r.Run(t.Context(), nil)
			lines(t, "reports", *reports, c.want...)
		})
	}
}

// TestNothingIsPreparedAfterStop: what is prepared may be a memory that is taken back, so it
// is left alone when nothing would follow.
func TestNothingIsPreparedAfterStop(t *testing.T) {
	w := newWorld(ids(1), 1)
	r, reports := w.runner(w.work(nil))
	stop := make(chan struct{})
	w.onLease = func(string) { close(stop) }
	r.Prepare = func(context.Context, *jobs.Held, reverie.DueGroup) error {
		t.Error("prepared")
		return nil
	}
	_, _ = r.Run(t.Context(), stop)
	lines(t, "reports", *reports, "g00000 deferred, 0 begun, 1 left: stopped before its next window: asked to stop")
}
