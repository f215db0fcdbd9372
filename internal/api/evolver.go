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

// EvolveOrder is one group that is to be evolved. Whoever does it says by its functions
// what is known already; both may be called from the goroutine that does it only.
type EvolveOrder struct {
	GroupID string
	Days    int             // of consumed messages to show as context
	Open    context.Context // ended: nothing is begun any more
	Started func(runID string)
	Evolved func(reverie.EvolveReply) // it is done; what follows it nobody waits for
}

// EvolverOptions are what an [Evolver] is made of.
type EvolverOptions struct {
	// Run evolves a group under its lease. It returns an error where it has not said
	// that the group is evolved.
	Run func(ctx context.Context, order EvolveOrder) error
	// Turn waits until nobody else of the process works on a group, or ctx ends, and returns
	// what gives the group back; nil: there is nobody else.
	Turn func(ctx context.Context, groupID string) (giveBack func(), err error)
	// Wait is how long a client waits: it returns a channel that fires when that time
	// is over, and what stops it.
	Wait        func() (over <-chan time.Time, stop func())
	Concurrency int // groups at a time
	Log         *slog.Logger
}

// Evolver runs evolve for clients, in the background: a run goes on when its client has
// gone, until the server ends. It is safe for concurrent use.
type Evolver struct {
	opts  EvolverOptions
	slots *semaphore.Weighted
	open  context.Context // ends when nothing is begun any more
	shut  context.CancelFunc
	work  context.Context // of all runs
	cut   context.CancelFunc

	mu      sync.Mutex
	pending map[string]*pendingRun // by group; each is there until its group is evolved
	gone    sync.WaitGroup
}

// pendingRun is a run that clients wait for together.
type pendingRun struct {
	done chan struct{} // closed when reply or err is there

	mu    sync.Mutex
	runID string
	reply reverie.EvolveReply
	err   error
	ended bool
}

// NewEvolver returns an evolver. It is to be closed.
func NewEvolver(opts EvolverOptions) *Evolver {
	e := &Evolver{opts: opts, slots: semaphore.NewWeighted(int64(opts.Concurrency)), pending: map[string]*pendingRun{}}
	e.work, e.cut = context.WithCancel(context.Background())
	e.open, e.shut = context.WithCancel(e.work)
	return e
}

// Evolve evolves a group, or joins the run of it that is under way, and waits for the
// answer as long as its options say. The end of ctx ends the waiting, and nothing else.
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
	if f.ended { // just now
		return Evolved{Reply: f.reply, RunID: f.reply.RunID, Done: true}, f.err
	}
	return Evolved{RunID: f.runID}, nil
}

// pendingRun is the one of a group, which is begun if there is none.
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

// execute evolves a group when there is a slot for it.
func (e *Evolver) execute(f *pendingRun, groupID string, days int) {
	complete := func(reply reverie.EvolveReply, err error) {
		e.mu.Lock()
		if e.pending[groupID] == f { // who asks from now on asks for what has come since
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

// enter waits for the group, and then for a slot: who waits for a group that is busy keeps no
// slot from the others. It fails only when nothing is begun any more.
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
	if err := e.open.Err(); err != nil { // also where a slot came free just now
		leave()
		return nil, err
	}
	return leave, nil
}

// stopped is what a client is told whose run is cut, or not begun any more, when the
// server ends.
func stopped(groupID string) error {
	return fmt.Errorf("group %q: this server is stopping, and what was not taken in stays pending; ask again: %w", groupID, context.Canceled)
}

// run makes an error of a panic, and of an end without a word.
func (e *Evolver) run(order EvolveOrder) error {
	err := jobs.Recovered(e.opts.Log, func() error { return e.opts.Run(e.work, order) }, "job", reverie.JobEvolve, "group_id", order.GroupID)
	if err == nil {
		err = errors.New("evolve ended without an answer")
	}
	return err
}

// Close ends it: nothing is begun any more. What is under way may finish until ctx ends,
// and is then stopped and waited for; what it has not committed stays pending. The error
// is that of ctx where it came to that.
func (e *Evolver) Close(ctx context.Context) error {
	e.mu.Lock() // a run is counted before it is waited for
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

// complete makes the answer known, once.
func (f *pendingRun) complete(reply reverie.EvolveReply, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.reply, f.err, f.ended = reply, err, true
	close(f.done)
}

// Evolved is what became of a request to evolve a group: a reply, or a run that goes on.
type Evolved struct {
	Reply reverie.EvolveReply // where Done
	RunID string              // where not Done; "" if it has not come that far
	Done  bool
}

// Evolve takes in a group's pending messages, with those of so many days before as
// context. It waits for the answer as long as the [Evolver] says; the run goes on
// whether or not anybody waits for it.
//
// A group that another process works on is a [reverie.BusyError], a server without a
// model a [reverie.ErrConfiguration]; else its errors are those of the run.
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
