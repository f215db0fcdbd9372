package llm

import (
	"context"
	"fmt"
	"sync"

	"reverie"
)

// Places bound how many questions the models that share them are asked at a time. Whoever
// has to wait is served in the order of coming; what is done before a question and after
// an answer needs no place. A nil one has no bound. It is safe for concurrent use.
type Places struct {
	taken chan struct{}
}

// NewPlaces returns n places.
func NewPlaces(n int) *Places { return &Places{taken: make(chan struct{}, n)} }

// enter waits for a place. What it returns gives that back, and may be called twice.
func (p *Places) enter(ctx context.Context) (leave func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	select {
	case p.taken <- struct{}{}:
		return sync.OnceFunc(func() { <-p.taken }), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting until fewer questions are asked: %w", ctx.Err())
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
	leave, err := a.Places.enter(ctx)
	if err != nil {
		return nil, err
	}
	h, err := b.begin(ctx, estimate)
	if err != nil {
		leave()
		return nil, err
	}
	return &turn{hold: h, leave: leave}, nil
}

// release gives back the place, and what a call that was not made had reserved.
func (t *turn) release() {
	if t != nil {
		t.leave()
		t.hold.release()
	}
}
