package telemetry

import (
	"context"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// The words of labels that are no words of the domain's own.
const (
	outcomeNothing = "nothing" // a run that found no message
	phaseRun       = "run"     // the whole run
)

// begin sets the counters of a job to 0.
func (m *Metrics) begin(job reverie.Job) {
	j := string(job)
	for _, outcome := range []string{string(reverie.RunSucceeded), string(reverie.RunHeld), string(reverie.RunDeferred),
		string(reverie.RunFailed), outcomeNothing} {
		m.runs.WithLabelValues(j, outcome)
	}
	for _, outcome := range []string{"done", "skipped", "failed", "deferred"} {
		m.groups.WithLabelValues(j, outcome)
	}
	m.behind.WithLabelValues(j)
	m.parked.WithLabelValues(j)
	m.lastFinished.WithLabelValues(j)
	m.countStats(j, reverie.Stats{})
}

// RunDone counts a run that ended: its status, or that there was nothing to do,
// what it did to memories and messages, and how long it took.
func (m *Metrics) RunDone(job reverie.Job, status reverie.RunStatus, nothing bool, stats reverie.Stats,
	took time.Duration) {
	if m == nil {
		return
	}
	outcome := string(status)
	if nothing {
		outcome = outcomeNothing
	}
	m.runs.WithLabelValues(string(job), outcome).Inc()
	m.Phase(job, phaseRun, took)
	m.countStats(string(job), stats)
}

func (m *Metrics) countStats(job string, s reverie.Stats) {
	m.refused.WithLabelValues(job).Add(float64(s.Refused))
	m.held.WithLabelValues(job).Add(float64(s.Held))
	actions := map[string]int{"update": s.Updated, "create": s.Created, "delete": s.Deleted}
	if job == string(reverie.JobMaintain) {
		actions = map[string]int{"archive": s.Archived, "decay": s.Decayed, "prune": s.Pruned}
	}
	for action, n := range actions {
		m.changes.WithLabelValues(job, action).Add(float64(n))
	}
	for outcome, n := range map[string]int{"cited": s.Cited, "considered": s.Considered, "filtered": s.Filtered,
		"deferred": s.Deferred} {
		m.messages.WithLabelValues(job, outcome).Add(float64(n))
	}
}

// GroupDone counts what became of a group in a fan-out: done, skipped, failed or
// deferred.
func (m *Metrics) GroupDone(job reverie.Job, outcome string) {
	if m == nil {
		return
	}
	m.groups.WithLabelValues(string(job), outcome).Inc()
}

// FanOutDone says that a fan-out ended: how many windows it left that are due,
// how many groups are parked, how long it took, and whether it came to the end of
// the groups.
func (m *Metrics) FanOutDone(job reverie.Job, behind, parked int, took time.Duration, finished bool) {
	if m == nil {
		return
	}
	m.behind.WithLabelValues(string(job)).Set(float64(behind))
	m.parked.WithLabelValues(string(job)).Set(float64(parked))
	m.fanOutSeconds.WithLabelValues(string(job)).Observe(took.Seconds())
	if finished {
		m.lastFinished.WithLabelValues(string(job)).Set(float64(m.now().UnixMilli()) / 1000)
	}
}

// Phase says how long a step of a chunk took.
func (m *Metrics) Phase(job reverie.Job, phase string, took time.Duration) {
	if m == nil {
		return
	}
	m.phaseSeconds.WithLabelValues(string(job), phase).Observe(took.Seconds())
}

// Takeover counts a lease that was taken over.
func (m *Metrics) Takeover() {
	if m == nil {
		return
	}
	m.takeovers.Inc()
}

// Ledger returns a ledger that counts each call after next has recorded it, and
// one that could not be recorded all the same: it was made, and perhaps paid for.
// A nil next records nothing.
func (m *Metrics) Ledger(next llm.Ledger) llm.Ledger {
	if m == nil {
		return next
	}
	return &countingLedger{m, next}
}

type countingLedger struct {
	metrics *Metrics
	next    llm.Ledger
}

// RecordCall returns the error of the ledger behind it, unchanged.
func (l *countingLedger) RecordCall(ctx context.Context, c reverie.Call) error {
	defer l.metrics.count(c)
	if l.next == nil {
		return nil
	}
	return l.next.RecordCall(ctx, c)
}

func (m *Metrics) count(c reverie.Call) {
	m.calls.WithLabelValues(c.Purpose, c.Provider, c.Model, c.Outcome).Inc()
	m.tokens.WithLabelValues(c.Purpose, c.Provider, c.Model, "input").Add(float64(c.InputTokens))
	m.tokens.WithLabelValues(c.Purpose, c.Provider, c.Model, "output").Add(float64(c.OutputTokens))
	m.cost.WithLabelValues(c.Purpose, c.Provider, c.Model).Add(c.CostUSD)
	m.callSeconds.WithLabelValues(c.Purpose, c.Provider, c.Model).Observe(c.Latency.Seconds())
}
