package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"

	"reverie"
	"reverie/llm/llmtest"
	"reverie/store/storetest"
)

// envFanOut replaces the small cases of BenchmarkFanOut: GROUPS/LATENCY/CONCURRENCY
// and options, several divided by commas. The options:
//
//	conns=N    connections of each process
//	shards=2   two processes, each with its part of the groups
//	twice      two processes, each with all of them
//	embed      vectors come from the server too, after the same latency
//	count      requests to PostgreSQL are counted on their way (which slows them)
const envFanOut = "REVERIE_BENCH_FANOUT"

// fanOutCase is what one measurement of a fan-out is given.
type fanOutCase struct {
	groups      int
	latency     time.Duration
	concurrency int
	conns       int
	processes   int
	shards      bool
	embed       bool
	count       bool
}

func parseFanOutCase(text string) (fanOutCase, error) {
	c := fanOutCase{conns: 8, processes: 1}
	parts := strings.Split(text, "/")
	if len(parts) < 3 {
		return c, fmt.Errorf("%q: write GROUPS/LATENCY/CONCURRENCY", text)
	}
	var errs [3]error
	c.groups, errs[0] = strconv.Atoi(parts[0])
	c.latency, errs[1] = time.ParseDuration(parts[1])
	c.concurrency, errs[2] = strconv.Atoi(parts[2])
	for _, err := range errs {
		if err != nil {
			return c, err
		}
	}
	for _, option := range parts[3:] {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "conns":
			c.conns, errs[0] = strconv.Atoi(value)
		case "shards":
			c.processes, c.shards = 2, true
		case "twice":
			c.processes = 2
		case "embed":
			c.embed = true
		case "count":
			c.count = true
		default:
			return c, fmt.Errorf("%q: what is %q?", text, option)
		}
		if errs[0] != nil {
			return c, errs[0]
		}
	}
	return c, nil
}

// BenchmarkFanOut runs the binary over groups of which each has a closed night of
// 20 messages and 10 memories, against a model on the loopback that answers after
// a while. docs/scale.md says what came of it.
func BenchmarkFanOut(b *testing.B) {
	cases := os.Getenv(envFanOut)
	if cases == "" {
		cases = "200/0s/32,200/0s/32/count,400/300ms/32,200/0s/32/twice,200/0s/32/shards"
	}
	for text := range strings.SplitSeq(cases, ",") {
		b.Run(text, func(b *testing.B) {
			c, err := parseFanOutCase(text)
			if err != nil {
				b.Fatal(err)
			}
			w := newFanOutWorld(b, c)
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				w.seed()
				began := w.meter()
				b.StartTimer()
				w.run()
				b.StopTimer()
				w.tally(began)
				b.StartTimer()
			}
			b.StopTimer()
			w.report()
		})
	}
}

// fanOutWorld is a database, a model and what has been measured of them.
type fanOutWorld struct {
	fanOutCase
	b     *testing.B
	url   string
	db    *sql.DB
	model *httptest.Server
	env   []string
	wire  *countingProxy // nil unless asked for

	calls           atomic.Int64
	runs            int // how often all groups were done
	wall            time.Duration
	own, postgres   time.Duration // processor time
	rss             int64         // the highest of a process, in KiB
	trips, commands int64
	tokens          int64
	skipped         int
}

func newFanOutWorld(b *testing.B, c fanOutCase) *fanOutWorld {
	w := &fanOutWorld{fanOutCase: c, b: b, url: storetest.URL(b)}
	db, err := sql.Open("postgres", w.url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	w.db = db
	w.model = httptest.NewServer(http.HandlerFunc(w.answer))
	b.Cleanup(w.model.Close)
	database := w.url
	if c.count {
		w.wire = newCountingProxy(b, w.url)
		database = w.wire.url
	}
	provider := "offline"
	if c.embed {
		provider = "openai"
	}
	w.env = []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "REVERIE_DATABASE_URL=" + database,
		"REVERIE_LLM_BASE_URL=" + w.model.URL + "/v1", "REVERIE_EMBED_PROVIDER=" + provider,
		"REVERIE_DATABASE_MAX_CONNS=" + strconv.Itoa(c.conns), "REVERIE_JOBS_CONCURRENCY=" + strconv.Itoa(c.concurrency)}
	return w
}

