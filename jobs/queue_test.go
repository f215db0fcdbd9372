package jobs_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"reverie"
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
