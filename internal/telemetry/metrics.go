// Package telemetry lets an operator see what happened: metrics for Prometheus,
// traces for OpenTelemetry and Langfuse, failed runs for Sentry, and the small
// HTTP server by which a daemon is probed and scraped.
//
// A nil [*Metrics], [*Tracer] or [*Sentry] does nothing, so that those who report
// to one need not ask whether it is there. None of them ever fails a run, and
// none sends a prompt or an answer.
package telemetry

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
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

// conns is a listener that has a bounded number of connections open. When one more
// comes, another is closed for it: the one that has kept us waiting longest for the
// header of its first request, else the one that has been idle for longest. So those who
// are slow lock nobody out. While all have requests under way, it waits for one to end.
type conns struct {
	net.Listener
	max int

	mu      sync.Mutex
	changed *sync.Cond
	open    map[*counted]struct{}
	fresh   *list.List // of *counted without a request so far, the oldest first
	idle    *list.List // of *counted between two requests, who is so for longest first
	closed  bool
}

// grace is how long a connection has for the header of its first request before it may
// have to make room.
const grace = 250 * time.Millisecond

func newConns(inner net.Listener, max int) *conns {
	c := &conns{Listener: inner, max: max, open: map[*counted]struct{}{}, fresh: list.New(), idle: list.New()}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Accept returns the next connection once there is room for it.
func (c *conns) Accept() (net.Conn, error) {
	raw, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &counted{Conn: raw, conns: c}
	if !c.admit(conn) {
		_ = raw.Close()
		return nil, net.ErrClosed
	}
	return conn, nil
}

// admit waits until there is room for a connection; false where the listener was closed
// meanwhile.
func (c *conns) admit(conn *counted) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) >= c.max && !c.closed {
		if !c.evict() {
			c.changed.Wait()
		}
	}
	if c.closed {
		return false
	}
	c.open[conn], conn.since = struct{}{}, time.Now()
	conn.wait(c.fresh)
	return true
}

// evict closes a connection that has no request under way. Where none may be closed yet,
// it has whoever waits look again when one may. It is called with the lock.
func (c *conns) evict() bool {
	victim := c.idle.Front()
	if oldest := c.fresh.Front(); oldest != nil {
		conn, _ := oldest.Value.(*counted)
		if left := grace - time.Since(conn.since); left <= 0 {
			victim = oldest
		} else if victim == nil {
			time.AfterFunc(left, c.lookAgain)
		}
	}
	if victim == nil {
		return false
	}
	conn, _ := victim.Value.(*counted)
	c.forget(conn)
	_ = conn.Conn.Close() // its goroutine finds out, and ends
	return true
}

// lookAgain wakes whoever waits for room.
func (c *conns) lookAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

// state notes what the server says of a connection. See [http.Server.ConnState]: one is
// new until the header of its first request has been read.
func (c *conns) state(raw net.Conn, state http.ConnState) {
	conn, _ := raw.(*counted)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.open[conn]; !open {
		return
	}
	switch state {
	case http.StateActive:
		conn.wait(nil)
	case http.StateIdle:
		conn.wait(c.idle)
		c.changed.Broadcast()
	}
}

// forget is called with the lock.
func (c *conns) forget(conn *counted) {
	conn.wait(nil)
	delete(c.open, conn)
}

// Close ends the listener, and whoever waits in it.
func (c *conns) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// counted is a connection whose end is noted.
type counted struct {
	net.Conn
	conns *conns
	since time.Time     // when it was let in
	among *list.List    // nil while a request is under way
	place *list.Element // among them
}

// wait moves a connection to the end of a list, nil for none. It is called with the lock.
func (c *counted) wait(among *list.List) {
	if c.among != nil {
		c.among.Remove(c.place)
	}
	if c.among = among; among != nil {
		c.place = among.PushBack(c)
	}
}

func (c *counted) Close() error {
	c.conns.mu.Lock()
	c.conns.forget(c)
	c.conns.changed.Broadcast()
	c.conns.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite has a client read the answer before the connection ends: see [net.TCPConn].
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
