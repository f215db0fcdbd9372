package llm

import (
	"context"
	"fmt"
	"sync"

	"reverie/internal/reverie"
)

// Places bound how much is done at a time: how many questions models are asked
// ([Account.Places]), or how many groups are worked on meanwhile ([Places.Work]). Whoever
// has to wait is served in the order of coming. A nil one has no bound. It is safe for
// concurrent use.
type Places struct {
	taken chan struct{}
}

// NewPlaces returns n places.
func NewPlaces(n int) *Places { return &Places{taken: make(chan struct{}, n)} }

// enter waits for a place; there is none for whoever is told to stop. What it returns
// gives the place back, and may be called twice.
func (p *Places) enter(ctx context.Context, stop <-chan struct{}) (leave func(), err error) {
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
func (p *Places) Work(ctx context.Context, stop <-chan struct{}) (work context.Context, leave func()) {
	d := &desk{places: p, stop: stop}
	d.sit(ctx)
	return context.WithValue(ctx, deskKey{}, d), d.stand
}

type deskKey struct{}

// desk is the place of one who works, and may ask several questions at a time.
type desk struct {
	places *Places
	stop   <-chan struct{}
	mu     sync.Mutex
	away   int    // questions under way
	leave  func() // nil: there is no place to give back
}

// deskOf is where the caller works; nil is nowhere in particular.
func deskOf(ctx context.Context) *desk {
	d, _ := ctx.Value(deskKey{}).(*desk)
	return d
}

// errStopped is why nothing further is asked.
var errStopped = fmt.Errorf("nothing further is asked, being told to stop: %w", reverie.ErrDeferred)

// untilStopped is ctx, and ends when those at the desk are told to stop, too.
func (d *desk) untilStopped(ctx context.Context) (wait context.Context, end func()) {
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

// sit waits for a place, unless ctx ends.
func (d *desk) sit(ctx context.Context) {
	if leave, err := d.places.enter(ctx, nil); err == nil {
		d.leave = leave
	}
}

func (d *desk) stand() {
	if d.leave != nil {
		d.leave()
		d.leave = nil
	}
}

// ask gives the place back until what it returns is called, by the last of those who ask.
func (d *desk) ask(ctx context.Context) (back func()) {
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away++; d.away == 1 {
		d.stand()
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.away--; d.away == 0 {
			d.sit(ctx)
		}
	}
}

// turn is an attempt that may be made: it has a place until it is answered, and what it
// may spend. A nil one has neither.
type turn struct {
	hold  *hold
	leave func()
}

// begin waits for a place, and lets a call of that estimate begin, or says which limit is
// spent. What it returns must be released.
func (a *Account) begin(ctx context.Context, b *Budget, estimate reverie.Spend) (*turn, error) {
	var stop <-chan struct{}
	if d := deskOf(ctx); d != nil && a.Places != nil {
		stop = d.stop
	}
	leave, err := a.Places.enter(ctx, stop)
	if err != nil {
		return nil, err
	}
	h, err := b.begin(ctx, estimate)
	if err != nil {
		leave()
		return nil, err
	}
	t := &turn{hold: h, leave: leave}
	select {
	case <-stop: // while the ledger was read
		t.release()
		return nil, errStopped
	default:
		return t, nil
	}
}

// release gives back the place, and what a call that was not made had reserved.
func (t *turn) release() {
	if t != nil {
		t.leave()
		t.hold.release()
	}
}
