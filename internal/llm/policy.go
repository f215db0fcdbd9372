package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
)

// PolicyOptions are the rules for calling one server. Zero values mean the
// defaults.
type PolicyOptions struct {
	Attempts          int           // calls at most for one answer; default 4
	Backoff           time.Duration // before the second attempt, doubled each time; default 1 s
	MaxBackoff        time.Duration // default 30 s
	MaxRetryAfter     time.Duration // longest wait that a server may ask for; beyond it the call is given up; default 60 s
	BreakerFailures   int           // passing faults in a row that open the breaker; default 5, negative: no breaker
	BreakerDelay      time.Duration // that it stays open before one call may try; default 30 s
	RequestsPerMinute int           // 0: no limit
	TokensPerMinute   int           // input and output; 0: no limit
}

func (o PolicyOptions) withDefaults() PolicyOptions {
	setDefault(&o.Attempts, 4)
	setDefault(&o.Backoff, time.Second)
	setDefault(&o.MaxBackoff, 30*time.Second)
	setDefault(&o.MaxRetryAfter, time.Minute)
	setDefault(&o.BreakerFailures, 5)
	setDefault(&o.BreakerDelay, 30*time.Second)
	return o
}

func setDefault[T int | time.Duration](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

// Policy is how a server is called: when to try again, when to leave it alone,
// and how fast. The calls that share a Policy share its breaker and limits. It
// is safe for concurrent use.
//
// It waits on Go's own timers, which testing/synctest can run without waiting,
// and every wait ends at once when the context does.
type Policy struct {
	options PolicyOptions
	retry   retrypolicy.RetryPolicy[any]
	breaker *breaker
	limiter *limiter
}

// NewPolicy returns a policy with the given rules.
func NewPolicy(options PolicyOptions) *Policy {
	o := options.withDefaults()
	p := &Policy{options: o, breaker: newBreaker(o), limiter: newLimiter(o)}
	p.retry = retrypolicy.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return p.retryable(err) }).
		WithMaxAttempts(o.Attempts).
		WithDelayFunc(p.delay).
		ReturnLastFailure().
		Build()
	return p
}

// do makes call, again after passing faults, until it is answered or given up.
// tokens is the estimate of what one call consumes, which call's own usage
// corrects. begin is asked before each attempt, and nothing else is done if it
// refuses. What is asked goes on while ctx lasts; wait may end before it, and then nothing
// is waited for or asked any more.
func (p *Policy) do(ctx, wait context.Context, provider string, tokens int, begin func() (*turn, error),
	call func(context.Context, *turn) (Usage, error)) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s was not asked: %w", provider, err)
	}
	var last error
	attempts := 0
	err := failsafe.With[any](p.retry).WithContext(wait).Run(func() error {
		t, err := begin()
		if err != nil {
			return err
		}
		defer t.release()
		permit, err := p.breaker.acquire(provider, last)
		if err != nil {
			return err
		}
		attempts++
		last = p.attempt(wait, permit, tokens, func() (Usage, error) { return call(ctx, t) })
		return last
	})
	switch {
	case wait.Err() != nil && attempts > 0 && !p.retryable(last):
		return last // decided before the caller gave up, so not to be lost
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

// attempt waits for its turn while wait lasts, calls, and settles what the call has really
// consumed.
func (p *Policy) attempt(wait context.Context, permit *permit, tokens int, call func() (Usage, error)) error {
	done := permit.release // also when the call panics
	defer func() { done() }()
	reserved, err := p.limiter.wait(wait, tokens)
	if err != nil {
		return err
	}
	usage, err := call()
	p.limiter.settle(reserved, usage, err)
	done = func() { permit.report(err) }
	return err
}

// retryable tells the errors after which another attempt makes sense. One whose
// spend could not be recorded is none, and neither is a server that asks for
// more patience than there is.
func (p *Policy) retryable(err error) bool {
	if ledger := (*LedgerError)(nil); errors.As(err, &ledger) {
		return false
	}
	if errors.As(err, new(*BreakerError)) { // nobody was asked, nor will be for a while
		return false
	}
	fault := passing(err)
	return fault != nil && fault.RetryAfter <= p.options.MaxRetryAfter
}

// delay is what the server asked for, never less, or else an exponential
// backoff; both with jitter, so that those who failed together do not come back
// together.
func (p *Policy) delay(exec failsafe.ExecutionAttempt[any]) time.Duration {
	if fault := passing(exec.LastError()); fault != nil && fault.RetryAfter > 0 {
		return fault.RetryAfter + rand.N(fault.RetryAfter/10+1)
	}
	backoff := p.options.MaxBackoff
	if shift := exec.Retries(); shift < 20 {
		backoff = min(backoff, p.options.Backoff<<shift)
	}
	return backoff - rand.N(backoff/4+1)
}
