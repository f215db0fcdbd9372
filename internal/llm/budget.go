package llm

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"reverie/internal/reverie"
)

// Limits bound what calls may spend; 0 is no limit.
//
// The limit of calls is never exceeded: a call counts when it begins. The tokens of a call are known only
// afterwards. So a call begins if what is spent, plus the estimated input of running calls, is below the limits of
// tokens and USD. Running calls can exceed these two by their real usage. A model without a price costs nothing, so
// USD do not bound it.
type Limits struct {
	Calls  int
	Tokens int // sum of input and output
	USD    float64
}

// Budget bounds the spend of one run: one command, or one start of a scheduled job. A nil Budget has no limits. It
// is safe for concurrent use.
type Budget struct {
	run tally
	day *DayBudget
}

// NewBudget returns the budget of a run. Its calls also count for the day's budget, which may be nil.
func NewBudget(run Limits, day *DayBudget) *Budget {
	return &Budget{run: tally{scope: "run", limits: run}, day: day}
}

type budgetKey struct{}

// WithBudget returns a context in which the calls of every [Model] and [Embeddings] count for a budget. Each
// attempt, also a retry, needs its permission. A refusal is a [*reverie.BudgetError], after which no other attempt
// is made. Cached vectors cost nothing.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

func budgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}

// begin starts a call with that estimate, or says which limit is spent. The caller must settle a started call or
// release its estimate.
func (b *Budget) begin(ctx context.Context, estimate reverie.Spend) error {
	if b == nil {
		return nil
	}
	if err := b.run.begin(estimate); err != nil {
		return err
	}
	err := b.day.begin(ctx, estimate)
	if err != nil {
		b.run.end(estimate, nil)
	}
	return err
}

// tally holds limits, what is spent of them, and the estimate of running calls.
type tally struct {
	scope  string // "run" or "day"
	limits Limits

	mu              sync.Mutex
	spent, underWay reverie.Spend
	elsewhere       reverie.Spend // in running batches of other processes
}

// begin counts a call as running, or returns a [*reverie.BudgetError].
func (t *tally) begin(estimate reverie.Spend) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.exceeded(t.underWay.Plus(t.elsewhere)); err != nil {
		return err
	}
	t.add(estimate)
	return nil
}

// add counts a call as running.
func (t *tally) add(estimate reverie.Spend) {
	t.underWay.Calls++
	t.underWay.InputTokens += estimate.InputTokens
	t.underWay.OutputTokens += estimate.OutputTokens
	t.underWay.CostUSD += estimate.CostUSD
}

// hold counts a call that is already running, even if a limit is spent.
func (b *Budget) hold(estimate reverie.Spend) {
	if b == nil {
		return
	}
	tallies := []*tally{&b.run}
	if !b.day.unbounded() {
		tallies = append(tallies, &b.day.tally)
	}
	for _, t := range tallies {
		t.mu.Lock()
		t.add(estimate)
		t.mu.Unlock()
	}
}

// batched adds n questions with a total estimate to those in batches of this process.
func (b *Budget) batched(estimate reverie.Spend, n int) {
	if b == nil || b.day.unbounded() {
		return
	}
	b.day.mu.Lock()
	defer b.day.mu.Unlock()
	b.day.batches = b.day.batches.Plus(reverie.Spend{Calls: n, InputTokens: n * estimate.InputTokens,
		OutputTokens: n * estimate.OutputTokens, CostUSD: float64(n) * estimate.CostUSD})
}

// exceeded says which limit is reached by what is spent and what is running.
func (t *tally) exceeded(underWay reverie.Spend) error {
	for _, l := range []struct {
		what         string
		limit, spent float64
	}{
		{"calls", float64(t.limits.Calls), float64(t.spent.Calls + underWay.Calls)},
		{"tokens", float64(t.limits.Tokens), float64(t.spent.InputTokens + t.spent.OutputTokens + underWay.InputTokens + underWay.OutputTokens)},
		{"USD", t.limits.USD, t.spent.CostUSD + underWay.CostUSD},
	} {
		if l.limit > 0 && l.spent >= l.limit {
			return &reverie.BudgetError{Scope: t.scope, What: l.what, Limit: l.limit, Spent: l.spent}
		}
	}
	return nil
}

