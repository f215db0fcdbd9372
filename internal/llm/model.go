package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"reverie/internal/fault"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// Model asks one model, with retries, limits and a row for every attempt. It is
// safe for concurrent use.
type Model struct {
	generator Generator
	account   Account
}

// NewModel returns a model that asks through gen.
func NewModel(gen Generator, account Account) *Model {
	return &Model{generator: gen, account: account.withDefaults()}
}

// Name is "provider/model".
func (m *Model) Name() string { return m.account.Provider + "/" + m.account.Model }

// Priced tells whether the model's price is known; otherwise its calls cost 0.
func (m *Model) Priced() bool {
	_, ok := priceOf(m.account.Prices, m.account.Model, TierStandard)
	return ok
}

// Cost is what a call would cost, in USD; 0 where the price is not known.
func (m *Model) Cost(u Usage) float64 {
	price, _ := priceOf(m.account.Prices, m.account.Model, m.account.Tier)
	return price.Cost(u)
}

// Generate asks the model, again if a passing fault comes between, and returns
// its answer, whole or not: see [Response.Finish]. The text is valid UTF-8
// without NUL, secrets and, unless [Account.Privacy] allows it, personal data are masked
// in it; where that changed something, only the JSON objects of the text are left.
//
// Its errors are an [*Error], a [*BreakerError] (both tell [reverie.ErrDeferred]
// and [reverie.ErrConfiguration]), a [*PendingError], a [*reverie.BudgetError] or what kept the
// budget from being looked at, the context's, or a [*LedgerError]; beside the
// last one stands the answer that was paid for, if there is one.
func (m *Model) Generate(ctx context.Context, meta Meta, req Request) (Response, error) {
	q, _ := ctx.Value(queueKey{}).(Queue)
	if q == nil && meta.Continued {
		q = m.account.Asked
	}
	if q != nil && m.account.Batcher != nil && meta.RunID != nil {
		return m.queued(ctx, q, meta, req)
	}
	return m.generate(ctx, meta, req)
}

func (m *Model) generate(ctx context.Context, meta Meta, req Request) (Response, error) {
	asked := text.EstimateTokens(req.System) + text.EstimateTokens(req.User)
	var resp Response
	err := m.account.ask(ctx, meta, asked, req.MaxTokens, func(ctx context.Context, tier Tier) (reply, error) {
		var err error
		fault.Reach(meta.Purpose, fault.Asked)
		req.Tier = tier
		if resp, err = m.generator.Generate(ctx, req); err != nil {
			resp = Response{}
			return reply{}, err
		}
		fault.Reach(meta.Purpose, fault.Answered)
		if fault.Off(fault.Finish) {
			resp.Finish = FinishStop
		}
		resp.Text = storable(resp.Text)
		if resp.Usage == (Usage{}) { // servers need not report it, and it is not free for that
			resp.Usage = Usage{InputTokens: asked, OutputTokens: text.EstimateTokens(resp.Text)}
		}
		return reply{resp.Usage, outcomeOf(resp.Finish), resp.Tier}, nil
	})
	if ledger := (*LedgerError)(nil); err != nil && !errors.As(err, &ledger) {
		return Response{}, err
	}
	resp.Text = masked(resp.Text, m.account.Privacy) // when its place is another's
	return resp, err
}

func outcomeOf(f Finish) string {
	switch f {
	case FinishStop:
		return outcomeOK
	case FinishLength:
		return outcomeTruncated
	case FinishRefused:
		return outcomeRefused
	default:
		return outcomeOther
	}
}

