package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

var at = time.Date(2026, 3, 8, 2, 17, 0, 500_000_000, time.UTC)

func newTestMetrics() *Metrics {
	return New("v1.2.3", func() time.Time { return at }, reverie.JobEvolve)
}

// ledger keeps calls in memory, or fails.
type ledger struct {
	calls []reverie.Call
	err   error
}

func (l *ledger) RecordCall(_ context.Context, c reverie.Call) error {
	l.calls = append(l.calls, c)
	return l.err
}

func call(outcome string) reverie.Call {
	return reverie.Call{GroupID: "book-club", Purpose: "evolve", Provider: "gemini", Model: "gemini-2.5-flash", InputTokens: 1200, CachedTokens: 800, Tier: "flex",
		OutputTokens: 34, CostUSD: 0.25, Latency: 1500 * time.Millisecond, Outcome: outcome}
}

func expect(t *testing.T, m *Metrics, text string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(m.registry, strings.NewReader(text), names...); err != nil {
		t.Error(err)
	}
}

// TestRuns counts runs, what they did, and that the first failure is a rise from 0.
func TestRuns(t *testing.T) {
	m := newTestMetrics()
	stats := reverie.Stats{Kept: 9, Updated: 1, Created: 2, Deleted: 3, Refused: 4, Held: 5, Cited: 6, Considered: 7, Filtered: 8, Deferred: 9}
	m.RunDone(reverie.JobEvolve, reverie.RunHeld, false, stats, 3*time.Second)
	m.RunDone(reverie.JobEvolve, reverie.RunSucceeded, true, reverie.Stats{}, time.Millisecond)
	m.Phase(reverie.JobEvolve, "propose", 2*time.Second)
	expect(t, m, `# HELP reverie_changes_held_total Changes that wait for a person.
# TYPE reverie_changes_held_total counter
reverie_changes_held_total{job="evolve"} 5
# HELP reverie_changes_total Changes of memories, or entities that were created and updated (job impression): update, create or delete; of the job maintain: archive and prune (rows).
# TYPE reverie_changes_total counter
reverie_changes_total{action="create",job="evolve"} 2
reverie_changes_total{action="delete",job="evolve"} 3
reverie_changes_total{action="update",job="evolve"} 1
# HELP reverie_lines_refused_total Lines of answers that the check refused.
# TYPE reverie_lines_refused_total counter
reverie_lines_refused_total{job="evolve"} 4
# HELP reverie_messages_total Messages by what runs did with them: cited, considered, filtered; or deferred, by each run that left them pending.
# TYPE reverie_messages_total counter
reverie_messages_total{job="evolve",outcome="cited"} 6
reverie_messages_total{job="evolve",outcome="considered"} 7
reverie_messages_total{job="evolve",outcome="deferred"} 9
reverie_messages_total{job="evolve",outcome="filtered"} 8
# HELP reverie_runs_total Runs of one group and window, or session, by how they ended: succeeded, held (a plan waits for a person), deferred (a passing fault), failed, or nothing (no message was pending).
# TYPE reverie_runs_total counter
reverie_runs_total{job="evolve",outcome="deferred"} 0
reverie_runs_total{job="evolve",outcome="failed"} 0
reverie_runs_total{job="evolve",outcome="held"} 1
reverie_runs_total{job="evolve",outcome="nothing"} 1
reverie_runs_total{job="evolve",outcome="succeeded"} 0
`, "reverie_runs_total", "reverie_changes_total", "reverie_changes_held_total", "reverie_lines_refused_total", "reverie_messages_total")
	if n := testutil.CollectAndCount(m.vectors["phase_seconds"]); n != 2 {
		t.Errorf("%d phases, want propose and run", n)
	}
}

// TestFanOut keeps what the last fan-out left, and when one last came to its end.
func TestFanOut(t *testing.T) {
	m := newTestMetrics()
	const finished = "reverie_fan_out_last_finished_timestamp_seconds"
	const head = "# HELP " + finished + " When a fan-out last came to the end of the groups that are due, whatever became of each, in Unix time. 0: never in this process.\n# TYPE " + finished + " gauge\n"
	m.GroupDone(reverie.JobEvolve, "failed")
	m.FanOutDone(reverie.JobEvolve, 12, 3, time.Minute, false)
	expect(t, m, head+finished+`{job="evolve"} 0`+"\n", finished)
	m.FanOutDone(reverie.JobEvolve, 2, 1, time.Minute, true)
	m.Takeover()
	expect(t, m, head+finished+`{job="evolve"} 1.7729362205e+09
# HELP reverie_build_info The version of this process. Always 1.
# TYPE reverie_build_info gauge
reverie_build_info{version="v1.2.3"} 1
# HELP reverie_groups_parked Groups that wait for a person after repeated failure, as the last fan-out found them.
# TYPE reverie_groups_parked gauge
reverie_groups_parked{job="evolve"} 1
# HELP reverie_groups_total Groups that a fan-out came to, by what became of them: done, skipped, failed or deferred.
# TYPE reverie_groups_total counter
reverie_groups_total{job="evolve",outcome="deferred"} 0
reverie_groups_total{job="evolve",outcome="done"} 0
reverie_groups_total{job="evolve",outcome="failed"} 1
reverie_groups_total{job="evolve",outcome="skipped"} 0
# HELP reverie_lease_takeovers_total Leases of groups that were taken over because their holder had stopped renewing them.
# TYPE reverie_lease_takeovers_total counter
reverie_lease_takeovers_total 1
# HELP reverie_windows_behind Windows that were due and not finished when the last fan-out ended.
# TYPE reverie_windows_behind gauge
reverie_windows_behind{job="evolve"} 2
`, finished, "reverie_build_info", "reverie_groups_parked", "reverie_groups_total", "reverie_lease_takeovers_total", "reverie_windows_behind")
}

