package llm

import (
	"context"
	"errors"
	"strings"

	"reverie/internal/fault"
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
	_, ok := priceOf(m.account.Prices, m.account.Model)
	return ok
}

// Cost is what a call would cost, in USD; 0 where the price is not known.
func (m *Model) Cost(u Usage) float64 {
	price, _ := priceOf(m.account.Prices, m.account.Model)
	return price.Cost(u)
}

// Generate asks the model, again if a passing fault comes between, and returns
// its answer, whole or not: see [Response.Finish]. The text is valid UTF-8
// without NUL, secrets and, unless [Account.Privacy] allows it, personal data are masked
// in it; where that changed something, only the JSON objects of the text are left.
//
// Its errors are an [*Error], a [*BreakerError] (both tell [reverie.ErrDeferred]
// and [reverie.ErrConfiguration]), a [*reverie.BudgetError] or what kept the
// budget from being looked at, the context's, or a [*LedgerError]; beside the
// last one stands the answer that was paid for, if there is one.
func (m *Model) Generate(ctx context.Context, meta Meta, req Request) (Response, error) {
	asked := text.EstimateTokens(req.System) + text.EstimateTokens(req.User)
	var resp Response
	err := m.account.ask(ctx, meta, asked, req.MaxTokens, func(ctx context.Context) (Usage, string, error) {
		var err error
		fault.Reach(meta.Purpose, fault.Asked)
		if resp, err = m.generator.Generate(ctx, req); err != nil {
			resp = Response{}
			return Usage{}, "", err
		}
		fault.Reach(meta.Purpose, fault.Answered)
		if fault.Off(fault.Finish) {
			resp.Finish = FinishStop
		}
		resp.Text = storable(resp.Text)
		if resp.Usage == (Usage{}) { // servers need not report it, and it is not free for that
			resp.Usage = Usage{InputTokens: asked, OutputTokens: text.EstimateTokens(resp.Text)}
		}
		return resp.Usage, outcomeOf(resp.Finish), nil
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
