package llm

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func TestRowOfACall(t *testing.T) {
	at := time.Date(2026, 1, 15, 20, 0, 0, 0, time.FixedZone("", 8*3600))
	now := at
	gen := generatorFunc(func(context.Context, Request) (Response, error) {
		now = now.Add(1500 * time.Millisecond)
		return Response{Text: "x", Finish: FinishStop, Usage: Usage{InputTokens: 2000, OutputTokens: 100}}, nil
	})
	ledger, run := &rows{}, "run-1"
	m := NewModel(gen, Account{Provider: "p", Model: "vendor/m", Ledger: ledger, Prices: map[string]Price{"m": {Input: 0.30, Output: 2.50}},
		Now: func() time.Time { return now }})
	if _, err := m.Generate(t.Context(), Meta{GroupID: "g", RunID: &run, Purpose: "evolve"}, Request{User: "u"}); err != nil {
		t.Fatal(err)
	}
	want := reverie.Call{GroupID: "g", RunID: &run, Purpose: "evolve", Provider: "p", Model: "vendor/m", InputTokens: 2000,
		OutputTokens: 100, Tier: "standard", CostUSD: 0.00085, Latency: 1500 * time.Millisecond, Outcome: "ok", CreatedAt: at.UTC()}
	got := ledger.calls[0]
	if !reverie.IsID(got.ID) || math.Abs(got.CostUSD-want.CostUSD) > 1e-12 {
		t.Errorf("id %q, cost %g", got.ID, got.CostUSD)
	}
	got.ID, got.CostUSD = "", want.CostUSD
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !m.Priced() || m.Name() != "p/vendor/m" {
		t.Errorf("name %q, priced %t", m.Name(), m.Priced())
	}
}

func TestOutcomes(t *testing.T) {
	for finish, want := range map[Finish]string{FinishStop: "ok", FinishLength: "truncated", FinishRefused: "refused", FinishOther: "other"} {
		m, _, ledger := newScripted(PolicyOptions{}, step{resp: Response{Finish: finish}})
		resp, err := m.Generate(t.Context(), meta, Request{User: "u"})
		if err != nil || resp.Finish != finish || ledger.outcomes() != want {
			t.Errorf("%s: outcome %q, %+v, %v", finish, ledger.outcomes(), resp, err)
		}
	}
}

func TestUsageThatIsNotReportedIsEstimated(t *testing.T) {
	m, _, ledger := newScripted(PolicyOptions{}, step{resp: Response{Text: "twelve words, more or less, and none of them was counted", Finish: FinishStop}})
	if _, err := m.Generate(t.Context(), meta, Request{System: "Keep a memory.", User: "你好，世界"}); err != nil {
		t.Fatal(err)
	}
	if c := ledger.calls[0]; c.InputTokens < 5 || c.OutputTokens < 8 || c.CostUSD <= 0 {
		t.Errorf("row is %+v", c)
	}
}

func TestAbsurdUsageFitsARow(t *testing.T) {
	m, _, ledger := newScripted(PolicyOptions{}, step{resp: Response{Text: "x", Finish: FinishStop, Usage: Usage{InputTokens: -5, OutputTokens: math.MaxInt}}})
	if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil {
		t.Fatal(err)
	}
	if c := ledger.calls[0]; c.InputTokens != 0 || c.OutputTokens != math.MaxInt32 {
		t.Errorf("row is %+v", c)
	}
}

func TestAnswersCanBeStored(t *testing.T) {
	m, _, _ := newScripted(PolicyOptions{}, step{resp: Response{Text: "a\x00b\xffc", Finish: FinishStop}})
	resp, err := m.Generate(t.Context(), meta, Request{User: "u"})
	if err != nil || resp.Text != "a\uFFFDb\uFFFDc" {
		t.Errorf("text %q, %v", resp.Text, err)
	}
}

func TestSpendMustBeSeen(t *testing.T) {
	broken := errors.New("no space left")
	t.Run("after an answer", func(t *testing.T) {
		m, gen, ledger := newScripted(PolicyOptions{})
		ledger.err = broken
		resp, err := m.Generate(t.Context(), meta, Request{User: "u"})
		var e *LedgerError
		if !errors.As(err, &e) || !errors.Is(err, broken) || errors.Is(err, reverie.ErrDeferred) || len(gen.asked) != 1 {
			t.Errorf("asked %d times, error %v", len(gen.asked), err)
		}
		if resp.Text != "ok" || !strings.Contains(err.Error(), "10 + 5 tokens") {
			t.Errorf("the answer %q or its cost is lost: %v", resp.Text, err)
		}
	})
	t.Run("after a failure", func(t *testing.T) {
		m, gen, ledger := newScripted(PolicyOptions{}, fails(FaultServer))
		ledger.err = broken
		_, err := m.Generate(t.Context(), meta, Request{User: "u"})
		if !errors.Is(err, broken) || !errors.Is(err, reverie.ErrDeferred) || len(gen.asked) != 1 {
			t.Errorf("asked %d times, error %v", len(gen.asked), err)
		}
	})
	t.Run("after a fault that is got round", func(t *testing.T) {
		m, _, ledger := newScripted(PolicyOptions{}, fails(FaultTooLarge), fails(FaultTooLarge))
		_, seen := m.Generate(t.Context(), meta, Request{User: "u"})
		ledger.err = broken
		_, unseen := m.Generate(t.Context(), meta, Request{User: "u"})
		if FaultIn(seen) != FaultTooLarge || FaultIn(unseen) != "" || !errors.Is(unseen, broken) || FaultIn(nil) != "" {
			t.Errorf("%v is %q, %v is %q", seen, FaultIn(seen), unseen, FaultIn(unseen))
		}
	})
}

func TestForeignErrorsAreFaults(t *testing.T) {
	m, gen, ledger := newScripted(PolicyOptions{}, step{err: errors.New("odd")})
	_, err := m.Generate(t.Context(), meta, Request{User: "u"})
	var e *Error
	if !errors.As(err, &e) || e.Fault != FaultBadRequest || len(gen.asked) != 1 || ledger.outcomes() != "bad_request" {
		t.Errorf("rows %q, error %v", ledger.outcomes(), err)
	}
}
