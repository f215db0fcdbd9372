package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"reverie/jobs"
)

func spec(t testing.TB, text string) jobs.Spec {
	t.Helper()
	s, err := jobs.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// diary keeps when something happened. In a bubble of synctest the time begins
// at midnight of 2000-01-01.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, time.Now().UTC().Format("15:04 ")+what)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, ", ")
}

type run = func(ctx context.Context, stop <-chan struct{}) error

// lasts is a task that takes its time and heeds both of its signals.
func lasts(long time.Duration) run {
	return func(ctx context.Context, stop <-chan struct{}) error {
		select {
		case <-time.After(long):
			return nil
		case <-stop:
			return errors.New("asked to stop")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stubborn is a task that ends only when it is cut.
func stubborn(ctx context.Context, _ <-chan struct{}) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestScheduler(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		run        run
		signal     time.Duration // from the start
		want, end  string
		logged     string
		times      int
	}{
		{"at once, and when its time has come", "17 * * * *", lasts(time.Minute), 150 * time.Minute,
			"00:00 begins, 00:01 <nil>, 00:17 begins, 00:18 <nil>, 01:17 begins, 01:18 <nil>, 02:17 begins, 02:18 <nil>", "02:30", "task done", 4},
		{"every", "@every 50m", lasts(time.Minute), 140 * time.Minute,
			"00:00 begins, 00:01 <nil>, 00:50 begins, 00:51 <nil>, 01:40 begins, 01:41 <nil>", "02:20", "task done", 3},
		{"never two at once", "17 * * * *", lasts(90 * time.Minute), 230 * time.Minute,
			"00:00 begins, 01:30 <nil>, 02:17 begins, 03:47 <nil>", "03:50", "still running", 3},
		{"a failure does not end it", "17 * * * *", func(context.Context, <-chan struct{}) error { return errors.New("no luck") }, 30 * time.Minute,
			"00:00 begins, 00:00 no luck, 00:17 begins, 00:17 no luck", "00:30", "no luck", 2},
		{"a panic does not end it", "17 * * * *", func(context.Context, <-chan struct{}) error { panic("oh") }, 30 * time.Minute,
			"00:00 begins, 00:00 panic, see the log: oh, 00:17 begins, 00:17 panic, see the log: oh", "00:30", "msg=panic task=evolve panic=oh stack=", 2},
		{"asked to stop", "17 * * * *", lasts(time.Hour), 10 * time.Minute,
			"00:00 begins, 00:10 asked to stop", "00:10", "is cut", 0},
		{"cut after the grace", "17 * * * *", stubborn, 10 * time.Minute,
			"00:00 begins, 00:15 work under way had not ended 5m0s after the signal", "00:15", "is cut", 1},
		{"not begun while it stops", "12 * * * *", stubborn, 10 * time.Minute,
			"00:00 begins, 00:15 work under way had not ended 5m0s after the signal", "00:15", "still running", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d diary
				var log bytes.Buffer
				s := &jobs.Scheduler{Grace: 5 * time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))}
				s.Done = func(task string, took time.Duration, err error) {
					if task != "evolve" || took < 0 {
						t.Errorf("done: %q after %s", task, took)
					}
					d.note(fmt.Sprint(err))
				}
				s.Tasks = []jobs.Task{{Name: "evolve", Spec: spec(t, c.spec), Run: func(ctx context.Context, stop <-chan struct{}) error {
					d.note("begins")
					return c.run(ctx, stop)
				}}, {Name: "never", Run: func(context.Context, <-chan struct{}) error {
					t.Error("a task without a spec was started")
					return nil
				}}}
				ctx, cancel := context.WithTimeout(t.Context(), c.signal)
				defer cancel()
				if err := s.Run(ctx, nil); err != nil {
					t.Error(err)
				}
				if got := time.Now().UTC().Format("15:04"); d.String() != c.want || got != c.end {
					t.Errorf("%s; ended at %s, want\n%s; %s", &d, got, c.want, c.end)
				}
				if n := strings.Count(log.String(), c.logged); n != c.times {
					t.Errorf("%q logged %d times, want %d:\n%s", c.logged, n, c.times, &log)
				}
			})
		})
	}
}

// TestHurry cuts at the second signal, whether there was a first or not.
func TestHurry(t *testing.T) {
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var d diary
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			hurry := make(chan struct{})
			s := &jobs.Scheduler{Grace: time.Hour, Log: slog.New(slog.DiscardHandler), Done: func(_ string, _ time.Duration, err error) { d.note(err.Error()) }}
			for _, name := range []string{"a", "b"} {
				s.Tasks = append(s.Tasks, jobs.Task{Name: name, Spec: spec(t, "@daily"), Run: stubborn})
			}
			ended := make(chan error)
			go func() { ended <- s.Run(ctx, hurry) }()
			if first {
				cancel()
			}
			synctest.Wait()
			if d.String() != "" {
				t.Errorf("cut before the second signal: %s", &d)
			}
			close(hurry)
			if err := <-ended; err != nil || d.String() != "00:00 a second signal, 00:00 a second signal" {
				t.Errorf("%v; %s", err, &d)
			}
		})
	}
}

// TestNothingScheduled only waits.
func TestNothingScheduled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&jobs.Scheduler{Log: slog.New(slog.DiscardHandler)}).Run(ctx, nil); err != nil {
		t.Error(err)
	}
}

// TestClock goes by the clock that it is given.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clockwork.NewFakeClockAt(time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC))
		var begun []string
		s := &jobs.Scheduler{Clock: clock, Log: slog.New(slog.DiscardHandler)}
		s.Tasks = []jobs.Task{{Name: "evolve", Spec: spec(t, "0 0 1 * *"), Run: func(context.Context, <-chan struct{}) error {
			begun = append(begun, clock.Now().Format(time.DateOnly))
			return nil
		}}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx, nil) }()
		for range 3 {
			synctest.Wait()
			clock.Advance(s.Tasks[0].Spec.Next(clock.Now()).Sub(clock.Now()))
		}
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil || strings.Join(begun, " ") != "2026-01-15 2026-02-01 2026-03-01 2026-04-01" {
			t.Errorf("%v; begun at %q", err, begun)
		}
	})
}