// end removes a running call and counts its row, nil if the call was not made.
func (t *tally) end(estimate reverie.Spend, row *reverie.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay.Calls--
	t.underWay.InputTokens -= estimate.InputTokens
	t.underWay.OutputTokens -= estimate.OutputTokens
	t.underWay.CostUSD -= estimate.CostUSD
	if t.underWay.Calls == 0 {
		t.underWay = reverie.Spend{} // drops rounding errors
	}
	if row != nil {
		t.spent.Add(*row)
	}
}

// know replaces what is spent, and what is running elsewhere.
func (t *tally) know(spent, elsewhere reverie.Spend) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent, t.elsewhere = spent, elsewhere
}

// DayBudget bounds what all processes on a database may spend in a day of UTC. It adds up the ledger, the running
// batches of all processes, and what this process has spent since. It reads the ledger at first use and then at
// most every 10 s. It does not see what others spend between two reads, so together they can exceed the limits by
// that. A call that runs at midnight counts for the new day until it ends. The runs of a process share one
// DayBudget; it is safe for concurrent use.
type DayBudget struct {
	Batches func(context.Context) (reverie.Spend, error) // estimate of all processes' running batches; nil: none

	tally tally
	spent func(ctx context.Context, since time.Time) (reverie.Spend, error)
	now   func() time.Time
	reads singleflight.Group

	// writing prevents reading the ledger between the writing of a row and its settlement, which would count the call
	// twice.
	writing sync.RWMutex

	mu        sync.Mutex
	since     time.Time // midnight; zero: the ledger has not been read
	readAt    time.Time
	unwritten reverie.Spend // calls since midnight whose rows the ledger lacks
	batches   reverie.Spend // running batches of this process
}

const (
	readEvery   = 10 * time.Second
	readTimeout = 5 * time.Second
)

// NewDayBudget returns a day's budget. spent sums up the ledger's calls since an instant; now is the clock of their
// rows.
func NewDayBudget(limits Limits, spent func(ctx context.Context, since time.Time) (reverie.Spend, error),
	now func() time.Time) *DayBudget {
	return &DayBudget{tally: tally{scope: "day", limits: limits}, spent: spent, now: now}
}

// unbounded reports that the ledger need not be read.
func (d *DayBudget) unbounded() bool { return d == nil || d.tally.limits == Limits{} }

// begin is [tally.begin] after a refresh. It fails if the ledger cannot be read: nothing is spent unseen.
func (d *DayBudget) begin(ctx context.Context, estimate reverie.Spend) error {
	if d.unbounded() {
		return nil
	}
	if err := d.refresh(ctx); err != nil {
		return err
	}
	return d.tally.begin(estimate)
}

// refresh reads the ledger if the last read is old.
func (d *DayBudget) refresh(ctx context.Context) error {
	for d.outdated() {
		// All callers wait for one read, each until its own context ends.
		read := d.reads.DoChan("", func() (any, error) { return nil, d.read(context.WithoutCancel(ctx)) })
		select {
		case result := <-read:
			if result.Err != nil {
				return result.Err
			}
		case <-ctx.Done():
			return fmt.Errorf("waiting for what was spent today: %w", ctx.Err())
		}
	}
	return nil
}

func (d *DayBudget) outdated() bool {
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	return !midnight(now).Equal(d.since) || now.Sub(d.readAt) >= readEvery
}

// read replaces the known spend by the ledger's sum and the calls that the ledger lacks. Its error is a
// [reverie.ErrDeferred] if the ledger took too long.
func (d *DayBudget) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	d.writing.Lock()
	defer d.writing.Unlock()
	now := d.now()
	spent, err := d.spent(ctx, midnight(now))
	out := reverie.Spend{}
	if err == nil && d.Batches != nil {
		out, err = d.Batches(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", reverie.ErrDeferred, err)
		}
		return fmt.Errorf("read what was spent today, which the limits of [budget] need: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !midnight(now).Equal(d.since) {
		d.unwritten = reverie.Spend{}
	}
	d.since, d.readAt = midnight(now), now
	d.tally.know(spent.Plus(d.unwritten),
		reverie.Spend{Calls: max(0, out.Calls-d.batches.Calls), InputTokens: max(0, out.InputTokens-d.batches.InputTokens),
			OutputTokens: max(0, out.OutputTokens-d.batches.OutputTokens), CostUSD: max(0, out.CostUSD-d.batches.CostUSD)})
	return nil
}

