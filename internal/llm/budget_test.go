package llm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// refusal is the budget's part of an error, nil if it has none.
func refusal(err error) *reverie.BudgetError {
	var refused *reverie.BudgetError
	if !errors.As(err, &refused) {
		return nil
	}
	return refused
}

// TestBudgetOfARun asks until the budget refuses. A call reads 10 tokens and
// writes 5, which cost 20 millionths of a dollar.
func TestBudgetOfARun(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		steps  []step
		calls  int // that are made
		want   *reverie.BudgetError
	}{
		"calls":                      {Limits{Calls: 3}, nil, 3, &reverie.BudgetError{Scope: "run", What: "calls", Limit: 3, Spent: 3}},
		"tokens, reached":            {Limits{Tokens: 30}, nil, 2, &reverie.BudgetError{Scope: "run", What: "tokens", Limit: 30, Spent: 30}},
		"tokens, not quite":          {Limits{Tokens: 31}, nil, 3, &reverie.BudgetError{Scope: "run", What: "tokens", Limit: 31, Spent: 45}},
		"USD":                        {Limits{USD: 0.00003}, nil, 2, &reverie.BudgetError{Scope: "run", What: "USD", Limit: 0.00003, Spent: 0.00004}},
		"whichever is spent first":   {Limits{Calls: 2, Tokens: 1000, USD: 1}, nil, 2, &reverie.BudgetError{Scope: "run", What: "calls", Limit: 2, Spent: 2}},
		"retries count":              {Limits{Calls: 2}, []step{fails(FaultServer), fails(FaultServer)}, 2, &reverie.BudgetError{Scope: "run", What: "calls", Limit: 2, Spent: 2}},
		"failed calls cost no token": {Limits{Tokens: 10}, []step{fails(FaultBadRequest), fails(FaultBadRequest)}, 3, &reverie.BudgetError{Scope: "run", What: "tokens", Limit: 10, Spent: 15}},
		"cut-off answers do": {Limits{Tokens: 10}, []step{{resp: Response{Finish: FinishLength, Usage: Usage{InputTokens: 7, OutputTokens: 5}}}}, 1,
			&reverie.BudgetError{Scope: "run", What: "tokens", Limit: 10, Spent: 12}},
		"no limit": {Limits{}, nil, 20, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, gen, ledger := newScripted(PolicyOptions{BreakerFailures: -1}, c.steps...)
			ctx := WithBudget(t.Context(), NewBudget(c.limits, nil))
			var got *reverie.BudgetError
			for n := 0; n < 20 && got == nil; n++ {
				_, err := m.Generate(ctx, meta, Request{})
				got = refusal(err)
				if got != nil && !errors.Is(err, reverie.ErrDeferred) {
					t.Errorf("%s: %v is not deferred", name, err)
				}
			}
			if len(gen.asked) != c.calls || len(ledger.calls) != c.calls {
				t.Errorf("%s: %d calls and %d rows, want %d", name, len(gen.asked), len(ledger.calls), c.calls)
			}
			near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 })
			if diff := cmp.Diff(c.want, got, near); diff != "" {
				t.Errorf("%s: -want +got\n%s", name, diff)
			}
		})
	}
}

func TestNilBudget(t *testing.T) {
	m, gen, _ := newScripted(PolicyOptions{})
	if _, err := m.Generate(WithBudget(t.Context(), nil), meta, Request{}); err != nil || len(gen.asked) != 1 {
		t.Errorf("asked %d times, error %v", len(gen.asked), err)
	}
}

