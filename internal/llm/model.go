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

// Model calls one model, with retries, limits and a row for every attempt. It is safe for concurrent use.
type Model struct {
	generator Generator
	account   Account
}

// NewModel returns a model that calls gen.
func NewModel(gen Generator, account Account) *Model {
	return &Model{generator: gen, account: account.withDefaults()}
}

// Name is "provider/model".
func (m *Model) Name() string { return m.account.Provider + "/" + m.account.Model }

// Priced reports whether the model's price is known; otherwise its calls cost 0.
func (m *Model) Priced() bool {
	_, ok := priceOf(m.account.Prices, m.account.Model, TierStandard)
	return ok
}

// Cost returns the cost of a call, in USD; 0 if the price is unknown.
func (m *Model) Cost(u Usage) float64 {
	price, _ := priceOf(m.account.Prices, m.account.Model, m.account.Tier)
	return price.Cost(u)
}

// Generate calls the model, with retries after transient faults, and returns its answer, complete or not: see
// [Response.Finish]. The text is valid UTF-8 without NUL. Secrets in it are masked, and personal data unless
// [Account.Privacy] allows it. If anything was masked, only the JSON objects of the text are left.
//
// Its errors are an [*Error], a [*BreakerError], a [*PendingError], a [*reverie.BudgetError], the reason why the
// budget could not be read, the context's, or a [*LedgerError]. The first two map to [reverie.ErrDeferred] and
// [reverie.ErrConfiguration]. With a [*LedgerError], Generate also returns the answer that was paid for, if there
// is one.
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
		if resp.Usage == (Usage{}) { // some servers report no usage, but the call still costs something
			resp.Usage = Usage{InputTokens: asked, OutputTokens: text.EstimateTokens(resp.Text)}
		}
		return reply{resp.Usage, outcomeOf(resp.Finish), resp.Tier}, nil
	})
	if ledger := (*LedgerError)(nil); err != nil && !errors.As(err, &ledger) {
		return Response{}, err
	}
	resp.Text = masked(resp.Text, m.account.Privacy) // after the semaphore's place is free for others
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

// storable replaces what PostgreSQL cannot store in a text.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Meta says for which group, run and purpose a call is made.
type Meta struct {
	GroupID string
	RunID   *string // nil for a dry run or a search
	Purpose string  // evolve, embed, ...
	Tier    Tier    // "" is the account's
	Nth     int     // numbers the identical questions of the same purpose
	// Continued says that the run began before: its questions may be in batches.
	Continued bool
}

// Ledger stores the row of each call.
type Ledger interface {
	RecordCall(ctx context.Context, call reverie.Call) error
}

// Account says which model is called, with which policy, at what price, and where its calls are recorded.
type Account struct {
	Provider string
	Model    string
	Tier     Tier             // "" is TierStandard
	Prices   map[string]Price // by model; a missing one costs nothing
	Policy   *Policy          // nil: the defaults of NewPolicy; the models of one server should share one
	Timeout  time.Duration    // of one attempt; 0: none
	Flex     *Flex            // how TierFlex is called; nil: like TierStandard
	OffPeak  *OffPeak         // when TierStandard has another price; nil: never
	Batcher  Batcher          // submits batches; nil: the provider has none
	Asked    Queue            // answers that batches have for a run that continues without batches; nil: none
	Calls    *Semaphore       // nil: no limit of concurrent calls
	Free     bool             // its calls cost nothing: they are recorded, and no budget bounds them
	Ledger   Ledger           // nil: calls are not recorded
	Now      func() time.Time // nil: time.Now
	Privacy  safety.Privacy   // what answers may contain
}

// recordTimeout bounds the writing of a call's row, which continues after the caller has given up.
const recordTimeout = 5 * time.Second

// The outcomes of answered calls; a failed call has its Fault as outcome.
const (
	outcomeOK        = "ok"
	outcomeTruncated = "truncated"
	outcomeRefused   = "refused"
	outcomeOther     = "other"
)

