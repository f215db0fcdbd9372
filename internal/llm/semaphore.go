package llm

import (
	"context"
	"fmt"
	"sync"

	"reverie/internal/reverie"
)

// Semaphore bounds concurrency: of questions to models ([Account.Calls]), or of groups that are worked on
// ([Semaphore.Work]). It serves waiting callers in order of arrival. A nil Semaphore has no bound. It is safe for
// concurrent use.
type Semaphore struct {
	taken chan struct{}
}

// NewSemaphore returns a semaphore with n places.
func NewSemaphore(n int) *Semaphore { return &Semaphore{taken: make(chan struct{}, n)} }

// enter waits for a place, unless ctx ends or stop is closed. leave releases the place, and may be called twice.
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
	select { // checked first, even if a place is free
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

// Work waits for a place and returns a context for the work. While a model is called with that context, another
// worker may use the place. So a few places keep many models busy, and work that came first is finished first. When
// stop is closed, no further call is made that needs a place. Waiting for a place, for a server's limit or for a
// retry then ends with [reverie.ErrDeferred]. When ctx ends, waiting ends too, and the rest of the work is done
// without a place. The caller must call leave at the end.
func (p *Semaphore) Work(ctx context.Context, stop <-chan struct{}) (work context.Context, leave func()) {
	d := &slot{places: p, stop: stop}
	d.acquire(ctx)
	return context.WithValue(ctx, slotKey{}, d), d.release
}

type slotKey struct{}

// slot is the place of one worker, which may ask several questions at a time.
type slot struct {
	places *Semaphore
	stop   <-chan struct{}
	mu     sync.Mutex
	away   int    // running questions
	leave  func() // nil: the worker holds no place
}

// slotOf returns the slot in which the caller works; nil if it has none.
func slotOf(ctx context.Context) *slot {
	d, _ := ctx.Value(slotKey{}).(*slot)
	return d
}

// errStopped is why no further questions are asked.
var errStopped = fmt.Errorf("nothing further is asked, being told to stop: %w", reverie.ErrDeferred)

// untilStopped returns a context that ends with ctx, or when the worker is told to stop.
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

// stopped reports whether the worker has been told to stop.
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

// ask releases the place. The last of the concurrent askers to call back acquires it again.
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

// Reservation is the permission for an attempt: a place until it is answered, and the reserved spend. That of a
// question in a batch takes no place.
type Reservation struct {
	leave    func() // releases the place; nil in a batch
	budget   *Budget
	estimate reverie.Spend
	settled  bool
}

// begin waits for a place, and starts a call with that estimate, or says which limit is spent. The caller must
// release the result.
func (a *Account) begin(ctx context.Context, b *Budget, estimate reverie.Spend) (*Reservation, error) {
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
	r := &Reservation{leave: leave, budget: b, estimate: estimate}
	select {
	case <-stop: // stop was closed while the ledger was read
		r.Release()
		return nil, errStopped
	default:
		return r, nil
	}
}

// Settle writes a call's row, and counts it instead of the estimate. write reports whether the ledger has the row.
func (r *Reservation) Settle(row reverie.Call, write func() bool) {
	if r == nil || r.budget == nil {
		write()
		return
	}
	r.budget.day.settle(r.estimate, row, write)
	r.end(&row)
}

// Release releases the place, and the estimate of a call that was not made.
func (r *Reservation) Release() {
	if r == nil {
		return
	}
	if r.leave != nil {
		r.leave()
	}
	if r.budget != nil && !r.settled {
		r.budget.day.release(r.estimate)
		r.end(nil)
	}
}

func (r *Reservation) end(row *reverie.Call) {
	r.budget.run.end(r.estimate, row)
	if r.settled = true; r.leave == nil {
		r.budget.batched(r.estimate, -1)
	}
}
