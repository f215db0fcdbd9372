package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// Meta says for whom and for what a call is made.
type Meta struct {
	GroupID string
	RunID   *string // nil for a dry run or a search
	Purpose string  // evolve, embed, ...
}

// Ledger keeps the row of each call.
type Ledger interface {
	RecordCall(ctx context.Context, call reverie.Call) error
}

// Account says which model is called, by which rules, at what price, and where
// its calls are written down.
type Account struct {
	Provider string
	Model    string
	Prices   map[string]Price // by model; one that is missing costs nothing
	Policy   *Policy          // nil: NewPolicy's defaults; share one between the models of one server
	Timeout  time.Duration    // of one attempt; 0: none
	Calls    *Semaphore       // nil: any number of calls at a time
	Free     bool             // nobody is paid for its calls: they are written down, and no budget bounds them
	Ledger   Ledger           // nil: calls are not written down
	Now      func() time.Time // nil: time.Now
	Privacy  safety.Privacy   // what its answers may hold
}

// recordTimeout bounds the writing of a call's row, which goes on after the
// caller has given up.
const recordTimeout = 5 * time.Second

// The outcomes of calls that got an answer; a failed one has its Fault.
const (
	outcomeOK        = "ok"
	outcomeTruncated = "truncated"
	outcomeRefused   = "refused"
	outcomeOther     = "other"
)

// withDefaults fills in what may be left out.
func (a Account) withDefaults() Account {
	if a.Policy == nil {
		a.Policy = NewPolicy(PolicyOptions{})
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	return a
}

// ask makes call by the account's policy, again after passing faults, within the
// context's budget. input and output are the tokens that it is expected to read,
// and to write at most.
func (a *Account) ask(ctx context.Context, meta Meta, input, output int,
	call func(context.Context) (Usage, string, error)) error {
	defer slotOf(ctx).ask(ctx)()
	price, _ := priceOf(a.Prices, a.Model)
	estimate := reverie.Spend{InputTokens: input, CostUSD: price.Cost(Usage{InputTokens: input})}
	budget := budgetOf(ctx)
	if a.Free {
		budget = nil
	}
	wait := ctx
	if a.Calls != nil { // vectors of what was answered are no further question
		var end func()
		wait, end = slotOf(ctx).untilStopped(ctx)
		defer end()
	}
	// Providers count the answer's limit against the tokens a minute until the
	// answer is there, and so does the limiter.
	return a.Policy.do(ctx, wait, a.Provider, input+output,
		func() (*turn, error) { return a.begin(ctx, budget, estimate) },
		func(ctx context.Context, t *turn) (Usage, error) { return a.attempt(ctx, meta, t, call) })
}

// attempt makes one call, within the time that one may take, and writes its
// row. The call returns its usage and outcome, or an error.
func (a *Account) attempt(ctx context.Context, meta Meta, t *turn,
	call func(context.Context) (Usage, string, error)) (Usage, error) {
	callCtx, cancel := ctx, context.CancelFunc(func() {})
	if a.Timeout > 0 {
		callCtx, cancel = context.WithTimeout(ctx, a.Timeout)
	}
	defer cancel()
	start := a.Now()
	usage, outcome, err := call(callCtx)
	if t.hold == nil { // else the next question is asked when it is known what is left to spend
		t.leave()
	}
	if err != nil {
		err = a.explain(ctx, err)
		outcome = faultOf(err)
	}
	usage = usage.clamped()
	price, _ := priceOf(a.Prices, a.Model)
	row := reverie.Call{
		GroupID: meta.GroupID, RunID: meta.RunID, ID: reverie.NewID(), Purpose: meta.Purpose,
		Provider: a.Provider, Model: a.Model,
		InputTokens: usage.InputTokens, OutputTokens: usage.OutputTokens, CostUSD: price.Cost(usage),
		Latency: a.Now().Sub(start), Outcome: outcome, CreatedAt: start.UTC(),
	}
	t.hold.settle(row, func() bool {
		err = a.record(ctx, row, err)
		unwritten := (*LedgerError)(nil)
		return a.Ledger != nil && !errors.As(err, &unwritten)
	})
	return usage, err
}

// explain tells the caller's own end from the end of the attempt, which an
// adapter sees as one: a caller that was cancelled is no fault of the provider.
func (a *Account) explain(ctx context.Context, err error) error {
	var e *Error
	if !errors.As(err, &e) { // an adapter's own error, such as a request that cannot be built
		e = &Error{Provider: a.Provider, Fault: FaultBadRequest, Err: err}
		err = e
	}
	if ctx.Err() != nil {
		return &Error{Provider: a.Provider, Fault: FaultCanceled, Embedding: e.Embedding, Err: context.Cause(ctx)}
	}
	return err
}

// record writes the row and returns the call's own error, or a [LedgerError] if
// the row could not be written.
func (a *Account) record(ctx context.Context, row reverie.Call, callErr error) error {
	if a.Ledger == nil {
		return callErr
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := a.Ledger.RecordCall(ctx, row); err != nil {
		return &LedgerError{Call: row, Err: err, CallErr: callErr}
	}
	return callErr
}

// LedgerError says that a call was made, and perhaps paid for, but could not be
// written down. No further attempt is made: spend must be seen.
type LedgerError struct {
	Call    reverie.Call
	Err     error // of the ledger
	CallErr error // of the call, nil if it was answered
}

func (e *LedgerError) Error() string {
	what := fmt.Sprintf("%s/%s answered (%s, %d + %d tokens, %.6f USD)", e.Call.Provider, e.Call.Model,
		e.Call.Outcome, e.Call.InputTokens, e.Call.OutputTokens, e.Call.CostUSD)
	if e.CallErr != nil {
		what = e.CallErr.Error()
	}
	return fmt.Sprintf("%s, and the call could not be recorded: %v; check the database before asking again", what, e.Err)
}

// Unwrap gives both causes.
func (e *LedgerError) Unwrap() []error {
	if e.CallErr == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.CallErr}
}

func faultOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return string(e.Fault)
	}
	return string(FaultBadRequest)
}

// maxTokens is what fits a row; a server may report anything.
const maxTokens = 1<<31 - 1

func (u Usage) clamped() Usage {
	return Usage{InputTokens: min(max(u.InputTokens, 0), maxTokens), OutputTokens: min(max(u.OutputTokens, 0), maxTokens)}
}

// EndsRun tells whether an error ends a run also where what was asked for could be done
// without, as vectors often can: money that is spent, which a later run has again, and spend
// that is not written down, which must be seen.
func EndsRun(err error) bool {
	return errors.As(err, new(*reverie.BudgetError)) || errors.As(err, new(*LedgerError))
}
