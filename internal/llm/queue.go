package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Queue holds the questions of runs that are asked in batches.
type Queue interface {
	// Put stores a question, if it is new, and returns its state.
	Put(ctx context.Context, m *Model, meta Meta, req Request) (Queued, error)
	// Keep stores the answer to a question that was asked directly in the end.
	Keep(ctx context.Context, meta Meta, id string, resp Response) error
}

// Queued is a question in a [Queue].
type Queued struct {
	ID       string    // "": the question is not stored
	Response *Response // nil: not answered yet
	Fault    Fault     // why it will not be answered; "" while it may be
	Direct   bool      // ask it directly: batches failed to answer it, or do not contain it
}

type queueKey struct{}

// WithQueue returns a context in which the questions of runs go into a queue, if the model's provider has batches.
// A question without an answer yet returns a [*PendingError].
func WithQueue(ctx context.Context, q Queue) context.Context {
	return context.WithValue(ctx, queueKey{}, q)
}

// PendingError says that a question waits for the answer of a batch. It is a [reverie.ErrDeferred]: asking again
// later returns the answer.
type PendingError struct{ Model string }

func (e *PendingError) Error() string {
	return fmt.Sprintf("a question is out in a batch of %s, and is not paid for twice: wait with --batch or [schedule] batch, "+
		"or find the batch by `reverie batches list` and end it by `reverie batches cancel`", e.Model)
}

// Is makes errors.Is(err, reverie.ErrDeferred) true.
func (e *PendingError) Is(target error) bool { return target == reverie.ErrDeferred }

// IsPending reports whether an error says that a question waits for a batch.
func IsPending(err error) bool { return errors.As(err, new(*PendingError)) }

// Batcher returns the model's batcher; nil if its provider has no batches.
func (m *Model) Batcher() Batcher { return m.account.Batcher }

// BatchCost returns the cost of a call in a batch, in USD.
func (m *Model) BatchCost(u Usage) float64 {
	price, _ := priceOf(m.account.Prices, m.account.Model, TierBatch)
	return price.Cost(u)
}

// queued answers a question from the queue.
func (m *Model) queued(ctx context.Context, q Queue, meta Meta, req Request) (Response, error) {
	asked, err := q.Put(ctx, m, meta, req)
	switch {
	case err != nil:
		return Response{}, err
	case asked.Response != nil:
		return *asked.Response, nil
	case asked.Fault != "":
		return Response{}, &Error{Provider: m.account.Provider, Fault: asked.Fault, Err: errors.New("in a batch")}
	case !asked.Direct:
		return Response{}, &PendingError{Model: m.Name()}
	}
	resp, err := m.generate(ctx, meta, req)
	if err == nil && asked.ID != "" {
		err = q.Keep(ctx, meta, asked.ID, resp)
	}
	return resp, err
}

// Receive converts a batch's answer to a question of that many tokens. It returns what [Model.Generate] would
// return, and the row of the call, which is not written yet.
func (m *Model) Receive(meta Meta, tokens int, a BatchAnswer, sent time.Time) (Response, reverie.Call) {
	resp, outcome := a.Response, faultOf(a.Err)
	if a.Err == nil {
		resp.Text, outcome = storable(resp.Text), outcomeOf(resp.Finish)
		if resp.Usage == (Usage{}) {
			resp.Usage = Usage{InputTokens: tokens, OutputTokens: text.EstimateTokens(resp.Text)}
		}
		resp.Text = masked(resp.Text, m.account.Privacy)
	}
	now := m.account.Now()
	return resp, m.account.row(meta, cmp.Or(resp.Tier, TierBatch), resp.Usage, outcome, now.Sub(sent), now)
}

// row returns the row of a call.
func (a *Account) row(meta Meta, tier Tier, usage Usage, outcome string, took time.Duration, at time.Time) reverie.Call {
	usage = usage.clamped()
	price, _ := priceOf(a.Prices, a.Model, tier)
	return reverie.Call{GroupID: meta.GroupID, RunID: meta.RunID, ID: reverie.NewID(), Purpose: meta.Purpose,
		Provider: a.Provider, Model: a.Model, InputTokens: usage.InputTokens, OutputTokens: usage.OutputTokens,
		CachedTokens: usage.CachedTokens, Tier: string(tier), CostUSD: price.Cost(usage), Latency: took, Outcome: outcome,
		CreatedAt: at.UTC()}
}

// Reserve counts a question and its answer, in tokens, as running in a batch, or says which limit of the budget is
// spent.
func (m *Model) Reserve(ctx context.Context, tokens, answer int) (*Reservation, error) {
	r := m.reservation(ctx, tokens, answer)
	if err := r.budget.begin(ctx, r.estimate); err != nil {
		return nil, fmt.Errorf("no further question is handed in: %w", err)
	}
	r.budget.batched(r.estimate, 1)
	return r, nil
}

// Hold is [Model.Reserve] for a question that is already running, even if a limit is spent.
func (m *Model) Hold(ctx context.Context, tokens, answer int) (*Reservation, error) {
	r := m.reservation(ctx, tokens, answer)
	r.budget.hold(r.estimate)
	r.budget.batched(r.estimate, 1)
	return r, nil
}

func (m *Model) reservation(ctx context.Context, tokens, answer int) *Reservation {
	b := budgetOf(ctx)
	if m.account.Free {
		b = nil
	}
	return &Reservation{budget: b,
		estimate: InBatches(m.account.Prices, m.Name(), 1, Usage{InputTokens: tokens, OutputTokens: answer})}
}

// InBatches estimates the spend of questions of "provider/model" that are running in batches.
func InBatches(prices map[string]Price, model string, questions int, u Usage) reverie.Spend {
	_, name, _ := strings.Cut(model, "/")
	price, _ := priceOf(prices, name, TierBatch)
	return reverie.Spend{Calls: questions, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostUSD: price.Cost(u)}
}

// BudgetSpent returns the [*reverie.BudgetError] if the context's budget is spent, without counting running calls;
// nil otherwise.
func BudgetSpent(ctx context.Context) error {
	b := budgetOf(ctx)
	if b == nil {
		return nil
	}
	if err := b.run.over(); err != nil || b.day.unbounded() {
		return err
	}
	if err := b.day.refresh(ctx); err != nil {
		return err
	}
	return b.day.tally.over()
}

// over is [tally.begin] for what is spent alone, and starts no call.
func (t *tally) over() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exceeded(reverie.Spend{})
}
