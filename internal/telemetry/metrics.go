// Package telemetry shows operators what happened. It has metrics for Prometheus, traces for OpenTelemetry and
// Langfuse, failed runs for Sentry, and the small HTTP server for a daemon's probes and metrics.
//
// A nil [*Metrics], [*Tracer] or [*Sentry] does nothing, so that callers need no check. None of them ever fails a
// run or sends a prompt or an answer.
package telemetry

import (
	"context"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Metrics counts the work of jobs, on its own registry. Its labels are terms of the domain and configured models.
// They are never a group, run or session, so the number of series does not grow with the number of groups. It is
// safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time
	vectors  map[string]prometheus.Collector // by name
}

// namespace is the prefix of all metric names.
const namespace = "reverie"

//go:embed metrics.toml
var metricsFile string

// table describes all metrics.
var table = sync.OnceValue(func() metricTable { return text.ReadTOML[metricTable](metricsFile) })

type metricTable struct {
	Metric []struct {
		Kind, Name, Help string
		Labels           []string
		Buckets          []float64
	}
}

// New returns the metrics of a process of the given version. The counters of the jobs begin at 0, so that the first
// failure shows as an increase. now is nil for time.Now.
func New(version string, now func() time.Time, jobs ...reverie.Job) *Metrics {
	if now == nil {
		now = time.Now
	}
	m := &Metrics{registry: prometheus.NewRegistry(), now: now, vectors: map[string]prometheus.Collector{}}
	for _, t := range table().Metric {
		opts := prometheus.Opts{Namespace: namespace, Name: t.Name, Help: t.Help}
		switch t.Kind {
		case "counter":
			m.vectors[t.Name] = prometheus.NewCounterVec(prometheus.CounterOpts(opts), t.Labels)
		case "gauge":
			m.vectors[t.Name] = prometheus.NewGaugeVec(prometheus.GaugeOpts(opts), t.Labels)
		case "histogram":
			m.vectors[t.Name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: t.Name,
				Help: t.Help, Buckets: t.Buckets}, t.Labels)
		}
		m.registry.MustRegister(m.vectors[t.Name])
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.record("build_info", 1, version)
	m.record("lease_takeovers_total", 0)
	for _, job := range jobs {
		m.begin(job)
	}
	return m
}

// record adds to a counter, sets a gauge or observes seconds.
func (m *Metrics) record(name string, value float64, labels ...string) {
	if m == nil {
		return
	}
	switch v := m.vectors[name].(type) {
	case *prometheus.CounterVec:
		v.WithLabelValues(labels...).Add(value)
	case *prometheus.GaugeVec:
		v.WithLabelValues(labels...).Set(value)
	case *prometheus.HistogramVec:
		v.WithLabelValues(labels...).Observe(value)
	}
}

// Label values that are not terms of the domain.
const (
	outcomeNothing = "nothing" // a run that found no message
	phaseRun       = "run"     // the whole run
)

// begin sets the counters of a job to 0.
func (m *Metrics) begin(job reverie.Job) {
	for _, outcome := range []string{string(reverie.RunSucceeded), string(reverie.RunHeld), string(reverie.RunDeferred),
		string(reverie.RunFailed), outcomeNothing} {
		m.record("runs_total", 0, string(job), outcome)
	}
	for _, outcome := range []string{"done", "skipped", "failed", "deferred"} {
		m.record("groups_total", 0, string(job), outcome)
	}
	for _, name := range []string{"windows_behind", "groups_parked", "fan_out_last_finished_timestamp_seconds"} {
		m.record(name, 0, string(job))
	}
	m.countStats(string(job), reverie.Stats{})
}

// LineRefused counts a refused line of a model (provider/name), by rule or reason.
func (m *Metrics) LineRefused(model, reason string) {
	provider, name, _ := strings.Cut(model, "/")
	m.record("llm_lines_refused_total", 1, provider, name, reason)
}

// RunDone counts a finished run: its status, or that there was nothing to do, its effects on memories and messages,
// and its duration.
func (m *Metrics) RunDone(job reverie.Job, status reverie.RunStatus, nothing bool, stats reverie.Stats,
	took time.Duration) {
	outcome := string(status)
	if nothing {
		outcome = outcomeNothing
	}
	m.record("runs_total", 1, string(job), outcome)
	m.Phase(job, phaseRun, took)
	m.countStats(string(job), stats)
}

