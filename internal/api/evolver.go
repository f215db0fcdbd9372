package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// EvolveOrder asks to evolve one group. The functions report progress; the goroutine that does the work may call
// them.
type EvolveOrder struct {
	GroupID string
	Days    int             // days of consumed messages to show as context
	Open    context.Context // when it ends, nothing more is started
	Started func(runID string)
	Evolved func(reverie.EvolveReply) // the group is evolved; nobody waits for what follows
}

// EvolverOptions configure an [Evolver].
type EvolverOptions struct {
	// Run evolves a group under its lease. It returns an error if it has not called Evolved.
	Run func(ctx context.Context, order EvolveOrder) error
	// Turn waits until no other run of the process works on the group, or ctx ends. giveBack releases the group. nil:
	// there are no other runs.
	Turn func(ctx context.Context, groupID string) (giveBack func(), err error)
	// Wait limits how long a client waits: over fires when that time has passed; stop releases it.
	Wait        func() (over <-chan time.Time, stop func())
	Concurrency int // maximum number of groups at a time
	Log         *slog.Logger
}

// Evolver runs evolve for clients, in the background. A run continues after its client has disconnected, until the
// server ends. It is safe for concurrent use.
type Evolver struct {
	opts  EvolverOptions
	slots *semaphore.Weighted
	open  context.Context // ends when nothing more is started
	shut  context.CancelFunc
	work  context.Context // of all runs
	cut   context.CancelFunc

	mu      sync.Mutex
	pending map[string]*pendingRun // by group, until the group is evolved
	gone    sync.WaitGroup
}

// pendingRun is a run with one or more waiting clients.
type pendingRun struct {
	done chan struct{} // closed when reply or err is set

	mu    sync.Mutex
	runID string
	reply reverie.EvolveReply
	err   error
	ended bool
}

// NewEvolver returns an evolver. The caller must close it.
func NewEvolver(opts EvolverOptions) *Evolver {
	e := &Evolver{opts: opts, slots: semaphore.NewWeighted(int64(opts.Concurrency)), pending: map[string]*pendingRun{}}
	e.work, e.cut = context.WithCancel(context.Background())
	e.open, e.shut = context.WithCancel(e.work)
	return e
}

