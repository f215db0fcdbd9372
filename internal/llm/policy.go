package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"golang.org/x/time/rate"

	"reverie/internal/reverie"
)

// PolicyOptions are the rules for calling one server. Zero values mean the
// defaults.
type PolicyOptions struct {
	Attempts          int           // maximum number of calls for one answer; default 4
	Backoff           time.Duration // before the second attempt, doubled each time; default 1 s
	BreakerFailures   int           // consecutive transient faults that open the breaker; default 5, negative: no breaker
	BreakerDelay      time.Duration // how long it stays open before a trial call; default 30 s
	RequestsPerMinute int           // 0: no limit
	TokensPerMinute   int           // of input and output; 0: no limit
	// Patience is for a tier that may have no capacity; 0: none. It replaces Attempts and the breaker: calls are
	// retried for so long after the first of the consecutive faults, over all calls. A call that timed out is not
	// retried, since it may be paid for.
	Patience time.Duration
}

const (
	maxBackoff    = 30 * time.Second
	maxPatience   = 5 * time.Minute // the longest backoff of a policy with patience
	maxRetryAfter = time.Minute     // the longest delay that a server may request; beyond it the call is given up
)

func (o PolicyOptions) withDefaults() PolicyOptions {
	o.Attempts = cmp.Or(o.Attempts, 4)
	o.Backoff = cmp.Or(o.Backoff, time.Second)
	o.BreakerFailures = cmp.Or(o.BreakerFailures, 5)
	o.BreakerDelay = cmp.Or(o.BreakerDelay, 30*time.Second)
	return o
}

// Policy is how a server is called: retries, circuit breaker and rate limits. Calls that share a Policy share its
// breaker and limits. It is safe for concurrent use.
//
// It uses Go's own timers, which testing/synctest can run without waiting, and every wait ends at once with its
// context.
type Policy struct {
	options PolicyOptions
	retry   retrypolicy.RetryPolicy[any]
	breaker circuitbreaker.CircuitBreaker[any]
	limiter *limiter

	mu    sync.Mutex
	since time.Time // the first of the consecutive transient faults; zero: the last call was answered
	last  time.Time // the newest of them
}

// NewPolicy returns a policy with the given rules.
func NewPolicy(options PolicyOptions) *Policy {
	o := options.withDefaults()
	if o.Patience > 0 {
		o.Attempts, o.BreakerFailures = -1, -1
	}
	p := &Policy{options: o, breaker: newBreaker(o), limiter: newLimiter(o)}
	p.retry = retrypolicy.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return p.retryable(err) }).
		WithMaxAttempts(o.Attempts).
		WithDelayFunc(p.delay).
		ReturnLastFailure().
		Build()
	return p
}

// do makes a call, with retries after transient faults, until it is answered or given up. tokens is the estimate of
// one call, which the call's own usage corrects. begin is called before each attempt, and an error from it ends do.
// Calls run while ctx lasts. When wait ends, which may be earlier, do stops waiting and makes no further calls.
func (p *Policy) do(ctx, wait context.Context, provider string, tokens int, begin func() (*Reservation, error),
	call func(context.Context, *Reservation) (Usage, error)) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s was not asked: %w", provider, err)
	}
	var last error
	attempts := 0
	err := failsafe.With[any](p.retry).WithContext(wait).Run(func() error {
		r, err := begin()
		if err != nil {
			return err
		}
		defer r.Release()
		report, err := p.acquire(provider, last)
		if err != nil {
			return err
		}
		attempts++
		last = p.attempt(wait, report, tokens, func() (Usage, error) { return call(ctx, r) })
		return last
	})
	switch {
	case wait.Err() != nil && attempts > 0 && !p.retryable(last):
		return last // return an error that came before the caller gave up
	case err == nil:
		return nil
	case wait.Err() != nil && last != nil:
		return fmt.Errorf("%s was not asked again: %w (before that: %w)", provider, context.Cause(wait), last)
	case wait.Err() != nil && ctx.Err() == nil && errors.Is(err, context.Canceled):
		return fmt.Errorf("%s was not asked: %w", provider, context.Cause(wait))
	case attempts > 1 && passing(err) != nil:
		return fmt.Errorf("given up after %d attempts: %w", attempts, err)
	default:
		return err
	}
}

