package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"reverie"
)

// breaker leaves a server alone for a while after several passing faults in a
// row. A nil one never opens.
type breaker struct {
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

// acquire asks for permission to call; last is the failure before, if any.
func (b *breaker) acquire(provider string, last error) error {
	if b == nil || b.circuit.TryAcquirePermit() {
		return nil
	}
	return &BreakerError{Provider: provider, Wait: b.circuit.RemainingDelay(), Last: last}
}

// report tells how a permitted call went. A caller that gave up says nothing
// about the server.
func (b *breaker) report(err error) {
	switch {
	case b == nil:
	case passing(err) != nil:
		b.circuit.RecordFailure()
	case gaveUp(err):
		b.release()
	default: // an answer, if only a refusal: the server is there
		b.circuit.RecordSuccess()
	}
}

// gaveUp tells whether it was the caller that ended the call, by his own deadline or
// otherwise, which says nothing of the server.
func gaveUp(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Fault == FaultCanceled || errors.Is(err, context.Canceled)
}

// release gives back a permit that was not used. There is nothing to give back
// unless the breaker is trying the server with this one call; then it must
// hear of an end, and stays open.
func (b *breaker) release() {
	if b != nil && b.circuit.IsHalfOpen() {
		b.circuit.RecordFailure()
	}
}

// BreakerError says that a call was not made, since the ones before it failed.
// It is a [reverie.ErrDeferred].
type BreakerError struct {
	Provider string
	Wait     time.Duration // until a call may try again
	Last     error         // failure of this same call just before, nil if there was none
}

func (e *BreakerError) Error() string {
	text := fmt.Sprintf("%s was not asked: it failed several times in a row; next try in %s", e.Provider, e.Wait.Round(time.Second))
	if e.Last != nil {
		text += fmt.Sprintf(" (last: %v)", e.Last)
	}
	return text
}

// Is makes errors.Is(err, reverie.ErrDeferred) true.
func (e *BreakerError) Is(target error) bool { return target == reverie.ErrDeferred }

// Unwrap gives the failure that opened the breaker, if this call saw it.
func (e *BreakerError) Unwrap() error { return e.Last }