// TestLedger counts calls that were recorded, and those that could not be.
func TestLedger(t *testing.T) {
	m, broken := newTestMetrics(), errors.New("disk full")
	book := &ledger{}
	for _, next := range []llm.Ledger{book, &ledger{err: broken}, nil} {
		err := m.Ledger(next).RecordCall(t.Context(), call("ok"))
		if failing, ok := next.(*ledger); ok && err != failing.err || !ok && err != nil {
			t.Errorf("error %v", err)
		}
	}
	if len(book.calls) != 1 || book.calls[0] != call("ok") {
		t.Errorf("recorded %+v", book.calls)
	}
	expect(t, m, `# HELP reverie_llm_calls_total Calls to models, failed and repeated ones included, by outcome: ok, truncated, refused, or the fault.
# TYPE reverie_llm_calls_total counter
reverie_llm_calls_total{model="gemini-2.5-flash",outcome="ok",provider="gemini",purpose="evolve",tier="flex"} 3
# HELP reverie_llm_cost_usd_total What calls to models cost, in USD, by the configured prices.
# TYPE reverie_llm_cost_usd_total counter
reverie_llm_cost_usd_total{model="gemini-2.5-flash",provider="gemini",purpose="evolve",tier="flex"} 0.75
# HELP reverie_llm_tokens_total Tokens of calls to models: input, output, or cached, which is part of the input.
# TYPE reverie_llm_tokens_total counter
reverie_llm_tokens_total{direction="cached",model="gemini-2.5-flash",provider="gemini",purpose="evolve"} 2400
reverie_llm_tokens_total{direction="input",model="gemini-2.5-flash",provider="gemini",purpose="evolve"} 3600
reverie_llm_tokens_total{direction="output",model="gemini-2.5-flash",provider="gemini",purpose="evolve"} 102
`, "reverie_llm_calls_total", "reverie_llm_cost_usd_total", "reverie_llm_tokens_total")
}

// TestSeriesDoNotGrow runs a thousand groups and finds no series more than one
// group makes, and no id in any label.
func TestSeriesDoNotGrow(t *testing.T) {
	m := newTestMetrics()
	work := func(n int) {
		id := fmt.Sprintf("group-%d", n)
		c := call("ok")
		c.GroupID, c.RunID, c.ID = id, &id, id
		if err := m.Ledger(&ledger{}).RecordCall(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		m.Phase(reverie.JobEvolve, "gather", time.Millisecond)
		m.RunDone(reverie.JobEvolve, reverie.RunSucceeded, false, reverie.Stats{Created: n}, time.Second)
		m.GroupDone(reverie.JobEvolve, "done")
		m.FanOutDone(reverie.JobEvolve, n, n, time.Minute, true)
		m.Takeover()
	}
	count := func() int {
		n, err := testutil.GatherAndCount(m.registry)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	work(0)
	one := count()
	for n := range 1000 {
		work(n)
	}
	if many := count(); many != one {
		t.Errorf("%d series after one group, %d after a thousand", one, many)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, s := range f.Metric {
			for _, l := range s.Label {
				if strings.Contains(l.GetValue(), "group-") {
					t.Errorf("%s has the label %s=%q", f.GetName(), l.GetName(), l.GetValue())
				}
			}
		}
	}
}

// TestLint holds names and help texts to Prometheus' conventions.
func TestLint(t *testing.T) {
	m := newTestMetrics()
	m.count(call("ok"))
	m.RunDone(reverie.JobEvolve, reverie.RunSucceeded, false, reverie.Stats{}, time.Second)
	m.FanOutDone(reverie.JobEvolve, 0, 0, time.Second, true)
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, namespace) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestNoMetrics lets everybody report to none.
func TestNoMetrics(t *testing.T) {
	var m *Metrics
	m.RunDone(reverie.JobEvolve, reverie.RunFailed, false, reverie.Stats{}, time.Second)
	m.GroupDone(reverie.JobEvolve, "done")
	m.FanOutDone(reverie.JobEvolve, 0, 0, time.Second, true)
	m.Phase(reverie.JobEvolve, "gather", time.Second)
	m.Takeover()
	book := &ledger{}
	if m.Ledger(book) != llm.Ledger(book) {
		t.Error("no metrics wrap the ledger")
	}
}