// attempt waits for permission while wait lasts, calls, and settles the limiter with the real usage.
func (p *Policy) attempt(wait context.Context, report func(error), tokens int, call func() (Usage, error)) error {
	went := context.Canceled // a call that was not made, or panics, counts as given up
	defer func() { report(went) }()
	reserved, err := p.limiter.wait(wait, tokens)
	if err != nil {
		return err
	}
	usage, err := call()
	p.limiter.settle(reserved, usage, err)
	p.note(err)
	went = err
	return err
}

// Patient returns the policy for a tier of the same server that may have no capacity, with the same rate limits.
func (p *Policy) Patient(patience time.Duration) *Policy {
	o := p.options
	o.Patience = patience
	flex := NewPolicy(o)
	flex.limiter = p.limiter
	return flex
}

// note records since when calls have failed.
func (p *Policy) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case passing(err) == nil && !gaveUp(err):
		p.since = time.Time{}
	case passing(err) != nil:
		now := time.Now()
		if p.since.IsZero() || now.Sub(p.last) > p.options.Patience+maxPatience { // faults long ago do not count
			p.since = now
		}
		p.last = now
	}
}

// waits reports whether a policy with patience has enough left for a fault.
func (p *Policy) waits(fault *Error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	patience := p.options.Patience
	if fault.Fault != FaultRateLimited && fault.Status != http.StatusServiceUnavailable {
		patience = min(patience, maxPatience) // another failure than missing capacity
	}
	return fault.Fault != FaultTimeout && time.Since(p.since)+fault.RetryAfter < patience
}

// retryable reports whether another attempt makes sense. It does not if the spend could not be recorded, or if the
// server requests a longer delay than allowed.
func (p *Policy) retryable(err error) bool {
	if ledger := (*LedgerError)(nil); errors.As(err, &ledger) {
		return false
	}
	if errors.As(err, new(*BreakerError)) { // the server was not called, and will not be for a while
		return false
	}
	fault := passing(err)
	if fault != nil && p.options.Patience > 0 {
		return p.waits(fault)
	}
	return fault != nil && fault.RetryAfter <= maxRetryAfter
}

// delay returns at least what the server requests, otherwise an exponential backoff. Both have jitter, so that
// calls that failed together are not retried together.
func (p *Policy) delay(exec failsafe.ExecutionAttempt[any]) time.Duration {
	if fault := passing(exec.LastError()); fault != nil && fault.RetryAfter > 0 {
		return fault.RetryAfter + rand.N(fault.RetryAfter/10+1)
	}
	backoff := maxBackoff
	if p.options.Patience > 0 {
		backoff = maxPatience
	}
	if shift := exec.Retries(); shift < 20 {
		backoff = min(backoff, p.options.Backoff<<shift)
	}
	return backoff - rand.N(backoff/4+1)
}

// newBreaker returns a circuit breaker that opens after several consecutive transient faults. Later, one trial call
// decides whether it closes. It is nil if there is none.
func newBreaker(o PolicyOptions) circuitbreaker.CircuitBreaker[any] {
	if o.BreakerFailures < 0 {
		return nil
	}
	return circuitbreaker.NewBuilder[any]().WithFailureThreshold(uint(o.BreakerFailures)).WithSuccessThreshold(1).
		WithDelay(o.BreakerDelay).Build()
}

