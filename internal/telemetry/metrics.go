package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"reverie/internal/reverie"
)

// Metrics counts what jobs do, on a registry of its own. Its labels are the words
// of the domain and the configured models, never a group, a run or a session, so
// that the number of series does not grow with the number of groups. It is safe
// for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time

	runs, groups                     *prometheus.CounterVec
	behind, parked, lastFinished     *prometheus.GaugeVec
	fanOutSeconds, phaseSeconds      *prometheus.HistogramVec
	calls, tokens, cost              *prometheus.CounterVec
	callSeconds                      *prometheus.HistogramVec
	takeovers                        prometheus.Counter
	refused, held, changes, messages *prometheus.CounterVec
	requests                         *prometheus.CounterVec
	confined                         *prometheus.GaugeVec
	requestSeconds                   *prometheus.HistogramVec
}

// The buckets of histograms, in seconds.
var (
	fanOutBuckets  = []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 28800}
	phaseBuckets   = []float64{.005, .02, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900}
	requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	callBuckets    = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300}
)

// New returns metrics of a process of the given version. The counters of the jobs
// begin at 0, so that the first failure of one already shows as a rise. now is
// nil for time.Now.
func New(version string, now func() time.Time, jobs ...reverie.Job) *Metrics {
	if now == nil {
		now = time.Now
	}
	m := &Metrics{registry: prometheus.NewRegistry(), now: now}
	m.defineJobs()
	m.defineCalls()
	m.defineRequests()
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := m.gauge("build_info", "The version of this process. Always 1.", "version")
	build.WithLabelValues(version).Set(1)
	for _, job := range jobs {
		m.begin(job)
	}
	return m
}

func (m *Metrics) defineJobs() {
	m.runs = m.counter("runs_total",
		"Runs of one group and window, or session, by how they ended: succeeded, held (a plan waits for a person), "+
			"deferred (a passing fault), failed, or nothing (no message was pending).", "job", "outcome")
	m.groups = m.counter("groups_total",
		"Groups that a fan-out came to, by what became of them: done, skipped, failed or deferred.", "job", "outcome")
	m.behind = m.gauge("windows_behind", "Windows that were due and not finished when the last fan-out ended.", "job")
	m.parked = m.gauge("groups_parked",
		"Groups that wait for a person after repeated failure, as the last fan-out found them.", "job")
	m.fanOutSeconds = m.histogram("fan_out_seconds", "How long a fan-out over the groups took.", fanOutBuckets, "job")
	m.lastFinished = m.gauge("fan_out_last_finished_timestamp_seconds",
		"When a fan-out last came to the end of the groups that are due, whatever became of each, in Unix time. 0: never "+
			"in this process.", "job")
	m.phaseSeconds = m.histogram("phase_seconds",
		"How long a step of a chunk took (evolve: gather, propose, decide, apply; impression: gather, observe, resolve, "+
			"apply; extract: gather, propose, decide, apply, fold; dream: gather, propose, combine, decide, apply), and the "+
			"whole run of a window (run).", phaseBuckets, "job", "phase")
	m.takeovers = prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "lease_takeovers_total",
		Help: "Leases of groups that were taken over because their holder had stopped renewing them."})
	m.registry.MustRegister(m.takeovers)
	m.refused = m.counter("lines_refused_total", "Lines of answers that the check refused.", "job")
	m.held = m.counter("changes_held_total", "Changes that wait for a person.", "job")
	m.changes = m.counter("changes_total",
		"Changes of memories, or entities that were created and updated (job impression): update, create or delete; of "+
			"the job maintain: archive, decay (strength lowered) and prune (rows).", "job", "action")
	m.messages = m.counter("messages_total",
		"Messages by what runs did with them: cited, considered, filtered; or deferred, by each run that left them pending.",
		"job", "outcome")
}

func (m *Metrics) defineCalls() {
	labels := []string{"purpose", "provider", "model"}
	m.calls = m.counter("llm_calls_total",
		"Calls to models, failed and repeated ones included, by outcome: ok, truncated, refused, or the fault.",
		append(labels, "outcome")...)
	m.tokens = m.counter("llm_tokens_total", "Tokens of calls to models: input or output.", append(labels, "direction")...)
	m.cost = m.counter("llm_cost_usd_total", "What calls to models cost, in USD, by the configured prices.", labels...)
	m.callSeconds = m.histogram("llm_call_seconds", "How long one call to a model took.", callBuckets, labels...)
}

// namespace begins the name of every metric of ours.
const namespace = "reverie"

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help,
		Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}