// answer is a model that does what the chat says. It keeps nothing, other than
// llmtest's, so that it does not grow with the number of calls.
func (w *fanOutWorld) answer(out http.ResponseWriter, in *http.Request) {
	w.calls.Add(1)
	wait := time.NewTimer(w.latency)
	defer wait.Stop()
	var body struct {
		Messages []struct{ Role, Content string }
		Input    []string
	}
	if err := json.NewDecoder(in.Body).Decode(&body); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	type object = map[string]any
	var reply object
	if strings.HasSuffix(in.URL.Path, "/embeddings") {
		data, tokens := []object{}, 0
		for i, text := range body.Input {
			vector := make([]float32, 1536)
			for at, char := range text {
				vector[(at*31+int(char))%len(vector)]++
			}
			data = append(data, object{"object": "embedding", "index": i, "embedding": vector})
			tokens += reverie.EstimateTokens(text)
		}
		reply = object{"object": "list", "data": data, "usage": object{"prompt_tokens": tokens, "total_tokens": tokens}}
	} else {
		var r llmtest.Request
		tokens := 0
		for _, m := range body.Messages {
			r.User = m.Content // the last one is the user's
			tokens += reverie.EstimateTokens(m.Content)
		}
		text := transcribe(w.b, r)
		reply = object{"id": "1", "object": "chat.completion",
			"choices": []object{{"index": 0, "finish_reason": "stop", "message": object{"role": "assistant", "content": text}}},
			"usage":   object{"prompt_tokens": tokens, "completion_tokens": reverie.EstimateTokens(text)}}
	}
	raw, err := json.Marshal(reply)
	if err != nil {
		w.b.Error(err)
		return
	}
	select {
	case <-wait.C:
	case <-in.Context().Done():
		return
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(raw) // a client that is gone has its own complaint
}

// The night of each group: most of it chatter, three things that are new, and two
// that are known already.
func fanOutNight() []string {
	night := []string{"note The printer on the second floor is broken again", "note Ann moved to Lisbon in the autumn", "note Chess is on Mondays at eight",
		"again Fact number 1 about what this group does together", "again Fact number 2 about what this group does together"}
	for i := range 15 {
		night = append(night, fmt.Sprintf("some remark, the %dth of its evening, about the weather, the bus and what there was to eat", i+1))
	}
	return night
}

// seed makes the groups anew.
func (w *fanOutWorld) seed() {
	w.b.Helper()
	var statements, hashes pq.StringArray
	for i := range 10 {
		s := fmt.Sprintf("Fact number %d about what this group does together", i+1)
		statements, hashes = append(statements, s), append(hashes, reverie.ContentHash(s))
	}
	for _, s := range []struct {
		query string
		args  []any
	}{
		{`truncate groups cascade`, nil},
		{`truncate llm_calls, embedding_cache`, nil},
		{`insert into groups (group_id, time_zone) select 'group' || to_char(i, 'FM000000'), 'UTC' from generate_series(1, $1::int) i`, []any{w.groups}},
		{`insert into messages (group_id, message_id, author_id, author, role, text, sent_at)
			select g.group_id, 'm' || t.no, 'u' || t.no % 4, 'Author ' || t.no % 4, 'user', t.text, date_trunc('day', now(), 'UTC') + (t.no - 300) * interval '1 minute'
			from groups g, unnest($1::text[]) with ordinality t (text, no) order by 1, t.no`, []any{pq.StringArray(fanOutNight())}},
		{`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, created_at, updated_at, last_supported_at)
			select g.group_id, gen_random_uuid(), gen_random_uuid(), 'group', t.statement, 1, 'active', 0.5, t.hash, t.at, t.at, t.at
			from groups g, (select u.*, now() - interval '7 days' + no * interval '1 hour' as at
				from unnest($1::text[], $2::text[]) with ordinality u (statement, hash, no)) t`, []any{statements, hashes}},
		{`insert into leases (group_id, lease_name, expires_at) select group_id, 'group', 'epoch' from groups`, nil}, // of the nights before
		{`vacuum analyze groups, messages, memories, leases`, nil},
		{`checkpoint`, nil},
	} {
		if _, err := w.db.ExecContext(w.b.Context(), s.query, s.args...); err != nil {
			w.b.Fatalf("%s: %v", s.query, err)
		}
	}
}

// run lets one or two processes do all that is due.
func (w *fanOutWorld) run() {
	w.b.Helper()
	self, err := os.Executable()
	if err != nil {
		w.b.Fatal(err)
	}
	type process struct {
		*exec.Cmd
		out, errs bytes.Buffer
	}
	began := time.Now()
	started := make([]*process, w.processes)
	for i := range started {
		args := []string{"evolve", "--due", "--json"}
		if w.shards {
			args = append(args, fmt.Sprintf("--shard=%d/%d", i, w.processes))
		}
		p := &process{Cmd: exec.CommandContext(w.b.Context(), self, args...)}
		p.Env, p.Dir, p.Stdout, p.Stderr = append(w.env, envMain+"=1"), w.b.TempDir(), &p.out, &p.errs
		if err := p.Start(); err != nil {
			w.b.Fatal(err)
		}
		started[i] = p
	}
	var failed error
	done, skipped := 0, 0
	for _, p := range started {
		if err := p.Wait(); err != nil && failed == nil {
			failed = fmt.Errorf("%w\n%s", err, p.errs.String())
		}
		lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
		var end summaryLine
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil && failed == nil {
			failed = fmt.Errorf("no summary: %w\n%s", err, p.errs.String())
		}
		done, skipped = done+end.Summary.Windows, skipped+end.Summary.Skipped
		usage, ok := p.ProcessState.SysUsage().(*syscall.Rusage)
		if ok {
			w.own += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
			w.rss = max(w.rss, usage.Maxrss)
		}
	}
	w.wall += time.Since(began)
	if failed != nil {
		w.b.Fatal(failed)
	}
	if done != w.groups {
		w.b.Fatalf("%d windows are done, want %d", done, w.groups)
	}
	w.runs++
	w.skipped += skipped
}

// fanOutMeter is how far the counters were when a run began.
type fanOutMeter struct {
	postgres        time.Duration
	trips, commands int64
}

func (w *fanOutWorld) meter() fanOutMeter {
	w.calls.Store(0)
	m := fanOutMeter{postgres: postgresTime(w.db)}
	if w.wire != nil {
		m.trips, m.commands = w.wire.trips.Load(), w.wire.commands.Load()
	}
	return m
}

// tally adds what a run took, and checks that it did what it should.
func (w *fanOutWorld) tally(began fanOutMeter) {
	w.b.Helper()
	now := postgresTime(w.db)
	w.postgres += now - began.postgres
	if w.wire != nil {
		w.trips += w.wire.trips.Load() - began.trips
		w.commands += w.wire.commands.Load() - began.commands
	}
	var left, runs, created, tokens int64
	err := w.db.QueryRow(`select (select count(*) from messages where run_id is null), (select count(*) from runs where status = 'succeeded'),
		(select count(*) from memories where run_id is not null), (select sum(input_tokens + output_tokens) from llm_calls)`).Scan(&left, &runs, &created, &tokens)
	if err != nil {
		w.b.Fatal(err)
	}
	n := int64(w.groups)
	if left != 0 || runs != n || created != 3*n {
		w.b.Fatalf("%d messages are left, %d runs, %d memories are new; want 0, %d and %d", left, runs, created, n, 3*n)
	}
	w.tokens += tokens
}

// report says what it came to, by group.
func (w *fanOutWorld) report() {
	n := float64(w.runs * w.groups)
	if n == 0 {
		return
	}
	calls := float64(w.calls.Load()) / float64(w.groups) // of the last run
	// What cannot be beaten: each place takes one group after the other.
	turns := math.Ceil(float64(w.groups) / float64(w.concurrency*w.processes))
	ideal := turns * calls * w.latency.Seconds()
	wall := w.wall.Seconds() / float64(w.runs)
	b := w.b
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(wall, "s")
	if ideal > 0 {
		b.ReportMetric(100*ideal/wall, "%ideal")
	}
	b.ReportMetric(float64(w.groups)/wall, "groups/s")
	b.ReportMetric(w.own.Seconds()*1000/n, "ms-cpu/group")
	if w.postgres > 0 {
		b.ReportMetric(w.postgres.Seconds()*1000/n, "ms-postgres/group")
	}
	b.ReportMetric(float64(w.rss)/1024, "MiB-peak")
	b.ReportMetric(calls, "calls/group")
	b.ReportMetric(float64(w.tokens)/n, "tokens/group")
	if w.wire != nil {
		b.ReportMetric(float64(w.trips)/n, "trips/group")
		b.ReportMetric(float64(w.commands)/n, "statements/group")
	}
	if w.processes > 1 {
		b.ReportMetric(100*float64(w.skipped)/n, "%skipped")
	}
}

// postgresTime is what all processes of the server have used of the processors,
// 0 where it is on another machine. A server that others use counts theirs too.
func postgresTime(db *sql.DB) time.Duration {
	var backend int
	if err := db.QueryRow(`select pg_backend_pid()`).Scan(&backend); err != nil {
		return 0
	}
	own, ok := readProcess(backend)
	if !ok || !strings.HasPrefix(own.name, "postgres") {
		return 0
	}
	total := time.Duration(0)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		p, ok := readProcess(pid)
		switch {
		case !ok:
		case pid == own.parent:
			total += p.used + p.children // those that have ended
		case p.parent == own.parent:
			total += p.used
		}
	}
	return total
}

type processStat struct {
	name           string
	parent         int
	used, children time.Duration
}

func readProcess(pid int) (processStat, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if err != nil || open < 0 || end < open {
		return processStat{}, false
	}
	fields := strings.Fields(string(raw[end+1:])) // from the state, the third, on
	if len(fields) < 15 {
		return processStat{}, false
	}
	ticks := func(i int) time.Duration {
		n, _ := strconv.ParseInt(fields[i-3], 10, 64)
		return time.Duration(n) * (time.Second / 100) // Linux shows hundredths of a second
	}
	parent, _ := strconv.Atoi(fields[1])
	return processStat{string(raw[open+1 : end]), parent, ticks(14) + ticks(15), ticks(16) + ticks(17)}, true
}
