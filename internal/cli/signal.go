package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Twice returns a channel that is closed at a second signal, and what ends the
// watch. The first signal ends the command's context: see main.
func Twice() (hurry <-chan struct{}, end func()) {
	signals, second, done := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	var gone sync.WaitGroup
	gone.Go(func() {
		for range 2 {
			select {
			case <-signals:
			case <-done:
				return
			}
		}
		close(second)
	})
	return second, func() {
		signal.Stop(signals)
		close(done)
		gone.Wait()
	}
}

// Hurried is Twice for a process that stays.
func Hurried() (hurry <-chan struct{}, end func()) {
	signal.Ignore(syscall.SIGPIPE) // whoever read the log may go; the work goes on
	return Twice()
}

// Drained gives work a context that outlives the end of ctx by grace: what is
// under way may finish, while stop, the end of ctx, keeps more from being begun.
// A second signal ends it at once.
func (con *Console) Drained(ctx context.Context, grace time.Duration) (work context.Context, end func()) {
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone does not end the work
	hurry, forget := Twice()
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	done := make(chan struct{})
	var gone sync.WaitGroup
	gone.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		fmt.Fprintf(con.Stderr, "reverie: stopping: what is under way has %s to finish; a second signal stops it at once\n",
			grace)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-done:
		case <-hurry:
			cancel(context.Canceled)
		case <-timer.C:
			cancel(context.Canceled)
		}
	})
	return work, func() {
		close(done)
		gone.Wait()
		cancel(nil)
		forget()
	}
}
