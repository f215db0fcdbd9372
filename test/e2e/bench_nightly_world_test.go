package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/text"
	"reverie/jobs"
	"reverie/store/pgtest"
)

// nightlyWorld is a database, a model and what has been measured of them.
type nightlyWorld struct {
	nightlyCase
	b      *testing.B
	binary string
	db     *sql.DB
	model  *quickModel
	env    []string
	wire   *countingProxy // nil unless asked for

	runs int // how often all groups were done
	used usage
	peak memory // of a process
}

// usage is what runs have used up, or how far the counters are of what tells.
type usage struct {
	wall                 time.Duration
	own, postgres, model time.Duration // processor time: of the processes, the server's, ours
	stored               int64         // bytes of the database
	calls, tokens        int64
	wire                 wireCount
	skipped              int
}

func newNightlyWorld(b *testing.B, c nightlyCase, binary string) *nightlyWorld {
	w := &nightlyWorld{nightlyCase: c, b: b, binary: binary}
	database := pgtest.URL(b)
	db, err := sql.Open("postgres", database)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	w.db = db
	w.model = newQuickModel(b, c.model)
	if c.away > 0 {
		database = distantDatabase(b, database, c.away)
	}
	if c.count {
		w.wire = newCountingProxy(b, database)
		database = w.wire.url
	}
	provider := "offline"
	if c.embed {
		provider = "openai"
	}
	w.env = []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "REVERIE_DATABASE_URL=" + database,
		"REVERIE_LLM_BASE_URL=" + w.model.URL + "/v1", "REVERIE_EMBED_PROVIDER=" + provider, "REVERIE_BUDGET_USD_PER_DAY=0"}
	if c.concurrency > 0 {
		w.env = append(w.env, "REVERIE_JOBS_CONCURRENCY="+strconv.Itoa(c.concurrency))
	}
	if c.conns > 0 {
		w.env = append(w.env, "REVERIE_DATABASE_MAX_CONNS="+strconv.Itoa(c.conns))
	}
	cfg, _, _, err := config.Load(config.Input{Env: w.env, WorkDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	w.concurrency = cfg.Jobs.Concurrency
	return w
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
func (w *nightlyWorld) seed() {
	w.b.Helper()
	var statements, hashes pq.StringArray
	for i := range 10 {
		s := fmt.Sprintf("Fact number %d about what this group does together", i+1)
		statements, hashes = append(statements, s), append(hashes, text.ContentHash(s))
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

// run lets the processes do all that is due.
func (w *nightlyWorld) run() {
	w.b.Helper()
	began := time.Now()
	started := make([]*nightlyProcess, w.processes)
	for i := range started {
		args := []string{"evolve", "--due", "--json"}
		if w.shards {
			args = append(args, fmt.Sprintf("--shard=%d/%d", i, w.processes))
		}
		started[i] = w.start(args)
	}
	var failed error
	done := 0
	for _, p := range started {
		summary, err := p.wait()
		if err != nil && failed == nil {
			failed = err
		}
		done += summary.Windows
		w.used.skipped += summary.Skipped
		w.used.own += p.used
		w.peak = memory{max(w.peak.all, p.peak.all), max(w.peak.own, p.peak.own)}
	}
	w.used.wall += time.Since(began)
	if failed != nil {
		w.b.Fatal(failed)
	}
	if done != w.groups {
		w.b.Fatalf("%d windows are done, want %d", done, w.groups)
	}
	w.runs++
}

// nightlyProcess is the binary at work.
type nightlyProcess struct {
	*exec.Cmd
	out, errs bytes.Buffer
	ended     chan struct{}
	watched   chan memory
	used      time.Duration
	peak      memory
}

func (w *nightlyWorld) start(args []string) *nightlyProcess {
	p := &nightlyProcess{Cmd: exec.CommandContext(w.b.Context(), w.binary, args...), ended: make(chan struct{}), watched: make(chan memory, 1)}
	p.Env, p.Dir, p.Stdout, p.Stderr = w.env, w.b.TempDir(), &p.out, &p.errs
	if err := p.Start(); err != nil {
		w.b.Fatal(err)
	}
	go func() { p.watched <- watchPeak(p.Process.Pid, p.ended) }()
	return p
}

func (p *nightlyProcess) wait() (jobs.Summary, error) {
	err := p.Wait()
	close(p.ended)
	p.peak = <-p.watched
	if usage, ok := p.ProcessState.SysUsage().(*syscall.Rusage); ok {
		p.used = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	if err != nil {
		return jobs.Summary{}, fmt.Errorf("%w\n%s", err, p.errs.String())
	}
	lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
	var end cli.SummaryLine
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil {
		return jobs.Summary{}, fmt.Errorf("no summary: %w\n%s", err, p.errs.String())
	}
	return end.Summary, nil
}

// meter says how far the counters are.
func (w *nightlyWorld) meter() usage {
	u := usage{model: pgtest.OwnTime(), postgres: pgtest.PostgresTime(w.db), calls: w.model.calls.Load()}
	if w.wire != nil {
		u.wire = w.wire.counted()
	}
	if err := w.db.QueryRow(`select pg_database_size(current_database())`).Scan(&u.stored); err != nil {
		w.b.Fatal(err)
	}
	return u
}

// tally adds what a run took, and checks that it did what it should.
func (w *nightlyWorld) tally(began usage) {
	w.b.Helper()
	now, u := w.meter(), &w.used
	u.model += now.model - began.model
	u.postgres += now.postgres - began.postgres
	u.calls += now.calls - began.calls
	u.stored += now.stored - began.stored
	u.wire = u.wire.plus(now.wire.minus(began.wire))
	var left, runs, created, tokens int64
	err := w.db.QueryRow(`select (select count(*) from messages where run_id is null), (select count(*) from runs where status = 'succeeded'),
		(select count(*) from memories where run_id is not null), (select coalesce(sum(input_tokens + output_tokens), 0) from llm_calls)`).Scan(&left, &runs, &created, &tokens)
	if err != nil {
		w.b.Fatal(err)
	}
	n := int64(w.groups)
	if left != 0 || runs != n || created != 3*n {
		w.b.Fatalf("%d messages are left, %d runs, %d memories are new; want 0, %d and %d", left, runs, created, n, 3*n)
	}
	u.tokens += tokens
}
