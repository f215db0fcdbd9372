package llm

import (
	"context"
	"fmt"
	"sync"

	"reverie/internal/reverie"
)

// Semaphore bounds how much is done at a time: how many questions models are asked
// ([Account.Calls]), or how many groups are worked on meanwhile ([Semaphore.Work]). Whoever
// has to wait is served in the order of coming. A nil one has no bound. It is safe for
// concurrent use.
type Semaphore struct {
	taken chan struct{}
}

// NewSemaphore returns n places.
func NewSemaphore(n int) *Semaphore { return &Semaphore{taken: make(chan struct{}, n)} }

// enter waits for a place; there is none for whoever is told to stop. What it returns
// gives the place back, and may be called twice.
func (p *Semaphore) enter(ctx context.Context, stop <-chan struct{}) (leave func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	leave = func() {}
	select {
	case p.taken <- struct{}{}:
		leave = sync.OnceFunc(func() { <-p.taken })
	case <-stop:
	case <-ctx.Done():
	}
	select { // first of all, also where a place was free
	case <-stop:
		err = errStopped
	default:
		if err = ctx.Err(); err == nil {
			return leave, nil
		}
		err = fmt.Errorf("waiting until fewer questions are asked: %w", err)
	}
	leave()
	return nil, err
}

// Work waits for a place to work in. While a model is asked with the context that it
// returns, the place is another's; so a few places keep many models busy, and who came
// first is done first, where all at once would come late. When stop is closed nothing
// further is asked that needs a place, and what waits for one, for a server's limit or for
// its next attempt is given up, as [reverie.ErrDeferred]. The end of ctx ends the waiting:
// what is left to do then is done without a place. Leave is to be called at the end.
func (p *Semaphore) Work(ctx context.Context, stop <-chan struct{}) (work context.Context, leave func()) {
	d := &slot{places: p, stop: stop}
	d.acquire(ctx)
	return context.WithValue(ctx, slotKey{}, d), d.release
}

type slotKey struct{}

// slot is the place of one who works, and may ask several questions at a time.
type slot struct {
	places *Semaphore
	stop   <-chan struct{}
	mu     sync.Mutex
	away   int    // questions under way
	leave  func() // nil: there is no place to give back
}

// slotOf is where the caller works; nil is nowhere in particular.
func slotOf(ctx context.Context) *slot {
	d, _ := ctx.Value(slotKey{}).(*slot)
	return d
}

// errStopped is why nothing further is asked.
var errStopped = fmt.Errorf("nothing further is asked, being told to stop: %w", reverie.ErrDeferred)

// untilStopped is ctx, and ends when those who work in the slot are told to stop, too.
func (d *slot) untilStopped(ctx context.Context) (wait context.Context, end func()) {
	if d == nil || d.stop == nil {
		return ctx, func() {}
	}
	wait, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-d.stop:
			cancel(errStopped)
		case <-wait.Done():
		}
	}()
	return wait, func() { cancel(nil) }
}

// stopped tells whether those who work in the slot have been told to stop.
func (d *slot) stopped() bool {
	if d == nil || d.stop == nil {
		return false
	}
	select {
	case <-d.stop:
		return true
	default:
		return false
	}
}

// acquire waits for a place, unless ctx ends.
func (d *slot) acquire(ctx context.Context) {
	if leave, err := d.places.enter(ctx, nil); err == nil {
		d.leave = leave
	}
}

func (d *slot) release() {
	if d.leave != nil {
		d.leave()
		d.leave = nil
	}
}

// ask gives the place back until what it returns is called, by the last of those who ask.
func (d *slot) ask(ctx context.Context) (back func()) {
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away++; d.away == 1 {
		d.release()
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.away--; d.away == 0 {
			d.acquire(ctx)
		}
	}
}

// reservation is an attempt that may be made: it has a place until it is answered, and
// what it may spend.
type reservation struct {
	leave    func() // gives the place back
	budget   *Budget
	estimate reverie.Spend
	settled  bool
}

// begin waits for a place, and lets a call of that estimate begin, or says which limit is
// spent. What it returns must be released.
func (a *Account) begin(ctx context.Context, b *Budget, estimate reverie.Spend) (*reservation, error) {
	var stop <-chan struct{}
	if d := slotOf(ctx); d != nil && a.Calls != nil {
		stop = d.stop
	}
	leave, err := a.Calls.enter(ctx, stop)
	if err != nil {
		return nil, err
	}
	if err := b.begin(ctx, estimate); err != nil {
		leave()
		return nil, err
	}
	r := &reservation{leave: leave, budget: b, estimate: estimate}
	select {
	case <-stop: // while the ledger was read
		r.release()
		return nil, errStopped
	default:
		return r, nil
	}
}

// settle writes a call's row, and counts it instead of the estimate. write
// reports whether the ledger has the row.
func (r *reservation) settle(row reverie.Call, write func() bool) {
	if r.budget == nil {
		write()
		return
	}
	r.budget.day.settle(r.estimate, row, write)
	r.budget.run.end(r.estimate, &row)
	r.settled = true
}

// release gives back the place, and what a call that was not made had reserved.
func (r *reservation) release() {
	r.leave()
	if r.budget != nil && !r.settled {
		r.budget.day.release(r.estimate)
		r.budget.run.end(r.estimate, nil)
	}
}
