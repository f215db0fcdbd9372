// Package telemetry lets an operator see what happened: metrics for Prometheus,
// traces for OpenTelemetry and Langfuse, failed runs for Sentry, and the small
// HTTP server by which a daemon is probed and scraped.
//
// A nil [*Metrics], [*Tracer] or [*Sentry] does nothing, so that those who report
// to one need not ask whether it is there. None of them ever fails a run, and
// none sends a prompt or an answer.
package telemetry

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// Metrics counts what jobs do, on a registry of its own. Its labels are the words
// of the domain and the configured models, never a group, a run or a session, so
// that the number of series does not grow with the number of groups. It is safe
// for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time
	vectors  map[string]prometheus.Collector // by name
}

// namespace begins the name of every metric of ours.
const namespace = "reverie"

// The kinds of metrics.
type kind int

const (
	counter kind = iota
	gauge
	histogram
)

// The buckets of histograms, in seconds.
var (
	fanOutBuckets  = []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 28800}
	phaseBuckets   = []float64{.005, .02, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900}
	requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	callBuckets    = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300}
)

// table is all metrics; the labels are separated by spaces.
var table = []struct {
	kind               kind
	name, labels, help string
	buckets            []float64
}{
	{counter, "runs_total", "job outcome",
		"Runs of one group and window, or session, by how they ended: succeeded, held (a plan waits for a person), " +
			"deferred (a passing fault), failed, or nothing (no message was pending).", nil},
	{counter, "groups_total", "job outcome",
		"Groups that a fan-out came to, by what became of them: done, skipped, failed or deferred.", nil},
	{counter, "batch_questions_total", "outcome",
		"Questions of batches: submitted, answered, refused (the answer was not the question's own) or failed.", nil},
	{counter, "webhook_events_total", "outcome",
		"Events for webhooks: sent, failed (an attempt), given_up or lost; and webhooks that were disabled.", nil},
	{gauge, "webhook_wait_seconds", "", "How long the oldest event for a webhook waits.", nil},
	{gauge, "windows_behind", "job", "Windows that were due and not finished when the last fan-out ended.", nil},
	{gauge, "groups_parked", "job",
		"Groups that wait for a person after repeated failure, as the last fan-out found them.", nil},
	{histogram, "fan_out_seconds", "job", "How long a fan-out over the groups took.", fanOutBuckets},
	{gauge, "fan_out_last_finished_timestamp_seconds", "job",
		"When a fan-out last came to the end of the groups that are due, whatever became of each, in Unix time. 0: never " +
			"in this process.", nil},
	{histogram, "phase_seconds", "job phase",
		"How long a step of a chunk took (evolve: gather, propose, decide, apply; impression: gather, observe, resolve, " +
			"apply; extract: gather, propose, decide, apply, fold; dream: gather, propose, combine, decide, apply), and the " +
			"whole run of a window (run).", phaseBuckets},
	{counter, "lease_takeovers_total", "",
		"Leases of groups that were taken over because their holder had stopped renewing them.", nil},
	{counter, "lines_refused_total", "job", "Lines of answers that the check refused.", nil},
	{counter, "llm_lines_refused_total", "provider model reason",
		"Lines of a model's answers that were refused, by the rule of the check or why the reader passed them over.", nil},
	{counter, "changes_held_total", "job", "Changes that wait for a person.", nil},
	{counter, "changes_total", "job action",
		"Changes of memories, or entities that were created and updated (job impression): update, create or delete; of " +
			"the job maintain: archive and prune (rows).", nil},
	{counter, "messages_total", "job outcome",
		"Messages by what runs did with them: cited, considered, filtered; or deferred, by each run that left them pending.",
		nil},
	{counter, "llm_calls_total", "purpose provider model tier outcome",
		"Calls to models, failed and repeated ones included, by outcome: ok, truncated, refused, or the fault.", nil},
	{counter, "llm_tokens_total", "purpose provider model direction", "Tokens of calls to models: input, output, or cached, which is part of the input.", nil},
	{counter, "llm_cost_usd_total", "purpose provider model tier",
		"What calls to models cost, in USD, by the configured prices.", nil},
	{histogram, "llm_call_seconds", "purpose provider model", "How long one call to a model took.", callBuckets},
	{counter, "http_requests_total", "route method status",
		"Requests to the API, the page and MCP, by how they were answered: 2xx, 3xx, 4xx or 5xx.", nil},
	{histogram, "http_request_seconds", "route method", "How long the answer to a request took.", requestBuckets},
	{gauge, "reader_confined", "",
		"1 where clients read as a role that row-level security confines to their group, 0 where they do not.", nil},
	{gauge, "build_info", "version", "The version of this process. Always 1.", nil},
}

