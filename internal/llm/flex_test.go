package llm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/reverie"
)

// tiered is a server with a flex tier, which takes its time or has no capacity.
type tiered struct {
	flex  func(since time.Duration) step // how it answers, by the time since the first question
	plain step
	begun time.Time
	asked []string // the tiers
}

func (s *tiered) Generate(ctx context.Context, req Request) (Response, error) {
	if s.begun.IsZero() {
		s.begun = time.Now()
	}
	s.asked = append(s.asked, string(req.Tier))
	st := s.plain
	if req.Tier == TierFlex {
		st = s.flex(time.Since(s.begun))
	}
	select {
	case <-time.After(st.takes):
	case <-ctx.Done():
		return Response{}, &Error{Provider: "p", Fault: FaultTimeout, Err: ctx.Err()}
	}
	return st.resp, st.err
}

func flexModel(s *tiered) (*Model, *rows) {
	ledger, policy := &rows{}, NewPolicy(PolicyOptions{})
	return NewModel(s, Account{Provider: "p", Model: "m", Policy: policy, Timeout: 2 * time.Minute, Ledger: ledger, Tier: TierFlex,
		Flex:   &Flex{Policy: policy.Patient(2 * time.Hour), Timeout: time.Hour},
		Prices: map[string]Price{"m": {Input: 1, Output: 2, Cached: 1}}}), ledger
}

var said = step{resp: Response{Text: "ok", Finish: FinishStop, Usage: Usage{InputTokens: 1_000_000, OutputTokens: 500_000}}}

func none() step { return fails(FaultRateLimited) }

func TestFlex(t *testing.T) {
	slow := said
	slow.takes = 20 * time.Minute
	never := said
	never.takes = 3 * time.Hour
	as := func(tier Tier) step { s := said; s.resp.Tier = tier; return s }
	for name, c := range map[string]struct {
		flex   func(time.Duration) step
		tiers  string // of the rows that were paid for
		cost   float64
		within time.Duration
	}{
		"at once":             {func(time.Duration) step { return said }, "flex", 1, time.Second},
		"after 20 minutes":    {func(time.Duration) step { return slow }, "flex", 1, 21 * time.Minute},
		"billed as standard":  {func(time.Duration) step { return as(TierStandard) }, "standard", 2, time.Second},
		"no answer in time":   {func(time.Duration) step { return never }, "standard", 2, time.Hour + time.Minute},
		"no capacity for 1 h": {func(since time.Duration) step { return map[bool]step{true: none(), false: said}[since < time.Hour] }, "flex", 1, 66 * time.Minute},
		"no capacity":         {func(time.Duration) step { return none() }, "standard", 2, 2*time.Hour + 6*time.Minute},
		"the server fails":    {func(time.Duration) step { return fails(FaultServer) }, "standard", 2, 11 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &tiered{flex: c.flex, plain: said}
			m, ledger := flexModel(s)
			begun := time.Now()
			if resp, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil || resp.Text != "ok" {
				t.Fatalf("%s: %+v, %v", name, resp, err)
			}
			var tiers []string
			cost := 0.0
			for _, row := range ledger.calls {
				if row.Outcome == outcomeOK {
					tiers = append(tiers, row.Tier)
				}
				cost += row.CostUSD
			}
			if took := time.Since(begun); strings.Join(tiers, " ") != c.tiers || cost != c.cost || took > c.within {
				t.Errorf("%s: paid %v, %g USD, after %s, asked %d times", name, tiers, cost, took, len(s.asked))
			}
		})
	}
}

// Who finds that flex has had no capacity for long does not wait as long again, and one
// answer is enough to trust it again.
func TestFlexPatienceIsOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		s := &tiered{plain: said, flex: func(time.Duration) step { return map[bool]step{true: none(), false: said}[down] }}
		m, _ := flexModel(s)
		ask := func() time.Duration {
			begun := time.Now()
			if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil {
				t.Fatal(err)
			}
			return time.Since(begun)
		}
		if first, second := ask(), ask(); first < 110*time.Minute || second > time.Second {
			t.Errorf("the first waited %s, the second %s", first, second)
		}
		down = false
		if again := ask(); again > time.Second || s.asked[len(s.asked)-1] != "flex" {
			t.Errorf("after %s asked %q", again, s.asked)
		}
		down = true
		if later := ask(); later < 110*time.Minute {
			t.Errorf("after an answer the patience was %s", later)
		}
		time.Sleep(20 * time.Hour) // and that of the night before says nothing
		if next := ask(); next < 110*time.Minute {
			t.Errorf("the night after, the patience was %s", next)
		}
	})
}