// withDefaults fills in optional fields.
func (a Account) withDefaults() Account {
	if a.Policy == nil {
		a.Policy = NewPolicy(PolicyOptions{})
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	return a
}

// Flex configures calls that may take an hour.
type Flex struct {
	Policy  *Policy       // one with [PolicyOptions.Patience]
	Timeout time.Duration // of one attempt; 0: none
}

// FlexAt sends flex questions to an address of their own, which does not know tiers.
type FlexAt struct {
	Generator           // for all other questions
	Flex      Generator // for flex questions
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

// reply is the result of a call: its usage, the outcome for its row, and the tier that the provider reports, "" if
// none.
type reply struct {
	usage   Usage
	outcome string
	tier    Tier
}

// caller makes one call in a tier.
type caller func(context.Context, Tier) (reply, error)

// ask makes a call under the account's policy and the context's budget, with retries after transient faults. input
// is the expected number of tokens; output is the maximum. If the flex tier has no capacity for longer than its
// patience, the standard tier is used.
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

// askIn calls in one tier.
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
	if a.Calls != nil { // embedding an answer does not count as a further question
		var end func()
		wait, end = slotOf(ctx).untilStopped(ctx)
		defer end()
	}
	// Providers count the answer's maximum against the tokens per minute until the answer is complete, and so does the
	// limiter.
	return policy.do(ctx, wait, a.Provider, input+output,
		func() (*Reservation, error) { return a.begin(ctx, budget, estimate) },
		func(ctx context.Context, r *Reservation) (Usage, error) {
			return a.attempt(ctx, meta, tier, timeout, r, call)
		})
}

// attempt makes one call within its timeout, and writes its row.
func (a *Account) attempt(ctx context.Context, meta Meta, tier Tier, timeout time.Duration, r *Reservation,
	call caller) (Usage, error) {
	callCtx, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		callCtx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	start := a.Now()
	answer, err := call(callCtx, tier)
	outcome := answer.outcome
	if r.budget == nil { // otherwise the next question waits until the remaining budget is known
		r.leave()
	}
	if err != nil {
		err = a.explain(ctx, err)
		outcome = faultOf(err)
	}
	usage := answer.usage.clamped()
	if tier == TierFlex { // a provider may answer, and bill, it as a standard call
		tier = cmp.Or(answer.tier, tier)
	}
	row := a.row(meta, tier, usage, outcome, a.Now().Sub(start), start)
	var kept *KeptCall
	keep, keeps := ctx.Value(keepKey{}).(func(*KeptCall))
	if keeps {
		ctx = reverie.KeepingCalls(ctx, func(c reverie.Call) { kept = &KeptCall{c, r.budget} })
	}
	r.Settle(row, func() bool {
		err = a.record(ctx, row, err)
		unwritten := (*LedgerError)(nil)
		return a.Ledger != nil && kept == nil && !errors.As(err, &unwritten)
	})
	if kept != nil {
		keep(kept)
	}
	return usage, err
}

// KeptCall is the unwritten row of an answered call, for the function that stores the answer: see [KeepCalls].
type KeptCall struct {
	Call   reverie.Call
	budget *Budget
}

type keepKey struct{}

// KeepCalls returns a context in which the row of an answered call is passed to keep. keep must write it with the
// answer, or by itself if the answer cannot be stored.
func KeepCalls(ctx context.Context, keep func(*KeptCall)) context.Context {
	return context.WithValue(ctx, keepKey{}, keep)
}

// Write writes the row, once, and settles the budget.
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

// explain distinguishes the end of the caller's context from the attempt's timeout, which look alike to an adapter.
// A caller that cancels is no fault of the provider.
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

// record writes the row and returns the call's own error, or a [LedgerError] if the row could not be written.
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

// LedgerError says that a call was made, and perhaps paid for, but its row could not be written. No further attempt
// is made, since spend must be visible.
type LedgerError struct {
	Call    reverie.Call
	Err     error // the ledger's error
	CallErr error // the call's error, nil if it was answered
}

func (e *LedgerError) Error() string {
	what := fmt.Sprintf("%s/%s answered (%s, %d + %d tokens, %.6f USD)", e.Call.Provider, e.Call.Model,
		e.Call.Outcome, e.Call.InputTokens, e.Call.OutputTokens, e.Call.CostUSD)
	if e.CallErr != nil {
		what = e.CallErr.Error()
	}
	return fmt.Sprintf("%s, and the call could not be recorded: %v; check the database before asking again", what, e.Err)
}

// Unwrap returns both causes.
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

// maxTokens is what fits into a row; a server may report any number.
const maxTokens = 1<<31 - 1

func (u Usage) clamped() Usage {
	u.InputTokens = min(max(u.InputTokens, 0), maxTokens)
	u.OutputTokens = min(max(u.OutputTokens, 0), maxTokens)
	u.CachedTokens = min(max(u.CachedTokens, 0), u.InputTokens)
	return u
}

// EndsRun reports whether an error ends a run even if the run could do without the result, as often with vectors.
// It does for a spent budget, which a later run has again, and for spend that could not be recorded.
func EndsRun(err error) bool {
	return errors.As(err, new(*reverie.BudgetError)) || errors.As(err, new(*LedgerError))
}

// Journal stores the answers of a run under the hash of their question.
type Journal interface {
	// Answers returns the stored answers of a run, by hash of the question.
	Answers(ctx context.Context, groupID, runID, purpose string) (map[string]string, error)
	SaveAnswer(ctx context.Context, lease reverie.Lease, a reverie.Answer) error
}

// Asker calls one model for one run, and never asks a question twice. It stores an answer before it returns it, and
// returns the stored one when the run resumes. It is for one goroutine.
type Asker struct {
	Model interface {
		Generate(ctx context.Context, meta Meta, req Request) (Response, error)
		Name() string
	}
	Journal Journal              // nil: nothing is stored
	Lease   func() reverie.Lease // nil for a dry run: nothing is stored
	Meta    Meta                 // RunID nil: nothing is stored

	kept  map[string]string // nil: not read yet
	asked map[string]int    // number of times, by hash of the question
}

// Ask answers a request. Only complete answers ([FinishStop]) are stored; fresh says that the model was called now.
// Its errors are those of [Model.Generate] and of the journal.
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

// read loads the stored answers of the run.
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

// InputSHA256 identifies a question by model, system and user text.
func InputSHA256(model, system, user string) string {
	h := sha256.New()
	for _, part := range []string{model, system, user} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