// New returns metrics of a process of the given version. The counters of the jobs
// begin at 0, so that the first failure of one already shows as a rise. now is
// nil for time.Now.
func New(version string, now func() time.Time, jobs ...reverie.Job) *Metrics {
	if now == nil {
		now = time.Now
	}
	m := &Metrics{registry: prometheus.NewRegistry(), now: now, vectors: map[string]prometheus.Collector{}}
	for _, t := range table {
		labels := strings.Fields(t.labels)
		opts := prometheus.Opts{Namespace: namespace, Name: t.name, Help: t.help}
		switch t.kind {
		case counter:
			m.vectors[t.name] = prometheus.NewCounterVec(prometheus.CounterOpts(opts), labels)
		case gauge:
			m.vectors[t.name] = prometheus.NewGaugeVec(prometheus.GaugeOpts(opts), labels)
		case histogram:
			m.vectors[t.name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: t.name,
				Help: t.help, Buckets: t.buckets}, labels)
		}
		m.registry.MustRegister(m.vectors[t.name])
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

// The words of labels that are no words of the domain's own.
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

// LineRefused counts a line that a model, provider/name, was refused, by the rule or the reason.
func (m *Metrics) LineRefused(model, reason string) {
	provider, name, _ := strings.Cut(model, "/")
	m.record("llm_lines_refused_total", 1, provider, name, reason)
}

// RunDone counts a run that ended: its status, or that there was nothing to do,
// what it did to memories and messages, and how long it took.
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

// GroupDone counts what became of a group in a fan-out: done, skipped, failed or
// deferred.
func (m *Metrics) GroupDone(job reverie.Job, outcome string) {
	m.record("groups_total", 1, string(job), outcome)
}

// Called counts a call whose row is written elsewhere.
func (m *Metrics) Called(c reverie.Call) { m.count(c) }

// BatchQuestions counts what became of questions of batches.
func (m *Metrics) BatchQuestions(outcome string, n int) {
	m.record("batch_questions_total", float64(n), outcome)
}

// WebhookEvents counts what became of events for webhooks.
func (m *Metrics) WebhookEvents(outcome string, n int) {
	m.record("webhook_events_total", float64(n), outcome)
}

// WebhookWaits says how long the oldest event has waited.
func (m *Metrics) WebhookWaits(age time.Duration) { m.record("webhook_wait_seconds", age.Seconds()) }

// FanOutDone says that a fan-out ended: how many windows it left that are due,
// how many groups are parked, how long it took, and whether it came to the end of
// the groups.
func (m *Metrics) FanOutDone(job reverie.Job, behind, parked int, took time.Duration, finished bool) {
	m.record("windows_behind", float64(behind), string(job))
	m.record("groups_parked", float64(parked), string(job))
	m.record("fan_out_seconds", took.Seconds(), string(job))
	if m != nil && finished {
		m.record("fan_out_last_finished_timestamp_seconds", float64(m.now().UnixMilli())/1000, string(job))
	}
}

// Phase says how long a step of a chunk took.
func (m *Metrics) Phase(job reverie.Job, phase string, took time.Duration) {
	m.record("phase_seconds", took.Seconds(), string(job), phase)
}

// Takeover counts a lease that was taken over.
func (m *Metrics) Takeover() { m.record("lease_takeovers_total", 1) }

// ReaderConfined says whether clients read as a role that is confined to their group.
func (m *Metrics) ReaderConfined(on bool) { m.record("reader_confined", map[bool]float64{true: 1}[on]) }

// methods are those of HTTP that are told apart.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// RequestDone counts a request. The route is a pattern, so that there are no more of
// them than the API has.
func (m *Metrics) RequestDone(route, method string, status int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.record("http_requests_total", 1, route, method, strconv.Itoa(status/100)+"xx")
	m.record("http_request_seconds", took.Seconds(), route, method)
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
	m.record("llm_calls_total", 1, c.Purpose, c.Provider, c.Model, c.Tier, c.Outcome)
	m.record("llm_tokens_total", float64(c.InputTokens), c.Purpose, c.Provider, c.Model, "input")
	m.record("llm_tokens_total", float64(c.OutputTokens), c.Purpose, c.Provider, c.Model, "output")
	m.record("llm_tokens_total", float64(c.CachedTokens), c.Purpose, c.Provider, c.Model, "cached")
	m.record("llm_cost_usd_total", c.CostUSD, c.Purpose, c.Provider, c.Model, c.Tier)
	m.record("llm_call_seconds", c.Latency.Seconds(), c.Purpose, c.Provider, c.Model)
}
