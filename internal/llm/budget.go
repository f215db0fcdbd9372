package llm

import (
	"context"
	"sync"

	"reverie/internal/reverie"
)

// Limits bound what calls may spend; 0 is no limit.
//
// Calls are never exceeded: one that has begun counts at once. What it will read
// and write is known only afterwards, so a call begins while what is spent, plus
// the estimated input of the calls under way, is below the limits of tokens and
// USD. These can be exceeded by what the calls under way turn out to take. A
// model without a price costs nothing, so USD do not bound it.
type Limits struct {
	Calls  int
	Tokens int // input and output together
	USD    float64
}

// Budget is what one run may spend: one command, or one start of a scheduled
// job. A nil one has no limits. It is safe for concurrent use.
type Budget struct {
	run tally
	day *DayBudget
}

// NewBudget returns the budget of a run that also spends from the day's, which
// may be nil.
func NewBudget(run Limits, day *DayBudget) *Budget {
	return &Budget{run: tally{scope: "run", limits: run}, day: day}
}

type budgetKey struct{}

// WithBudget returns a context in which the calls of every [Model] and
// [Embeddings] spend from a budget. Each attempt asks it first, retries too; a
// refusal is a [*reverie.BudgetError], after which no other attempt is made.
// Vectors from the cache cost nothing.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

func budgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}

// begin lets a call of that estimate begin, or says which limit is spent. What
// it returns must be released, settled or not.
func (b *Budget) begin(ctx context.Context, estimate reverie.Spend) (*hold, error) {
	if b == nil {
		return nil, nil
	}
	if err := b.run.begin(estimate); err != nil {
		return nil, err
	}
	if err := b.day.begin(ctx, estimate); err != nil {
		b.run.end(estimate, nil)
		return nil, err
	}
	return &hold{budget: b, estimate: estimate}, nil
}

// hold is a call that may begin. A nil one has no budget.
type hold struct {
	budget   *Budget
	estimate reverie.Spend
	settled  bool
}

// settle writes a call's row, and counts it instead of the estimate. write
// reports whether the ledger has the row.
func (h *hold) settle(row reverie.Call, write func() bool) {
	if h == nil {
		write()
		return
	}
	h.budget.day.settle(h.estimate, row, write)
	h.budget.run.end(h.estimate, &row)
	h.settled = true
}

// release gives back what a call that was not made had reserved.
func (h *hold) release() {
	if h != nil && !h.settled {
		h.budget.day.release(h.estimate)
		h.budget.run.end(h.estimate, nil)
	}
}

// tally is what is spent of some limits, and what the calls under way are
// estimated to take.
type tally struct {
	scope  string // "run" or "day"
	limits Limits

	mu              sync.Mutex
	spent, underWay reverie.Spend
}

// begin adds a call to those under way, or returns a [*reverie.BudgetError].
func (t *tally) begin(estimate reverie.Spend) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range []struct {
		what         string
		limit, spent float64
	}{
		{"calls", float64(t.limits.Calls), float64(t.spent.Calls + t.underWay.Calls)},
		{"tokens", float64(t.limits.Tokens), float64(t.spent.InputTokens + t.spent.OutputTokens + t.underWay.InputTokens)},
		{"USD", t.limits.USD, t.spent.CostUSD + t.underWay.CostUSD},
	} {
		if l.limit > 0 && l.spent >= l.limit {
			return &reverie.BudgetError{Scope: t.scope, What: l.what, Limit: l.limit, Spent: l.spent}
		}
	}
	t.underWay.Calls++
	t.underWay.InputTokens += estimate.InputTokens
	t.underWay.CostUSD += estimate.CostUSD
	return nil
}

// end takes a call off those under way and counts its row, nil if it was not
// made.
func (t *tally) end(estimate reverie.Spend, row *reverie.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay.Calls--
	t.underWay.InputTokens -= estimate.InputTokens
	t.underWay.CostUSD -= estimate.CostUSD
	if t.underWay.Calls == 0 {
		t.underWay = reverie.Spend{} // no rounding error stays
	}
	if row != nil {
		t.spent.Add(*row)
	}
}

// know replaces what is spent.
func (t *tally) know(spent reverie.Spend) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent = spent
}
