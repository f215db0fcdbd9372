package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// bill records a call.
func (w *world) bill(id, runID string, c reverie.Call) {
	w.t.Helper()
	if c.GroupID = id; runID != "" {
		c.RunID = &runID
	}
	check(w.t, w.RecordCall(w.t.Context(), c))
}

func TestSpend(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.ensure("g2")
	first := w.chunk("", 1, nil)
	w.now = noon.Add(time.Minute)
	run := w.chunk("", 1, nil)
	midnight := time.Date(2026, 1, 16, 0, 0, 0, 0, time.UTC)
	w.bill(group, first, reverie.Call{Outcome: "ok", InputTokens: 1, OutputTokens: 2, CostUSD: 0.5, CreatedAt: midnight.Add(-time.Microsecond)})
	w.bill(group, run, reverie.Call{Outcome: "ok", InputTokens: 10, OutputTokens: 20, CostUSD: 0.25, CreatedAt: midnight})
	w.bill(group, run, reverie.Call{Outcome: "server_error", InputTokens: 100, CreatedAt: midnight.Add(time.Hour)})
	w.bill("g2", run, reverie.Call{Outcome: "ok", OutputTokens: 7, CostUSD: 0.125, CreatedAt: midnight.Add(time.Hour)}) // an id is no group's own
	w.bill("g2", "", reverie.Call{Outcome: "ok", InputTokens: 1000, CostUSD: 1, CreatedAt: midnight.Add(2 * time.Hour)})
	if last := must(w.LastAsked(ctx, "evolve"))(t); last != "" {
		t.Errorf("evolve asked last about %q", last)
	}
	w.bill("g2", "", reverie.Call{Purpose: "evolve", Outcome: "ok", Provider: "offline", InputTokens: 5000, CreatedAt: midnight.Add(2 * time.Hour)}) // free
	w.bill(group, "", reverie.Call{Purpose: "embed", Outcome: "ok", Provider: "offline", InputTokens: 5000, CreatedAt: midnight.Add(3 * time.Hour)})
	if last := must(w.LastAsked(ctx, "evolve"))(t); last != "g2" {
		t.Errorf("evolve asked last about %q, want g2", last)
	}

	for since, want := range map[time.Time]reverie.Spend{
		{}:                        {Calls: 5, InputTokens: 1111, OutputTokens: 29, CostUSD: 1.875},
		midnight:                  {Calls: 4, InputTokens: 1110, OutputTokens: 27, CostUSD: 1.375},
		midnight.Add(time.Hour):   {Calls: 3, InputTokens: 1100, OutputTokens: 7, CostUSD: 1.125},
		midnight.AddDate(0, 0, 1): {},
		midnight.Add(90 * time.Minute).In(time.FixedZone("", 12600)): {Calls: 1, InputTokens: 1000, CostUSD: 1},
	} {
		if got := must(w.SpendSince(ctx, since))(t); got != want {
			t.Errorf("since %s: %+v, want %+v", since, got, want)
		}
	}

	want := []reverie.Spend{{Calls: 2, InputTokens: 110, OutputTokens: 20, CostUSD: 0.25}, {Calls: 1, InputTokens: 1, OutputTokens: 2, CostUSD: 0.5}}
	list := must(w.Runs(ctx, reverie.RunQuery{GroupID: group}))(t)
	var got []reverie.Spend
	for _, e := range list {
		got = append(got, e.Spend)
		d := must(w.Run(ctx, group, e.ID))(t)
		if diff := cmp.Diff(e.Run, d.Run); diff != "" || d.Spend != e.Spend {
			t.Errorf("in detail it spent %+v, in the list %+v; the run (-list +detail):\n%s", d.Spend, e.Spend, diff)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs, newest first (-want +got):\n%s", diff)
	}
	w.now = noon.Add(2 * time.Minute)
	w.chunk("", 1, nil)
	if list := must(w.Runs(ctx, reverie.RunQuery{Limit: 1}))(t); len(list) != 1 || list[0].Spend != (reverie.Spend{}) {
		t.Errorf("a run without calls: %+v", list)
	}
}

func TestMeanOutput(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if tokens, calls, err := w.MeanOutput(ctx, "evolve", "m"); tokens != 0 || calls != 0 || err != nil {
		t.Errorf("of no calls: %v, %d, %v", tokens, calls, err)
	}
	answer := func(purpose, model, outcome string, tokens int, at time.Time) {
		w.bill(group, "", reverie.Call{Purpose: purpose, Model: model, Outcome: outcome, OutputTokens: tokens, CreatedAt: at})
	}
	for i := range 5 { // older than the 200 that count
		answer("evolve", "m", "ok", 1_000_000, noon.Add(-time.Duration(i+1)*time.Hour))
	}
	for i := range 200 {
		answer("evolve", "m", "ok", 10+i%2, noon.Add(time.Duration(i)*time.Minute))
	}
	answer("embed", "m", "ok", 1_000_000, noon.Add(time.Hour))
	answer("evolve", "n", "ok", 7, noon.Add(time.Hour))
	answer("evolve", "m", "truncated", 1_000_000, noon.Add(time.Hour))
	if tokens, calls, err := w.MeanOutput(ctx, "evolve", "m"); tokens != 10.5 || calls != 200 || err != nil {
		t.Errorf("%v over %d calls, %v; want 10.5 over 200", tokens, calls, err)
	}
	if tokens, calls, err := w.MeanOutput(ctx, "evolve", "n"); tokens != 7 || calls != 1 || err != nil {
		t.Errorf("%v over %d calls, %v; want 7 over 1", tokens, calls, err)
	}
}