// A patience shorter than the pauses between two attempts ends, too.
func TestFlexWithLittlePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ledger := flexModel(&tiered{plain: said, flex: func(time.Duration) step { return none() }})
		m.account.Flex.Policy = m.account.Policy.Patient(time.Second)
		begun := time.Now()
		if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil || time.Since(begun) > 5*time.Second {
			t.Errorf("%v, after %s", err, time.Since(begun))
		}
		if last := ledger.calls[len(ledger.calls)-1]; last.Tier != "standard" {
			t.Errorf("%+v", last)
		}
	})
}

func TestFlexIsNotWaitedForByWhoIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tiered{plain: said, flex: func(time.Duration) step { return none() }}
		m, _ := flexModel(s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := m.Generate(ctx, meta, Request{User: "u"})
		if !errors.Is(err, context.DeadlineExceeded) || s.asked[len(s.asked)-1] != "flex" {
			t.Errorf("%v, asked %q", err, s.asked)
		}
		refused := &tiered{plain: said, flex: func(time.Duration) step { return fails(FaultBadRequest) }}
		m, _ = flexModel(refused)
		if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); FaultIn(err) != FaultBadRequest || len(refused.asked) != 1 {
			t.Errorf("a model without flex: %v, asked %q", err, refused.asked)
		}
	})
}

// only answers questions of no tier, as an address that is flex itself does.
type only struct{ asked []Tier }

func (o *only) Generate(_ context.Context, req Request) (Response, error) {
	o.asked = append(o.asked, req.Tier)
	return Response{Text: "ok", Finish: FinishStop}, nil
}

func TestFlexAt(t *testing.T) {
	plain, flex := &only{}, &only{}
	at := FlexAt{Generator: plain, Flex: flex}
	for _, tier := range []Tier{TierFlex, TierStandard} {
		resp, err := at.Generate(t.Context(), Request{Tier: tier})
		if err != nil || tier == TierFlex && resp.Tier != TierFlex {
			t.Errorf("%s: %+v, %v", tier, resp, err)
		}
	}
	if len(plain.asked) != 1 || len(flex.asked) != 1 || flex.asked[0] != TierStandard {
		t.Errorf("asked %v and %v", plain.asked, flex.asked)
	}
}

func TestOffPeak(t *testing.T) {
	day, err1 := ParseOffPeak("01:00-04:00 UTC")
	night, err2 := ParseOffPeak("22:30-08:30 Asia/Shanghai")
	none, err3 := ParseOffPeak("")
	if err := errors.Join(err1, err2, err3); err != nil || none.Open(time.Now()) {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hours  *OffPeak
		at     string
		open   bool
		change string
	}{
		{day, "2026-11-28T00:59:30Z", false, "2026-11-28T01:00:00Z"},
		{day, "2026-11-28T01:00:00Z", true, "2026-11-28T04:00:00Z"},
		{day, "2026-11-28T04:00:00Z", false, "2026-11-29T01:00:00Z"},
		{night, "2026-11-28T14:30:00Z", true, "2026-11-29T00:30:00Z"},
		{night, "2026-11-28T00:29:59Z", true, "2026-11-28T00:30:00Z"},
		{night, "2026-11-28T12:00:00Z", false, "2026-11-28T14:30:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.hours.Change(at).Format(time.RFC3339); c.hours.Open(at) != c.open || got != c.change {
			t.Errorf("%s at %s: open %t, changes %s", c.hours, c.at, c.hours.Open(at), got)
		}
	}
	for _, bad := range []string{"1-4", "01:00-04:00 Mars", "01:00", "25:00-26:00 UTC", "01:00-01:00 UTC", "01:00 - 04:00"} {
		if _, err := ParseOffPeak(bad); !errors.Is(err, reverie.ErrConfiguration) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseOffPeak("01:00-04:00"); err != nil {
		t.Errorf("without a zone it is UTC: %v", err)
	}
	m, ledger := flexModel(&tiered{plain: said})
	m.account.Tier, m.account.OffPeak = TierStandard, day
	m.account.Prices["m@off_peak"] = Price{Input: 0.25, Output: 0.5}
	m.account.Now = func() time.Time { return time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC) }
	if _, err := m.Generate(t.Context(), meta, Request{User: "u"}); err != nil || ledger.calls[0].Tier != "off_peak" || ledger.calls[0].CostUSD != 0.5 {
		t.Errorf("%v, %+v", err, ledger.calls)
	}
}