// storable replaces what PostgreSQL does not keep in a text.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Meta says for whom and for what a call is made.
type Meta struct {
	GroupID string
	RunID   *string // nil for a dry run or a search
	Purpose string  // evolve, embed, ...
	Tier    Tier    // "" is the account's
	Nth     int     // of the questions that are asked for the same, word for word alike
	// Continued tells that the run was begun before: its questions may be in batches.
	Continued bool
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
	Tier     Tier             // "" is TierStandard
	Prices   map[string]Price // by model; one that is missing costs nothing
	Policy   *Policy          // nil: NewPolicy's defaults; share one between the models of one server
	Timeout  time.Duration    // of one attempt; 0: none
	Flex     *Flex            // how TierFlex is asked; nil: like TierStandard
	OffPeak  *OffPeak         // when TierStandard has another price; nil: never
	Batcher  Batcher          // hands in questions; nil: the provider takes none
	Asked    Queue            // what batches have of a run that goes on without them; nil: nothing
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

// Flex is how a server is asked for answers that may take an hour.
type Flex struct {
	Policy  *Policy       // one with [PolicyOptions.Patience]
	Timeout time.Duration // of one attempt; 0: none
}

// FlexAt asks flex questions at an address that answers nothing else, and does not know tiers.
type FlexAt struct {
	Generator           // of all other questions
	Flex      Generator // of flex ones
}

// Generate implements [Generator].
func (f FlexAt) Generate(ctx context.Context, req Request) (Response, error) {
	if req.Tier != TierFlex {
		return f.Generator.Generate(ctx, req)
	}
	req.Tier = TierStandard
	resp, err := f.Flex.Generate(ctx, req)
	resp.Tier = TierFlex
	return resp, err
}

// reply is what a call has come to: what it used, how its row calls that, and the tier that
// the provider has answered in, "" where it does not say.
type reply struct {
	usage   Usage
	outcome string
	tier    Tier
}

// caller makes one call in a tier.
type caller func(context.Context, Tier) (reply, error)

// ask makes call by the account's policy, again after passing faults, within the
// context's budget. input and output are the tokens that it is expected to read,
// and to write at most. Where the flex tier has no capacity for longer than there is
// patience, the standard one is asked.
func (a *Account) ask(ctx context.Context, meta Meta, input, output int, call caller) error {
	defer slotOf(ctx).ask(ctx)()
	tier := cmp.Or(meta.Tier, a.Tier, TierStandard)
	if tier == TierFlex && a.Flex != nil {
		err := a.askIn(ctx, meta, TierFlex, input, output, call)
		if err == nil || passing(err) == nil || ctx.Err() != nil || slotOf(ctx).stopped() {
			return err
		}
		tier = TierStandard
	}
	return a.askIn(ctx, meta, tier, input, output, call)
}

// askIn asks in one tier.
func (a *Account) askIn(ctx context.Context, meta Meta, tier Tier, input, output int, call caller) error {
	if tier == TierStandard && a.OffPeak.Open(a.Now()) {
		tier = TierOffPeak
	}
	policy, timeout := a.Policy, a.Timeout
	if tier == TierFlex && a.Flex != nil {
		policy, timeout = a.Flex.Policy, a.Flex.Timeout
	}
	price, _ := priceOf(a.Prices, a.Model, tier)
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
	return policy.do(ctx, wait, a.Provider, input+output,
		func() (*reservation, error) { return a.begin(ctx, budget, estimate) },
		func(ctx context.Context, r *reservation) (Usage, error) {
			return a.attempt(ctx, meta, tier, timeout, r, call)
		})
}

// attempt makes one call, within the time that one may take, and writes its
// row.
func (a *Account) attempt(ctx context.Context, meta Meta, tier Tier, timeout time.Duration, r *reservation,
	call caller) (Usage, error) {
	callCtx, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		callCtx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	start := a.Now()
	answer, err := call(callCtx, tier)
	outcome := answer.outcome
	if r.budget == nil { // else the next question is asked when it is known what is left to spend
		r.leave()
	}
	if err != nil {
		err = a.explain(ctx, err)
		outcome = faultOf(err)
	}
	usage := answer.usage.clamped()
	if tier == TierFlex { // which a provider may answer, and bill, as a standard call
		tier = cmp.Or(answer.tier, tier)
	}
	row := a.row(meta, tier, usage, outcome, a.Now().Sub(start), start)
	var kept *KeptCall
	keep, keeps := ctx.Value(keepKey{}).(func(*KeptCall))
	if keeps {
		ctx = reverie.KeepingCalls(ctx, func(c reverie.Call) { kept = &KeptCall{c, r.budget} })
	}
	r.settle(row, func() bool {
		err = a.record(ctx, row, err)
		unwritten := (*LedgerError)(nil)
		return a.Ledger != nil && kept == nil && !errors.As(err, &unwritten)
	})
	if kept != nil {
		keep(kept)
	}
	return usage, err
}

// KeptCall is the row of a call that was answered, for whoever keeps the answer: see [KeepCalls].
type KeptCall struct {
	Call   reverie.Call
	budget *Budget
}

type keepKey struct{}

// KeepCalls returns a context in which the row of a call that was answered is handed to keep,
// who writes it with the answer, or by itself where that cannot be kept.
func KeepCalls(ctx context.Context, keep func(*KeptCall)) context.Context {
	return context.WithValue(ctx, keepKey{}, keep)
}

// Write has the row written, once, and the budget know.
func (k *KeptCall) Write(write func() error) error {
	if k.budget == nil || k.budget.day.unbounded() {
		return write()
	}
	d := k.budget.day
	d.writing.RLock()
	defer d.writing.RUnlock()
	err := write()
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := k.Call; err == nil && !c.CreatedAt.Before(d.since) {
		d.unwritten = d.unwritten.Plus(reverie.Spend{Calls: -1, InputTokens: -c.InputTokens, OutputTokens: -c.OutputTokens,
			CachedTokens: -c.CachedTokens, CostUSD: -c.CostUSD})
	}
	return err
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
	u.InputTokens = min(max(u.InputTokens, 0), maxTokens)
	u.OutputTokens = min(max(u.OutputTokens, 0), maxTokens)
	u.CachedTokens = min(max(u.CachedTokens, 0), u.InputTokens)
	return u
}

// EndsRun tells whether an error ends a run also where what was asked for could be done
// without, as vectors often can: money that is spent, which a later run has again, and spend
// that is not written down, which must be seen.
func EndsRun(err error) bool {
	return errors.As(err, new(*reverie.BudgetError)) || errors.As(err, new(*LedgerError))
}

// Journal keeps the answers of a run under the hash of their question.
type Journal interface {
	// Answers returns what is kept of a run, by hash of the question.
	Answers(ctx context.Context, groupID, runID, purpose string) (map[string]string, error)
	SaveAnswer(ctx context.Context, lease reverie.Lease, a reverie.Answer) error
}

// Asker asks one model on behalf of one run, and no question twice: an answer is
// kept before it is given, and given again when the run is continued. It serves
// one goroutine.
type Asker struct {
	Model interface {
		Generate(ctx context.Context, meta Meta, req Request) (Response, error)
		Name() string
	}
	Journal Journal              // nil: nothing is kept
	Lease   func() reverie.Lease // nil for a dry run: nothing is kept
	Meta    Meta                 // RunID nil: nothing is kept

	kept  map[string]string // nil: not read yet
	asked map[string]int    // how often, by hash of the question
}

// Ask answers a request. Only whole answers ([FinishStop]) are kept; fresh tells
// that the model was asked now. Its errors are those of [Model.Generate] and the
// journal's.
func (a *Asker) Ask(ctx context.Context, req Request) (resp Response, fresh bool, err error) {
	keeps := a.Journal != nil && a.Lease != nil && a.Meta.RunID != nil
	input := InputSHA256(a.Model.Name(), req.System, req.User)
	if keeps && a.kept == nil {
		if err := a.read(ctx); err != nil {
			return Response{}, false, err
		}
	}
	if text, ok := a.kept[input]; ok {
		return Response{Text: text, Finish: FinishStop}, false, nil
	}
	meta := a.Meta
	if meta.Nth = a.asked[input]; a.asked == nil {
		a.asked = map[string]int{}
	}
	a.asked[input]++
	if resp, err = a.Model.Generate(ctx, meta, req); err != nil || !keeps || resp.Finish != FinishStop {
		return resp, true, err
	}
	if fault.Off(fault.Answer) {
		return resp, true, nil
	}
	err = a.Journal.SaveAnswer(ctx, a.Lease(), reverie.Answer{GroupID: a.Meta.GroupID, RunID: *a.Meta.RunID,
		InputSHA256: input, Purpose: a.Meta.Purpose, Text: resp.Text})
	if err != nil {
		return Response{}, true, fmt.Errorf("keep an answer of run %s: %w", *a.Meta.RunID, err)
	}
	a.kept[input] = resp.Text
	return resp, true, nil
}

// read fetches what is kept of the run.
func (a *Asker) read(ctx context.Context) error {
	kept, err := a.Journal.Answers(ctx, a.Meta.GroupID, *a.Meta.RunID, a.Meta.Purpose)
	if err != nil {
		return fmt.Errorf("read the answers of run %s: %w", *a.Meta.RunID, err)
	}
	if a.kept = kept; kept == nil {
		a.kept = map[string]string{}
	}
	return nil
}

// InputSHA256 names a question: the model, what it is asked and what it is asked about.
func InputSHA256(model, system, user string) string {
	h := sha256.New()
	for _, part := range []string{model, system, user} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
