package jobs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// TestQueue: of two jobs of one process the second waits for the group instead of
// finding it busy; another group is free, and whoever is told to stop waits no
// longer.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, leases := setUp()
		_, _, others := setUp() // of another group
		leases.Queue = &jobs.Queue{}
		others.Queue = leases.Queue
		inside, done := make(chan struct{}), make(chan error, 2)
		order := make(chan string, 3)
		go func() {
			done <- leases.With(t.Context(), "g1", func(context.Context, *jobs.Held) error {
				order <- "first"
				<-inside
				return nil
			})
		}()
		synctest.Wait()
		go func() {
			done <- leases.With(t.Context(), "g1", func(context.Context, *jobs.Held) error {
				order <- "second"
				return nil
			})
		}()
		impatient, stop := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() {
			gaveUp <- leases.With(impatient, "g1", func(context.Context, *jobs.Held) error {
				t.Error("it worked on a group that was taken")
				return nil
			})
		}()
		synctest.Wait()
		if err := others.With(t.Context(), "g2", func(context.Context, *jobs.Held) error { order <- "other"; return nil }); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) || errors.Is(err, reverie.ErrBusy) {
			t.Errorf("who waited no longer got %v", err)
		}
		close(inside)
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := []string{<-order, <-order, <-order}; got[0] != "first" || got[1] != "other" || got[2] != "second" {
			t.Errorf("the order is %v", got)
		}
	})
}

// patient is a model that answers after a minute.
type patient struct{}

func (patient) Generate(ctx context.Context, _ llm.Request) (llm.Response, error) {
	time.Sleep(time.Minute)
	return llm.Response{Text: "{}", Finish: llm.FinishStop}, nil
}

// TestTwoJobsWantEachOthersGroups: each of two jobs of one process has a place to work in,
// asks about a group that the other is to do next, and needs its place again to write the
// answer. Whoever has that place must not wait for the group.
func TestTwoJobsWantEachOthersGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, turns := llm.NewModel(patient{}, llm.Account{}), &jobs.Queue{}
		w := newWorld([]string{"a", "b"}, 1)
		var both sync.WaitGroup
		for _, after := range []string{"", "a"} {
			desk := llm.NewSemaphore(1)
			r, _ := w.runner(func(ctx context.Context, _ *jobs.Held, g reverie.DueGroup, _ reverie.Window) error {
				_, err := model.Generate(ctx, llm.Meta{GroupID: g.ID}, llm.Request{User: "u"})
				return err
			})
			r.Enter = func(ctx context.Context) (context.Context, func()) { return desk.Work(ctx, nil) }
			r.Leases.Queue, r.Concurrency, r.After = turns, 2, after
			both.Go(func() {
				if s, err := r.Run(t.Context(), nil); err != nil || s.Done != 2 {
					t.Errorf("the one that begins after %q: %+v, %v", after, s, err)
				}
			})
		}
		both.Wait()
	})
}

// TestStoppedInTheQueue: a group that another job of the process works on is not waited
// for by one that is told to stop.
func TestStoppedInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld([]string{"a"}, 1)
		r, reports := w.runner(w.work(nil))
		r.Leases.Queue = &jobs.Queue{}
		stop, ended := make(chan struct{}), make(chan jobs.Summary)
		err := r.Leases.With(t.Context(), "a", func(context.Context, *jobs.Held) error {
			go func() {
				s, _ := r.Run(t.Context(), stop)
				ended <- s
			}()
			synctest.Wait()
			close(stop)
			if s := <-ended; s.Stopped != "asked to stop" || s.Done != 0 || len(*reports) != 0 {
				t.Errorf("%+v, %v", s, *reports)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestOthersGoOn: groups at which others of the process work keep no other group waiting,
// however few workers there are, and are worked on when they are free.
func TestOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld([]string{"a", "b", "c"}, 1)
		begun := make(chan string, 3)
		r, _ := w.runner(func(_ context.Context, _ *jobs.Held, g reverie.DueGroup, _ reverie.Window) error {
			begun <- g.ID
			return nil
		})
		r.Leases.Queue, r.Concurrency = &jobs.Queue{}, 1
		ended := make(chan jobs.Summary)
		err := r.Leases.With(t.Context(), "a", func(context.Context, *jobs.Held) error {
			go func() {
				s, _ := r.Run(t.Context(), nil)
				ended <- s
			}()
			if first, second := <-begun, <-begun; first != "b" || second != "c" {
				t.Errorf("begun were %s and %s", first, second)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if s := <-ended; s.Done != 3 || <-begun != "a" {
			t.Errorf("%+v", s)
		}
	})
}
