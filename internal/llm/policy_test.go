package llm

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/reverie"
)

// scripted is a generator that answers or fails as told, and notes when it was
// asked.
type scripted struct {
	steps []step
	asked []time.Time
}

type step struct {
	resp  Response
	err   error
	takes time.Duration
}

func (s *scripted) Generate(ctx context.Context, _ Request) (Response, error) {
	s.asked = append(s.asked, time.Now())
	st := step{resp: Response{Text: "ok", Finish: FinishStop, Usage: Usage{InputTokens: 10, OutputTokens: 5}}}
	if len(s.asked) <= len(s.steps) {
		st = s.steps[len(s.asked)-1]
	}
	if st.takes > 0 {
		select {
		case <-time.After(st.takes):
		case <-ctx.Done():
			return Response{}, &Error{Provider: "p", Fault: FaultTimeout, Err: ctx.Err()}
		}
	}
	return st.resp, st.err
}

func fails(fault Fault) step { return step{err: &Error{Provider: "p", Fault: fault}} }

func failsAfter(wait time.Duration) step {
	return step{err: &Error{Provider: "p", Fault: FaultRateLimited, Status: 429, RetryAfter: wait}}
}

// rows is a ledger in memory.
type rows struct {
	mu    sync.Mutex
	calls []reverie.Call
	err   error
}

func (r *rows) RecordCall(ctx context.Context, call reverie.Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	return r.err
}

func (r *rows) outcomes() string {
	var out []string
	for _, c := range r.calls {
		out = append(out, c.Outcome)
	}
	return strings.Join(out, " ")
}

var meta = Meta{GroupID: "g", Purpose: "evolve"}

func newScripted(o PolicyOptions, steps ...step) (*Model, *scripted, *rows) {
	gen, ledger := &scripted{steps: steps}, &rows{}
	return NewModel(gen, Account{Provider: "p", Model: "m", Policy: NewPolicy(o), Ledger: ledger, Timeout: time.Minute,
		Prices: map[string]Price{"m": {Input: 1, Output: 2}}}), gen, ledger
}

func TestPassingFaultsAreTriedAgain(t *testing.T) {
	for _, fault := range []Fault{FaultRateLimited, FaultServer, FaultTimeout, FaultNetwork} {
		synctest.Test(t, func(t *testing.T) {
			m, gen, ledger := newScripted(PolicyOptions{}, fails(fault), fails(fault), fails(fault))
			resp, err := m.Generate(t.Context(), meta, Request{User: "u"})
			if err != nil || resp.Text != "ok" {
				t.Fatalf("%s: %+v, %v", fault, resp, err)
			}
			if got := ledger.outcomes(); got != strings.Repeat(string(fault)+" ", 3)+"ok" {
				t.Errorf("rows are %s", got)
			}
			for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
				wait := gen.asked[i+1].Sub(gen.asked[i])
				if wait > want || wait < want*3/4 {
					t.Errorf("wait %d is %s, want %s less a quarter at most", i+1, wait, want)
				}
			}
		})
	}
}

func TestOtherFaultsAreNot(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		is    error
	}{
		{FaultUnauthorized, reverie.ErrConfiguration}, {FaultNotFound, reverie.ErrConfiguration},
		{FaultTooLarge, nil}, {FaultBadRequest, nil}, {FaultCanceled, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, gen, ledger := newScripted(PolicyOptions{}, fails(c.fault))
			_, err := m.Generate(t.Context(), meta, Request{User: "u"})
			if len(gen.asked) != 1 || ledger.outcomes() != string(c.fault) {
				t.Errorf("%s: asked %d times, rows %s", c.fault, len(gen.asked), ledger.outcomes())
			}
			if errors.Is(err, reverie.ErrDeferred) || errors.Is(err, reverie.ErrConfiguration) != (c.is != nil) {
				t.Errorf("%s: error is %v", c.fault, err)
			}
		})
	}
}

func TestAttemptsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, ledger := newScripted(PolicyOptions{Attempts: 3}, fails(FaultServer), fails(FaultServer), fails(FaultServer))
		_, err := m.Generate(t.Context(), meta, Request{User: "u"})
		if !errors.Is(err, reverie.ErrDeferred) || len(gen.asked) != 3 || len(ledger.calls) != 3 {
			t.Fatalf("asked %d times, %d rows, error %v", len(gen.asked), len(ledger.calls), err)
		}
		if !strings.Contains(err.Error(), "3 attempts") {
			t.Errorf("error does not say how often: %v", err)
		}
	})
}

func TestRetryAfterIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, _ := newScripted(PolicyOptions{}, failsAfter(20*time.Second))
		if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil {
			t.Fatal(err)
		}
		if wait := gen.asked[1].Sub(gen.asked[0]); wait < 20*time.Second || wait > 22*time.Second {
			t.Errorf("waited %s, want 20 s and a tenth at most", wait)
		}
	})
}

func TestRetryAfterBeyondPatienceGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, _ := newScripted(PolicyOptions{}, failsAfter(61*time.Second))
		start := time.Now()
		_, err := m.Generate(t.Context(), meta, Request{User: "u"})
		if !errors.Is(err, reverie.ErrDeferred) || len(gen.asked) != 1 || !time.Now().Equal(start) {
			t.Errorf("asked %d times in %s, error %v", len(gen.asked), time.Since(start), err)
		}
	})
}

func TestAttemptsHaveTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, ledger := newScripted(PolicyOptions{Attempts: 2}, step{takes: time.Hour}, step{takes: time.Hour})
		_, err := m.Generate(t.Context(), meta, Request{User: "u"})
		if !errors.Is(err, reverie.ErrDeferred) || ledger.outcomes() != "timeout timeout" {
			t.Fatalf("rows %s, error %v", ledger.outcomes(), err)
		}
		if got := ledger.calls[0].Latency; got != time.Minute {
			t.Errorf("latency is %s, want a minute", got)
		}
	})
}

func TestCancelEndsTheCallAndItsRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, ledger := newScripted(PolicyOptions{}, step{takes: 10 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := m.Generate(ctx, meta, Request{User: "u"})
		if !errors.Is(err, context.Canceled) || errors.Is(err, reverie.ErrDeferred) || ledger.outcomes() != "canceled" {
			t.Errorf("rows %q, error %v", ledger.outcomes(), err)
		}
		if time.Since(start) != time.Second {
			t.Errorf("ended after %s", time.Since(start))
		}
	})
}

func TestCancelEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, _ := newScripted(PolicyOptions{}, failsAfter(50*time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := m.Generate(ctx, meta, Request{User: "u"})
		if !errors.Is(err, context.Canceled) || len(gen.asked) != 1 || time.Since(start) != time.Second {
			t.Errorf("asked %d times in %s, error %v", len(gen.asked), time.Since(start), err)
		}
	})
}

func TestCancelledBeforeIsNotAsked(t *testing.T) {
	m, gen, ledger := newScripted(PolicyOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Generate(ctx, meta, Request{User: "u"}); !errors.Is(err, context.Canceled) || len(gen.asked)+len(ledger.calls) != 0 {
		t.Errorf("asked %d times, %d rows, error %v", len(gen.asked), len(ledger.calls), err)
	}
}

// An answer that came in while the caller gave up was paid for.
func TestAnswerBesideCancelIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		gen := generatorFunc(func(context.Context, Request) (Response, error) {
			cancel()
			return Response{Text: "ok", Finish: FinishStop}, nil
		})
		resp, err := NewModel(gen, Account{}).Generate(ctx, meta, Request{User: "u"})
		if err != nil || resp.Text != "ok" {
			t.Errorf("%+v, %v", resp, err)
		}
	})
}

type generatorFunc func(context.Context, Request) (Response, error)

func (f generatorFunc) Generate(ctx context.Context, req Request) (Response, error) {
	return f(ctx, req)
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, ledger := newScripted(PolicyOptions{Attempts: 1, BreakerFailures: 3, BreakerDelay: 30 * time.Second},
			fails(FaultServer), fails(FaultBadRequest), // an answer, so the count starts again
			fails(FaultServer), fails(FaultNetwork), fails(FaultTimeout), // opens
			fails(FaultServer), // the one that tries, in vain
		)
		ask := func() error {
			_, err := m.Generate(t.Context(), meta, Request{User: "u"})
			return err
		}
		for range 5 {
			_ = ask()
		}
		var open *BreakerError
		if err := ask(); !errors.As(err, &open) || !errors.Is(err, reverie.ErrDeferred) || open.Wait != 30*time.Second {
			t.Fatalf("the breaker is not open: %v", err)
		}
		if len(gen.asked) != 5 || len(ledger.calls) != 5 {
			t.Errorf("asked %d times, %d rows, want 5: an open breaker makes no calls", len(gen.asked), len(ledger.calls))
		}
		time.Sleep(30 * time.Second)
		if err := ask(); errors.As(err, &open) && len(gen.asked) != 6 {
			t.Fatalf("after the delay nobody may try: %v", err)
		}
		if err := ask(); !errors.As(err, &open) {
			t.Errorf("the breaker closed after a failure: %v", err)
		}
		time.Sleep(30 * time.Second)
		for range 3 {
			if err := ask(); err != nil {
				t.Errorf("the breaker did not close after an answer: %v", err)
			}
		}
	})
}

func TestBreakerOpensWithinOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, _ := newScripted(PolicyOptions{Attempts: 4, BreakerFailures: 2}, fails(FaultServer), fails(FaultServer))
		_, err := m.Generate(t.Context(), meta, Request{User: "u"})
		var open *BreakerError
		if !errors.As(err, &open) || open.Last == nil || len(gen.asked) != 2 {
			t.Errorf("asked %d times, error %v", len(gen.asked), err)
		}
	})
}

// A caller that gives up while it tries a server must not leave the breaker
// waiting for an end that never comes, nor close it.
func TestBreakerSurvivesCancelledTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, _ := newScripted(PolicyOptions{Attempts: 1, BreakerFailures: 1, BreakerDelay: 10 * time.Second},
			fails(FaultServer), step{takes: 5 * time.Second})
		_, _ = m.Generate(t.Context(), meta, Request{User: "u"})
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(time.Second, cancel)
		if _, err := m.Generate(ctx, meta, Request{User: "u"}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); !errors.Is(err, reverie.ErrDeferred) || len(gen.asked) != 2 {
			t.Errorf("asked %d times, error %v", len(gen.asked), err)
		}
		time.Sleep(10 * time.Second)
		if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil {
			t.Errorf("the breaker stays open: %v", err)
		}
	})
}

// What a call of before the breaker opened comes to while another tries the server neither
// opens nor closes the breaker: the trial decides.
func TestOnlyTheTrialDecides(t *testing.T) {
	for name, early := range map[string]step{
		"cancelled": {takes: time.Hour},
		"failed":    {takes: 12 * time.Second, err: &Error{Provider: "p", Fault: FaultServer}},
		"answered":  {takes: 12 * time.Second, resp: Response{Text: "ok", Finish: FinishStop}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, gen, _ := newScripted(PolicyOptions{Attempts: 1, BreakerFailures: 1, BreakerDelay: 10 * time.Second},
					early, fails(FaultServer), step{resp: Response{Text: "ok", Finish: FinishStop}, takes: 10 * time.Second})
				ctx, cancel := context.WithCancel(t.Context())
				var all sync.WaitGroup
				all.Go(func() { _, _ = m.Generate(ctx, meta, Request{User: "early"}) })
				synctest.Wait()
				_, _ = m.Generate(t.Context(), meta, Request{User: "fails"})
				time.Sleep(10 * time.Second)
				all.Go(func() {
					if _, err := m.Generate(t.Context(), meta, Request{User: "trial"}); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(3 * time.Second)
				cancel()
				synctest.Wait()
				if _, err := m.Generate(t.Context(), meta, Request{User: "meanwhile"}); !errors.Is(err, reverie.ErrDeferred) || len(gen.asked) != 3 {
					t.Errorf("asked %d times while the server is tried: %v", len(gen.asked), err)
				}
				all.Wait()
				if _, err := m.Generate(t.Context(), meta, Request{User: "next"}); err != nil {
					t.Errorf("after the trial was answered: %v", err)
				}
			})
		})
	}
}

func TestBreakerOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, _ := newScripted(PolicyOptions{Attempts: 20, BreakerFailures: -1, Backoff: time.Millisecond},
			fails(FaultServer), fails(FaultServer), fails(FaultServer), fails(FaultServer), fails(FaultServer), fails(FaultServer), fails(FaultServer))
		if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil || len(gen.asked) != 8 {
			t.Errorf("asked %d times, error %v", len(gen.asked), err)
		}
	})
}

// TestCallersDeadline says nothing of the server: whoever has time is answered after it.
func TestCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := step{takes: 2 * time.Second}
		m, gen, ledger := newScripted(PolicyOptions{}, late, late, late, late, late)
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := m.Generate(ctx, meta, Request{User: "u"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("who has none hears %v", err)
			}
			cancel()
		}
		if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil {
			t.Errorf("asked %d times, rows %s: %v", len(gen.asked), ledger.outcomes(), err)
		}
	})
}

// TestShutIsNotTriedAgain: a server that is left alone is not waited for.
func TestShutIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, _ := newScripted(PolicyOptions{}, fails(FaultServer), fails(FaultServer), fails(FaultServer), fails(FaultServer), fails(FaultServer))
		if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err == nil {
			t.Error("it is answered")
		}
		began := time.Now()
		_, err := m.Generate(t.Context(), meta, Request{User: "u"}) // the fifth failure leaves it alone
		if took := time.Since(began); took > time.Second || len(gen.asked) != 5 || !errors.As(err, new(*BreakerError)) {
			t.Errorf("asked %d times, given up after %s: %v", len(gen.asked), took, err)
		}
	})
}
