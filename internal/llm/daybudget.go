package llm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"reverie/internal/reverie"
)

// DayBudget is what all processes on a database may spend in a day of UTC. It
// goes by the ledger, read when it is first asked and then at most every 10 s,
// and by what this process has spent since. What others spend between two looks
// is not seen, so together they can exceed the limits by that. A call under way
// at midnight counts for the new day until it ends. The runs of a process share
// one; it is safe for concurrent use.
type DayBudget struct {
	tally tally
	spent func(ctx context.Context, since time.Time) (reverie.Spend, error)
	now   func() time.Time
	reads singleflight.Group

	// writing keeps the ledger from being read between the writing of a row and its
	// settlement, or the call would count twice.
	writing sync.RWMutex

	mu        sync.Mutex
	since     time.Time // midnight; zero: the ledger was not read yet
	readAt    time.Time
	unwritten reverie.Spend // by calls since midnight whose rows the ledger lacks
}

const (
	readEvery   = 10 * time.Second
	readTimeout = 5 * time.Second
)

// NewDayBudget returns a day's budget. spent sums up the ledger's calls since an
// instant; now is the clock that their rows go by.
func NewDayBudget(limits Limits, spent func(ctx context.Context, since time.Time) (reverie.Spend, error),
	now func() time.Time) *DayBudget {
	return &DayBudget{tally: tally{scope: "day", limits: limits}, spent: spent, now: now}
}

// unbounded tells that the ledger need not be read.
func (d *DayBudget) unbounded() bool { return d == nil || d.tally.limits == Limits{} }

// begin is [tally.begin] by what is known now. That the ledger cannot be read is
// an error too: nothing is spent unseen.
func (d *DayBudget) begin(ctx context.Context, estimate reverie.Spend) error {
	if d.unbounded() {
		return nil
	}
	for d.outdated() {
		// All who ask wait for one reading, each no longer than its context.
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
	return d.tally.begin(estimate)
}

func (d *DayBudget) outdated() bool {
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	return !midnight(now).Equal(d.since) || now.Sub(d.readAt) >= readEvery
}

// read replaces what is known to be spent by what the ledger says and what it
// lacks. Its error is a [reverie.ErrDeferred] where the ledger took too long.
func (d *DayBudget) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	d.writing.Lock()
	defer d.writing.Unlock()
	now := d.now()
	spent, err := d.spent(ctx, midnight(now))
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
	d.tally.know(reverie.Spend{Calls: spent.Calls + d.unwritten.Calls, InputTokens: spent.InputTokens +
		d.unwritten.InputTokens,
		OutputTokens: spent.OutputTokens + d.unwritten.OutputTokens, CostUSD: spent.CostUSD + d.unwritten.CostUSD})
	return nil
}

// settle is [hold.settle] for the day. A row of the day before counts no more.
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
