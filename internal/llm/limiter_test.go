package llm

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequestsAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, _ := newScripted(PolicyOptions{RequestsPerMinute: 30})
		for range 4 {
			if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil {
				t.Fatal(err)
			}
		}
		if took := gen.asked[3].Sub(gen.asked[0]); took != 6*time.Second {
			t.Errorf("4 requests at 30 a minute took %s, want 6 s", took)
		}
	})
}

func noBudget() (*Reservation, error) { return &Reservation{leave: func() {}}, nil }

// elapsed runs calls one after another at 600 tokens a minute, each estimated
// and then used as given, and returns when the last one began.
func elapsed(t *testing.T, calls ...[2]int) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPolicy(PolicyOptions{Attempts: 1, TokensPerMinute: 600})
		start := time.Now()
		for _, c := range calls {
			err := p.do(t.Context(), t.Context(), "p", c[0], noBudget, func(context.Context, *Reservation) (Usage, error) {
				took = time.Since(start)
				return Usage{InputTokens: c[1]}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	return took
}

func TestTokensAMinute(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls [][2]int
		want  time.Duration
	}{
		{"a minute's worth at once", [][2]int{{300, 300}, {300, 300}}, 0},
		{"then ten a second", [][2]int{{600, 600}, {100, 100}}, 10 * time.Second},
		{"less used is given back", [][2]int{{600, 100}, {500, 500}}, 0},
		{"what is given back does not pile up", [][2]int{{600, 0}, {600, 600}, {100, 100}}, 10 * time.Second},
		{"more used is taken", [][2]int{{100, 700}, {100, 100}}, 20 * time.Second},
		{"several minutes' worth is taken too", [][2]int{{1, 1800}, {1, 1}}, 120*time.Second + 100*time.Millisecond},
		{"more than a minute's worth is one full bucket", [][2]int{{100, 100}, {5000, 600}, {0, 0}}, 10 * time.Second},
	} {
		if got := elapsed(t, c.calls...); got.Round(time.Millisecond) != c.want {
			t.Errorf("%s: the last call began after %s, want %s", c.name, got, c.want)
		}
	}
}

func TestReservationOfFailures(t *testing.T) {
	for fault, want := range map[Fault]time.Duration{
		FaultRateLimited: 0, FaultNetwork: 0, FaultBadRequest: 0, // turned away
		FaultServer: time.Minute, FaultTimeout: time.Minute, // nobody knows
	} {
		synctest.Test(t, func(t *testing.T) {
			p := NewPolicy(PolicyOptions{Attempts: 1, TokensPerMinute: 600})
			start := time.Now()
			_ = p.do(t.Context(), t.Context(), "p", 600, noBudget, func(context.Context, *Reservation) (Usage, error) { return Usage{}, &Error{Fault: fault} })
			_ = p.do(t.Context(), t.Context(), "p", 600, noBudget, func(context.Context, *Reservation) (Usage, error) { return Usage{}, nil })
			if took := time.Since(start); took != want {
				t.Errorf("after %s the next call waited %s, want %s", fault, took, want)
			}
		})
	}
}

func TestCancelEndsTheWaitForTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, ledger := newScripted(PolicyOptions{RequestsPerMinute: 1})
		if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if _, err := m.Generate(ctx, meta, Request{User: "u"}); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("ended after %s: %v", time.Since(start), err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Generate(short, meta, Request{User: "u"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a deadline before the turn: %v", err)
		}
		if len(gen.asked) != 1 || len(ledger.calls) != 1 {
			t.Errorf("asked %d times, %d rows, want 1", len(gen.asked), len(ledger.calls))
		}
	})
}