// settle is [Reservation.Settle] for the day. Rows of the previous day do not count any more.
func (d *DayBudget) settle(estimate reverie.Spend, row reverie.Call, write func() bool) {
	if d.unbounded() {
		write()
		return
	}
	d.writing.RLock()
	defer d.writing.RUnlock()
	written := write()
	d.mu.Lock()
	defer d.mu.Unlock()
	if row.CreatedAt.Before(d.since) {
		d.tally.end(estimate, nil)
		return
	}
	d.tally.end(estimate, &row)
	if !written {
		d.unwritten.Add(row)
	}
}

func (d *DayBudget) release(estimate reverie.Spend) {
	if !d.unbounded() {
		d.tally.end(estimate, nil)
	}
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Price is the price of a model, in USD per million tokens.
type Price struct {
	Input, Output float64
	Cached        float64 // of input in the provider's cache
}

// Cost of a call, in USD.
func (p Price) Cost(u Usage) float64 {
	fresh := max(u.InputTokens-u.CachedTokens, 0)
	return (float64(fresh)*p.Input + float64(u.CachedTokens)*p.Cached + float64(u.OutputTokens)*p.Output) / 1e6
}

// ParsePrices parses entries such as "gemini-2.5-flash=0.30/2.50/0.03": input, output and cached input. Without the
// third, cached input costs as much as other input. A model without output is "text-embedding-3-small=0.02".
// "gpt-5-mini@flex=0.125/1.00" is the price of a [Tier]; without it flex and batch cost half. A later entry for a
// model replaces an earlier one. Its errors are [reverie.ErrConfiguration] and name the entry.
func ParsePrices(entries []string) (map[string]Price, error) {
	prices := make(map[string]Price, len(entries))
	for _, entry := range entries {
		model, price, err := parsePrice(entry)
		if err != nil {
			return nil, fmt.Errorf("price %q: %w: %w: write model=input/output or "+
				"model=input/output/cached in USD per million tokens, such as gemini-2.5-flash=0.30/2.50/0.03",
				entry, err, reverie.ErrConfiguration)
		}
		prices[model] = price
	}
	return prices, nil
}

// parsePrice splits at the last equals sign, since a model's name may contain one.
func parsePrice(entry string) (string, Price, error) {
	at := strings.LastIndexByte(entry, '=')
	if at < 0 {
		return "", Price{}, fmt.Errorf("no equals sign")
	}
	model := strings.TrimSpace(entry[:at])
	if model == "" {
		return "", Price{}, fmt.Errorf("no model")
	}
	parts := strings.Split(entry[at+1:], "/")
	var price [3]float64
	if len(parts) > len(price) {
		return "", Price{}, fmt.Errorf("%d prices", len(parts))
	}
	for i, part := range parts {
		var err error
		if price[i], err = parseUSD(part); err != nil {
			return "", Price{}, err
		}
	}
	if len(parts) < len(price) {
		price[2] = price[0]
	}
	return model, Price{Input: price[0], Output: price[1], Cached: price[2]}, nil
}

func parseUSD(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no price", s)
	}
	return v, nil
}

// priceOf returns a model's price in a tier. It looks up the name, then the name without the path that gateways add
// (google/gemini-2.5-flash). Gemini, OpenAI and Anthropic all charge half the standard price for flex and batch.
func priceOf(prices map[string]Price, model string, tier Tier) (Price, bool) {
	bare := model[strings.LastIndexByte(model, '/')+1:]
	for _, name := range []string{model + "@" + string(tier), bare + "@" + string(tier), model, bare} {
		p, ok := prices[name]
		switch {
		case !ok:
		case (tier == TierFlex || tier == TierBatch) && !strings.HasSuffix(name, "@"+string(tier)):
			return Price{Input: p.Input / 2, Output: p.Output / 2, Cached: p.Cached / 2}, true
		default:
			return p, true
		}
	}
	return Price{}, false
}