func TestBudgetOfEmbeddings(t *testing.T) {
	emb, ledger := &embedder{dims: 3}, &rows{}
	e := NewEmbeddings(emb, Account{Provider: "p", Model: "m", Ledger: ledger}, EmbeddingOptions{Dims: 3, Batch: 1, Cache: &cache{}})
	ctx := WithBudget(t.Context(), NewBudget(Limits{Calls: 2}, nil))
	if _, err := e.Embed(ctx, meta, []string{"a", "bb"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(ctx, meta, []string{"bb", "a"}); err != nil {
		t.Errorf("what the cache has is refused: %v", err)
	}
	if _, err := e.Embed(ctx, meta, []string{"a", "ccc"}); refusal(err) == nil || len(emb.batches) != 2 || len(ledger.calls) != 2 {
		t.Errorf("asked %d times, %d rows, error %v", len(emb.batches), len(ledger.calls), err)
	}
}

// TestRefusalTouchesNothing lets a budget refuse while the breaker would let one
// call try, and while the limiter would let one call pass.
func TestRefusalTouchesNothing(t *testing.T) {
	spent := func() *Budget {
		b := NewBudget(Limits{Calls: 1}, nil)
		if err := b.begin(t.Context(), reverie.Spend{}); err != nil {
			t.Fatal(err)
		}
		(&Reservation{budget: b}).Settle(reverie.Call{}, func() bool { return true })
		return b
	}
	t.Run("breaker", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, _, _ := newScripted(PolicyOptions{Attempts: 1, BreakerFailures: 1, BreakerDelay: 10 * time.Second}, fails(FaultServer))
			_, _ = m.Generate(t.Context(), meta, Request{})
			time.Sleep(10 * time.Second)
			for range 3 {
				if _, err := m.Generate(WithBudget(t.Context(), spent()), meta, Request{}); refusal(err) == nil {
					t.Errorf("not refused: %v", err)
				}
			}
			if _, err := m.Generate(t.Context(), meta, Request{}); err != nil {
				t.Errorf("the breaker heard of it: %v", err)
			}
		})
	})
	t.Run("limiter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, _, _ := newScripted(PolicyOptions{RequestsPerMinute: 1})
			start := time.Now()
			if _, err := m.Generate(WithBudget(t.Context(), spent()), meta, Request{}); refusal(err) == nil {
				t.Errorf("not refused: %v", err)
			}
			if _, err := m.Generate(t.Context(), meta, Request{}); err != nil || !time.Now().Equal(start) {
				t.Errorf("the next call waited %s, error %v", time.Since(start), err)
			}
		})
	})
}

// TestCallsThatAreNotMadeCostNothing stops a call behind the budget, at the
// breaker and at the limiter.
func TestCallsThatAreNotMadeCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, gen, _ := newScripted(PolicyOptions{Attempts: 1, BreakerFailures: 1, BreakerDelay: 10 * time.Second, RequestsPerMinute: 1}, fails(FaultServer))
		_, _ = m.Generate(t.Context(), meta, Request{}) // opens the breaker and takes the minute's request
		day := NewDayBudget(Limits{Calls: 1}, func(context.Context, time.Time) (reverie.Spend, error) { return reverie.Spend{}, nil }, time.Now)
		ctx := WithBudget(t.Context(), NewBudget(Limits{Calls: 1}, day))
		var open *BreakerError
		if _, err := m.Generate(ctx, meta, Request{}); !errors.As(err, &open) {
			t.Fatalf("the breaker is not open: %v", err)
		}
		time.Sleep(10 * time.Second)
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := m.Generate(short, meta, Request{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the limiter let it pass: %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := m.Generate(ctx, meta, Request{}); err != nil || len(gen.asked) != 2 {
			t.Errorf("asked %d times, error %v", len(gen.asked), err)
		}
	})
}

// TestManyAtOnce begins 32 calls at one instant. The estimate of each is known,
// and what it takes only when it ends.
func TestManyAtOnce(t *testing.T) {
	question := Request{User: "a question of a few words, which are tokens"}
	estimate := text.EstimateTokens(question.User)
	for name, c := range map[string]struct {
		limits Limits
		calls  int64
	}{
		"calls":  {Limits{Calls: 7}, 7},
		"tokens": {Limits{Tokens: 3*estimate - 1}, 3},
		"USD":    {Limits{USD: float64(5*estimate-1) / 1e6}, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			var made, refused atomic.Int64
			m := NewModel(generatorFunc(func(context.Context, Request) (Response, error) {
				made.Add(1)
				time.Sleep(time.Minute)
				return Response{Text: "x", Finish: FinishStop, Usage: Usage{InputTokens: 1000 * estimate}}, nil
			}), Account{Provider: "p", Model: "m", Prices: map[string]Price{"m": {Input: 1}}})
			ctx := WithBudget(t.Context(), NewBudget(c.limits, nil))
			var callers sync.WaitGroup
			for range 32 {
				callers.Go(func() {
					if _, err := m.Generate(ctx, meta, question); refusal(err) != nil {
						refused.Add(1)
					} else if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			callers.Wait()
			if made.Load() != c.calls || refused.Load() != 32-c.calls {
				t.Errorf("%s: %d calls, %d refused, want %d calls", name, made.Load(), refused.Load(), c.calls)
			}
		})
	}
}

// TestPanicEndsACall gives the call back that an adapter's panic ended.
func TestPanicEndsACall(t *testing.T) {
	b := NewBudget(Limits{Calls: 1}, nil)
	m := NewModel(generatorFunc(func(context.Context, Request) (Response, error) { panic("adapter") }), Account{})
	func() {
		defer func() { _ = recover() }()
		_, _ = m.Generate(WithBudget(t.Context(), b), meta, Request{})
	}()
	if b.run.underWay != (reverie.Spend{}) {
		t.Errorf("under way: %+v", b.run.underWay)
	}
}
