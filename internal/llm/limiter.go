package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// limiter keeps within a provider's requests and tokens a minute. Both parts
// may be nil: no limit.
type limiter struct {
	requests *rate.Limiter
	tokens   *rate.Limiter
}

// newLimiter spreads requests over the minute, a second's worth at once at
// most; tokens may be spent a minute's worth at once, since one call can need
// as many.
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

// wait reserves a request and the estimated tokens and waits for its turn. It
// returns how many tokens were reserved: a call larger than a minute's worth
// waits for a full bucket, and its usage puts the bucket into debt.
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

// waitError turns the limiter's refusal to wait past a deadline into that
// deadline.
func waitError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("waiting for the rate limit: %w", cause)
	}
	return fmt.Errorf("waiting for the rate limit: %w: %w", err, context.DeadlineExceeded)
}

// settle replaces the reservation by what was consumed. A call that the server
// turned away consumed nothing; of one that broke off nobody knows, so its
// reservation stays spent.
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

// give puts n tokens back, or takes them if n is negative. The bucket takes any
// number back and forgets what overflows; it lends no more than it can hold at
// once, hence the steps.
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