// Evolve evolves a group, or joins its current run, and waits for the answer as long as the options say. If ctx
// ends, only the wait ends.
func (e *Evolver) Evolve(ctx context.Context, groupID string, days int) (Evolved, error) {
	f, err := e.pendingRun(groupID, days)
	if err != nil {
		return Evolved{}, err
	}
	over, stop := e.opts.Wait()
	defer stop()
	select {
	case <-f.done:
		return Evolved{Reply: f.reply, RunID: f.reply.RunID, Done: true}, f.err
	case <-ctx.Done():
		return Evolved{}, context.Cause(ctx)
	case <-over:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended { // it has just ended
		return Evolved{Reply: f.reply, RunID: f.reply.RunID, Done: true}, f.err
	}
	return Evolved{RunID: f.runID}, nil
}

// pendingRun returns the run of a group, and starts one if there is none.
func (e *Evolver) pendingRun(groupID string, days int) (*pendingRun, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.pending[groupID]; f != nil {
		return f, nil
	}
	if e.open.Err() != nil {
		return nil, stopped(groupID)
	}
	f := &pendingRun{done: make(chan struct{})}
	e.pending[groupID] = f
	e.gone.Go(func() { e.execute(f, groupID, days) })
	return f, nil
}

// execute evolves a group when a slot is free.
func (e *Evolver) execute(f *pendingRun, groupID string, days int) {
	complete := func(reply reverie.EvolveReply, err error) {
		e.mu.Lock()
		if e.pending[groupID] == f { // later requests need a new run, for messages that came since
			delete(e.pending, groupID)
		}
		e.mu.Unlock()
		f.complete(reply, err)
	}
	leave, err := e.enter(groupID)
	if err != nil {
		complete(reverie.EvolveReply{}, stopped(groupID))
		return
	}
	defer leave()
	order := EvolveOrder{GroupID: groupID, Days: days, Open: e.open, Started: f.started, Evolved: func(r reverie.EvolveReply) { complete(r, nil) }}
	err = e.run(order)
	if e.work.Err() != nil || e.open.Err() != nil && errors.Is(err, context.Canceled) {
		err = stopped(groupID)
	}
	complete(reverie.EvolveReply{}, err)
}

// enter waits for the group, and then for a slot, so that waiting for a busy group takes no slot. It fails only
// when nothing more is started.
func (e *Evolver) enter(groupID string) (leave func(), err error) {
	giveBack := func() {}
	if e.opts.Turn != nil {
		if giveBack, err = e.opts.Turn(e.open, groupID); err != nil {
			return nil, err
		}
	}
	if err := e.slots.Acquire(e.open, 1); err != nil {
		giveBack()
		return nil, err
	}
	leave = func() {
		e.slots.Release(1)
		giveBack()
	}
	if err := e.open.Err(); err != nil { // a slot may have become free just now
		leave()
		return nil, err
	}
	return leave, nil
}

// stopped is the error of a client whose run is aborted, or not started, since the server ends.
func stopped(groupID string) error {
	return fmt.Errorf("group %q: this server is stopping, and what was not taken in stays pending; ask again: %w", groupID, context.Canceled)
}

// run turns a panic, and a missing report, into an error.
func (e *Evolver) run(order EvolveOrder) error {
	err := jobs.Recovered(e.opts.Log, func() error { return e.opts.Run(e.work, order) }, "job", reverie.JobEvolve, "group_id", order.GroupID)
	if err == nil {
		err = errors.New("evolve ended without an answer")
	}
	return err
}

// Close starts nothing more. Running work may finish until ctx ends; then it is stopped and waited for, and its
// uncommitted part stays pending. The error is that of ctx if it came to that.
func (e *Evolver) Close(ctx context.Context) error {
	e.mu.Lock() // a run must be counted before Close waits for it
	e.shut()
	e.mu.Unlock()
	defer e.cut()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.gone.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	e.cut()
	<-done
	return fmt.Errorf("stop the runs of evolve: %w", ctx.Err())
}

func (f *pendingRun) started(runID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runID = runID
}

// complete publishes the result, once.
func (f *pendingRun) complete(reply reverie.EvolveReply, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.reply, f.err, f.ended = reply, err, true
	close(f.done)
}

// Evolved is the result of a request to evolve a group: a reply, or a run that continues.
type Evolved struct {
	Reply reverie.EvolveReply // if Done
	RunID string              // if not Done; "" if there is no run yet
	Done  bool
}

// Evolve processes a group's pending messages, with consumed messages of the given number of days as context. It
// waits for the answer as long as the [Evolver] says; the run continues in any case.
//
// If another process works on the group, the error is a [reverie.BusyError]; on a server without a model it is a
// [reverie.ErrConfiguration]. Other errors are those of the run.
func (s *Service) Evolve(ctx context.Context, groupID string, days int) (Evolved, error) {
	if _, err := allowed(ctx, groupID, reverie.ScopeWrite); err != nil {
		return Evolved{}, err
	}
	if err := within("days", days, 0, MaxDays); err != nil {
		return Evolved{}, err
	}
	if _, err := s.Store.Group(ctx, groupID); err != nil {
		return Evolved{}, err
	}
	if err := reverie.CheckChat(groupID); err != nil {
		return Evolved{}, err
	}
	if s.Evolver == nil {
		return Evolved{}, fmt.Errorf("this server evolves no groups, since no model is configured for it ([llm] provider): %w", reverie.ErrConfiguration)
	}
	return s.Evolver.Evolve(ctx, groupID, days)
}