func (m *Metrics) countStats(job string, s reverie.Stats) {
	m.record("lines_refused_total", float64(s.Refused), job)
	m.record("changes_held_total", float64(s.Held), job)
	actions := map[string]int{"update": s.Updated, "create": s.Created, "delete": s.Deleted}
	if job == string(reverie.JobMaintain) {
		actions = map[string]int{"archive": s.Archived, "prune": s.Pruned}
	}
	for action, n := range actions {
		m.record("changes_total", float64(n), job, action)
	}
	for outcome, n := range map[string]int{"cited": s.Cited, "considered": s.Considered, "filtered": s.Filtered,
		"deferred": s.Deferred} {
		m.record("messages_total", float64(n), job, outcome)
	}
}

// GroupDone counts the outcome of a group in a fan-out: done, skipped, failed or deferred.
func (m *Metrics) GroupDone(job reverie.Job, outcome string) {
	m.record("groups_total", 1, string(job), outcome)
}

// Called counts a call whose row is written elsewhere.
func (m *Metrics) Called(c reverie.Call) { m.count(c) }

// BatchQuestions counts outcomes of batch questions.
func (m *Metrics) BatchQuestions(outcome string, n int) {
	m.record("batch_questions_total", float64(n), outcome)
}

// WebhookEvents counts outcomes of webhook events.
func (m *Metrics) WebhookEvents(outcome string, n int) {
	m.record("webhook_events_total", float64(n), outcome)
}

// WebhookWaits records how long the oldest event has waited.
func (m *Metrics) WebhookWaits(age time.Duration) { m.record("webhook_wait_seconds", age.Seconds()) }

// FanOutDone records a finished fan-out. behind is the number of due windows that are left, parked that of
// suspended groups; finished says whether it reached the last group.
func (m *Metrics) FanOutDone(job reverie.Job, behind, parked int, took time.Duration, finished bool) {
	m.record("windows_behind", float64(behind), string(job))
	m.record("groups_parked", float64(parked), string(job))
	m.record("fan_out_seconds", took.Seconds(), string(job))
	if m != nil && finished {
		m.record("fan_out_last_finished_timestamp_seconds", float64(m.now().UnixMilli())/1000, string(job))
	}
}

// Phase records the duration of a step of a chunk.
func (m *Metrics) Phase(job reverie.Job, phase string, took time.Duration) {
	m.record("phase_seconds", took.Seconds(), string(job), phase)
}

// Takeover counts a lease that was taken over.
func (m *Metrics) Takeover() { m.record("lease_takeovers_total", 1) }

// ReaderConfined records whether clients read with a role that is confined to their group.
func (m *Metrics) ReaderConfined(on bool) { m.record("reader_confined", map[bool]float64{true: 1}[on]) }

// methods are the HTTP methods with a label of their own.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// RequestDone counts a request. The route is a pattern of the API, which bounds the number of series.
func (m *Metrics) RequestDone(route, method string, status int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.record("http_requests_total", 1, route, method, strconv.Itoa(status/100)+"xx")
	m.record("http_request_seconds", took.Seconds(), route, method)
}

// Ledger returns a ledger that counts each call after next has recorded it. It also counts a call that could not be
// recorded: it was made, and perhaps paid for. A nil next records nothing.
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

// RecordCall returns the error of the wrapped ledger unchanged.
func (l *countingLedger) RecordCall(ctx context.Context, c reverie.Call) error {
	defer l.metrics.count(c)
	if l.next == nil {
		return nil
	}
	return l.next.RecordCall(ctx, c)
}

func (m *Metrics) count(c reverie.Call) {
	m.record("llm_calls_total", 1, c.Purpose, c.Provider, c.Model, c.Tier, c.Outcome)
	m.record("llm_tokens_total", float64(c.InputTokens), c.Purpose, c.Provider, c.Model, "input")
	m.record("llm_tokens_total", float64(c.OutputTokens), c.Purpose, c.Provider, c.Model, "output")
	m.record("llm_tokens_total", float64(c.CachedTokens), c.Purpose, c.Provider, c.Model, "cached")
	m.record("llm_cost_usd_total", c.CostUSD, c.Purpose, c.Provider, c.Model, c.Tier)
	m.record("llm_call_seconds", c.Latency.Seconds(), c.Purpose, c.Provider, c.Model)
}