// acquire asks for permission to call; last is the previous failure, if any. The caller must report the result of
// the call once. A caller that gave up says nothing about the server, unless its call was the trial. Neither does a
// call from before the breaker opened: the trial decides.
func (p *Policy) acquire(provider string, last error) (report func(error), err error) {
	b := p.breaker
	if b == nil {
		return func(error) {}, nil
	}
	if !b.TryAcquirePermit() {
		return nil, &BreakerError{Provider: provider, Wait: b.RemainingDelay(), Last: last}
	}
	trial := b.IsHalfOpen()
	return func(err error) {
		switch {
		case !trial && !b.IsClosed():
		case passing(err) != nil, trial && gaveUp(err):
			b.RecordFailure()
		case !gaveUp(err): // any answer, even a refusal: the server works
			b.RecordSuccess()
		}
	}, nil
}

// gaveUp reports whether the caller ended the call, by its deadline or otherwise, which says nothing about the
// server.
func gaveUp(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Fault == FaultCanceled || errors.Is(err, context.Canceled)
}

// BreakerError says that a call was not made, since earlier ones failed. It is a [reverie.ErrDeferred].
type BreakerError struct {
	Provider string
	Wait     time.Duration // until the next trial call
	Last     error         // previous failure of the same call, nil if there was none
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

// Unwrap returns the failure that opened the breaker, if this call met it.
func (e *BreakerError) Unwrap() error { return e.Last }

// limiter keeps within a provider's requests and tokens per minute. Each part may be nil: no limit.
type limiter struct {
	requests *rate.Limiter
	tokens   *rate.Limiter
}

// newLimiter spreads requests over the minute, with a burst of one second's worth. Tokens may be spent a minute's
// worth at once, since one call can need as many.
func newLimiter(o PolicyOptions) *limiter {
	l := &limiter{}
	if o.RequestsPerMinute > 0 {
		l.requests = perMinute(o.RequestsPerMinute, (o.RequestsPerMinute+59)/60)
	}
	if o.TokensPerMinute > 0 {
		l.tokens = perMinute(o.TokensPerMinute, o.TokensPerMinute)
	}
	return l
}

func perMinute(n, burst int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(n)/60), burst)
}

// wait reserves a request and the estimated tokens, and waits until they are available. It returns the number of
// reserved tokens. A call larger than a minute's worth waits for a full bucket, and its usage puts the bucket into
// debt.
func (l *limiter) wait(ctx context.Context, tokens int) (reserved int, err error) {
	if l.tokens != nil {
		reserved = min(max(tokens, 0), l.tokens.Burst())
		if err := l.tokens.WaitN(ctx, reserved); err != nil {
			return 0, waitError(ctx, err)
		}
	}
	if l.requests != nil {
		if err := l.requests.Wait(ctx); err != nil {
			l.give(reserved)
			return 0, waitError(ctx, err)
		}
	}
	return reserved, nil
}

// waitError replaces the limiter's refusal to wait past a deadline by that deadline's error.
func waitError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("waiting for the rate limit: %w", cause)
	}
	return fmt.Errorf("waiting for the rate limit: %w: %w", err, context.DeadlineExceeded)
}

// settle replaces the reservation by the usage. A call that the server rejected used nothing. The usage of a call
// that broke off is unknown, so its reservation stays spent.
func (l *limiter) settle(reserved int, used Usage, err error) {
	if l.tokens == nil {
		return
	}
	consumed := used.InputTokens + used.OutputTokens
	if fault := (*Error)(nil); errors.As(err, &fault) && consumed == 0 {
		switch fault.Fault {
		case FaultServer, FaultTimeout, FaultCanceled:
			return
		}
	}
	l.give(reserved - consumed)
}

// give returns n tokens, or takes them if n is negative. The bucket accepts any number and drops what overflows. It
// cannot lend more than its capacity at once, hence the steps.
func (l *limiter) give(n int) {
	if l.tokens == nil {
		return
	}
	now := time.Now()
	for n < 0 {
		step := min(-n, l.tokens.Burst())
		l.tokens.ReserveN(now, step)
		n += step
	}
	if n > 0 {
		l.tokens.ReserveN(now, -n)
	}
}
