package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
)

// work is evolve as a test has it: each run waits to be told how it ends.
type work struct {
	begun chan *turn
}

// turn is one run of it.
type turn struct {
	api.EvolveOrder
	ctx context.Context
	end chan error // that Run returns
}

// evolver has so many groups at a time. Clients wait until over is closed.
func (w *work) evolver(t *testing.T, concurrency int, over chan time.Time) *api.Evolver {
	t.Helper()
	w.begun = make(chan *turn, 100)
	e := api.NewEvolver(api.EvolverOptions{Concurrency: concurrency, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Wait: func() (<-chan time.Time, func()) { return over, func() {} },
		Run: func(ctx context.Context, o api.EvolveOrder) error {
			turn := &turn{o, ctx, make(chan error)}
			w.begun <- turn
			select {
			case err := <-turn.end:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = e.Close(ctx) // most have been closed before
	})
	return e
}

// asked is what a client is answered.
type asked struct {
	api.Evolved
	err error
}

func ask(ctx context.Context, e *api.Evolver, groupID string, days int) <-chan asked {
	answer := make(chan asked, 1)
	go func() {
		got, err := e.Evolve(ctx, groupID, days)
		answer <- asked{got, err}
	}()
	return answer
}

// TestEvolverAnswers all who ask for a group while it is worked on in the same words,
// and begins anew for who asks after that, while impressions still follow.
func TestEvolverAnswers(t *testing.T) {
	t.Parallel()
	var w work
	e := w.evolver(t, 2, nil)
	first := ask(t.Context(), e, "g1", 3)
	run := <-w.begun
	if run.GroupID != "g1" || run.Days != 3 {
		t.Errorf("asked for %q, %d", run.GroupID, run.Days)
	}
	gone, leave := context.WithCancel(t.Context())
	left := ask(gone, e, "g1", 0)
	leave()
	if got := <-left; !errors.Is(got.err, context.Canceled) || run.ctx.Err() != nil {
		t.Errorf("who leaves gets %+v; the run's context is %v", got, run.ctx.Err())
	}
	run.Started("r1")
	run.Evolved(reverie.EvolveReply{RunSummary: reverie.RunSummary{RunID: "r1", Success: true}})
	run.Evolved(reverie.EvolveReply{RunSummary: reverie.RunSummary{RunID: "again"}}) // does not count
	if got := <-first; got.err != nil || !got.Done || got.Reply.RunID != "r1" || got.RunID != "r1" {
		t.Errorf("answer is %+v", got)
	}
	second := ask(t.Context(), e, "g1", 0)
	next := <-w.begun
	run.end <- errors.New("impressions failed")
	next.end <- reverie.ErrUnusable
	if got := <-second; !errors.Is(got.err, reverie.ErrUnusable) {
		t.Errorf("answer is %+v", got)
	}
	third := ask(t.Context(), e, "g1", 0)
	(<-w.begun).end <- nil
	if got := <-third; got.err == nil {
		t.Errorf("a run that ends without a word is %+v", got)
	}
}

// TestEvolverJoins: of a group there is one run at a time, of groups so many as may be.
func TestEvolverJoins(t *testing.T) {
	t.Parallel()
	var w work
	over := make(chan time.Time)
	e := w.evolver(t, 2, over)
	var answers []<-chan asked
	for i := range 12 {
		answers = append(answers, ask(t.Context(), e, fmt.Sprintf("g%d", i%3), 0))
	}
	runs := map[string]*turn{}
	for range 2 {
		r := <-w.begun
		runs[r.GroupID] = r
		r.Started("run of " + r.GroupID)
	}
	close(over) // nobody waits any longer
	told := map[string]int{}
	for i, a := range answers {
		got := <-a
		want := ""
		if runs[fmt.Sprintf("g%d", i%3)] != nil {
			want = fmt.Sprintf("run of g%d", i%3)
		}
		if got.err != nil || got.Done || got.RunID != want {
			t.Errorf("client %d is told %+v, want the run %q", i, got, want)
		}
		told[got.RunID]++
	}
	if len(runs) != 2 || told[""] != 4 || len(w.begun) != 0 {
		t.Errorf("runs are %v, answers %v, and %d more have begun", runs, told, len(w.begun))
	}
	for _, r := range runs {
		r.Evolved(reverie.EvolveReply{})
		r.end <- nil
	}
	last := <-w.begun // that had to wait for its place
	if runs[last.GroupID] != nil {
		t.Errorf("group %s was evolved twice", last.GroupID)
	}
}

// TestEvolverBeginsNothingMore: what waits for a place when it is closed is not begun in one
// that comes free in its grace.
func TestEvolverBeginsNothingMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w work
		e := w.evolver(t, 1, nil)
		under := ask(t.Context(), e, "g1", 0)
		run := <-w.begun
		waits := ask(t.Context(), e, "g2", 0)
		closed := make(chan error)
		synctest.Wait()
		go func() { closed <- e.Close(t.Context()) }()
		if got := <-waits; !errors.Is(got.err, context.Canceled) {
			t.Errorf("who waits for a place is told %+v", got)
		}
		run.Evolved(reverie.EvolveReply{RunSummary: reverie.RunSummary{RunID: "r1"}})
		run.end <- nil
		if got := <-under; got.err != nil || got.RunID != "r1" || len(w.begun) != 0 {
			t.Errorf("who was under way is told %+v, and %d more have begun", got, len(w.begun))
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// TestEvolverCloses: what is under way may finish in time, is cut after it, and nothing
// is begun any more.
func TestEvolverCloses(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("cut %v", cut), func(t *testing.T) {
			t.Parallel()
			var w work
			e := w.evolver(t, 1, nil)
			under, waits := ask(t.Context(), e, "g1", 0), (<-chan asked)(nil)
			run := <-w.begun
			grace, end := context.WithCancel(t.Context())
			defer end()
			var closing sync.WaitGroup
			var err error
			if cut {
				waits = ask(t.Context(), e, "g2", 0)
				end()
			}
			closing.Go(func() { err = e.Close(grace) })
			if cut {
				closing.Wait()
				if got := <-waits; !errors.Is(got.err, context.Canceled) {
					t.Errorf("who waits for a place, or comes too late, is told %+v", got)
				}
			} else {
				run.Evolved(reverie.EvolveReply{RunSummary: reverie.RunSummary{RunID: "r1"}})
				run.end <- nil
				closing.Wait()
			}
			got := <-under
			if cut != (err != nil) || cut != errors.Is(got.err, context.Canceled) || !cut && got.RunID != "r1" {
				t.Errorf("closed with %v, the client is told %+v", err, got)
			}
			if late := <-ask(t.Context(), e, "g3", 0); late.err == nil || len(w.begun) > 0 {
				t.Errorf("after it, %+v", late)
			}
		})
	}
}

// TestEvolverWaitsForAGroupWithoutAPlace: a group that is busy keeps no place from the others.
func TestEvolverWaitsForAGroupWithoutAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan string, 2)
		e := api.NewEvolver(api.EvolverOptions{Concurrency: 1,
			Turn: func(ctx context.Context, groupID string) (func(), error) {
				if groupID == "busy" {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return func() {}, nil
			},
			Wait: func() (<-chan time.Time, func()) { return nil, func() {} },
			Run: func(_ context.Context, o api.EvolveOrder) error {
				begun <- o.GroupID
				return errors.New("done")
			}})
		waits := ask(t.Context(), e, "busy", 0)
		synctest.Wait()
		ask(t.Context(), e, "free", 0)
		synctest.Wait()
		if len(begun) != 1 {
			t.Errorf("%d begun while another group is busy", len(begun))
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := <-waits; !errors.Is(got.err, context.Canceled) {
			t.Errorf("who waited for the group is told %+v", got)
		}
	})
}
