package llm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"reverie/internal/reverie"
)

// breaker leaves a server alone for a while after several passing faults in a
// row. A nil one never opens.
type breaker struct {
	mu      sync.Mutex // a permit is of the state in which it was given
	circuit circuitbreaker.CircuitBreaker[any]
}

func newBreaker(o PolicyOptions) *breaker {
	if o.BreakerFailures < 0 {
		return nil
	}
	return &breaker{circuit: circuitbreaker.NewBuilder[any]().
		WithFailureThreshold(uint(o.BreakerFailures)).
		WithSuccessThreshold(1).
		WithDelay(o.BreakerDelay).
		Build()}
}

// permit lets one call be made, whose end it is to hear of, once. A nil one is of no
// breaker.
type permit struct {
	breaker *breaker
	trial   bool // the one call that tries a server which was left alone
}

// acquire asks for permission to call; last is the failure before, if any.
func (b *breaker) acquire(provider string, last error) (*permit, error) {
	if b == nil {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.circuit.TryAcquirePermit() {
		return nil, &BreakerError{Provider: provider, Wait: b.circuit.RemainingDelay(), Last: last}
	}
	return &permit{b, b.circuit.IsHalfOpen()}, nil
}

// report tells how the call went. A caller that gave up says nothing about the server, and
// neither does a call from before the server was left alone, while another tries it.
func (p *permit) report(err error) {
	if p == nil {
		return
	}
	p.breaker.mu.Lock()
	defer p.breaker.mu.Unlock()
	circuit := p.breaker.circuit
	switch {
	case circuit.IsHalfOpen() && !p.trial:
	case passing(err) != nil:
		circuit.RecordFailure()
	case !gaveUp(err): // an answer, if only a refusal: the server is there
		circuit.RecordSuccess()
	case p.trial: // it must hear of an end, and stays open
		circuit.RecordFailure()
	}
}

// release gives back a permit that was not used.
func (p *permit) release() { p.report(context.Canceled) }

// gaveUp tells whether it was the caller that ended the call, by his own deadline or
// otherwise, which says nothing of the server.
func gaveUp(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Fault == FaultCanceled || errors.Is(err, context.Canceled)
}

// BreakerError says that a call was not made, since the ones before it failed.
// It is a [reverie.ErrDeferred].
type BreakerError struct {
	Provider string
	Wait     time.Duration // until a call may try again
	Last     error         // failure of this same call just before, nil if there was none
}

func (e *BreakerError) Error() string {
	text := fmt.Sprintf("%s was not asked: it failed several times in a row; next try in %s", e.Provider,
		e.Wait.Round(time.Second))
	if e.Last != nil {
		text += fmt.Sprintf(" (last: %v)", e.Last)
	}
	return text
}

// Is makes errors.Is(err, reverie.ErrDeferred) true.
func (e *BreakerError) Is(target error) bool { return target == reverie.ErrDeferred }

// Unwrap gives the failure that opened the breaker, if this call saw it.
func (e *BreakerError) Unwrap() error { return e.Last }
