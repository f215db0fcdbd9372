//go:build torture

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// postgresRestarted stops PostgreSQL immediately, again and again, under a daemon and
// commands of all kinds, and starts it at once. The server recovers from its log, as after
// a crash of its processes; that the disk forgets what was not synced is another matter,
// which an operating system must be stopped for, so that fsync is off here as elsewhere.
var postgresRestarted = &ordeal{name: "PostgreSQL restarted under load", run: func(t *testing.T, o *ordeal) {
	restarts, groups := 50, 24
	if testing.Short() {
		restarts, groups = 3, 6
	}
	c := crowdOf(groups, 0)
	calm := newStage(t)
	calm.set(underLoad...)
	calm.model.Respond(scribe(t))
	s := newServer(t).load(t)
	random := rand.New(rand.NewPCG(tortureSeed(t), 50))
	var asked atomic.Int64
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		asked.Add(1)
		return llmtest.Text(transcribe(t, r))
	})

	const nightsEach = 6 // between two restarts
	w := s.workers(c)
	for range restarts {
		for range nightsEach {
			w.nights <- struct{}{}
		}
		from, questions := asked.Load(), int64(random.IntN(2*nightsEach))
		patient, cancel := context.WithTimeout(t.Context(), 3*time.Second) // the groups may be held by those who lost the last one
		again := time.NewTicker(time.Millisecond)
		for asked.Load() < from+questions && patient.Err() == nil {
			<-again.C
		}
		again.Stop()
		cancel()
		s.server.crash()
		s.server.up()
		o.trial(t, s.stage)
	}
	brought := w.stop()
	if brought == 0 || asked.Load() == 0 {
		t.Errorf("%d nights were brought and %d questions asked: nothing was under way", brought, asked.Load())
	}
	s.settled()
	o.trial(t, s.stage)
	for n := range brought {
		calm.brings(c, n).want(t, 0)
	}
	calm.run("evolve", "--due").want(t, 0)
	calm.run("extract", "--all").want(t, 0)
	if diff := cmp.Diff(calm.lasting(), s.lasting()); diff != "" {
		t.Errorf("the end differs from that of an undisturbed life (-want +got):\n%s", diff)
	}
	if got := s.rows(`select group_id, job, failures, error from setbacks union all select group_id, session_id, failures, failure from sessions where failures > 0`); len(got) > 0 {
		t.Errorf("groups are blamed for the database: %q", got)
	}
	for code, ends := range w.codes { // a restart that no command met with proves nothing
		if code != 0 {
			o.strikes(ends)
		}
	}
	t.Logf("%d restarts, %d nights of %d groups, %d questions; ends of commands by exit code: %v", restarts, brought, groups, asked.Load(), w.codes)
}}

// underLoad is what all of this ordeal runs with.
var underLoad = []string{"REVERIE_EMBED_PROVIDER=offline", "REVERIE_EVOLVE_MAX_MESSAGES=2", "REVERIE_EVOLVE_HOLD_MIN=1000", "REVERIE_JOBS_CONCURRENCY=6"}

// loaded is a stage whose server is crashed, and the daemon on it.
type loaded struct {
	*stage
	server *server
	daemon *process
	base   string // where the daemon answers
}

func (v *server) load(t *testing.T) *loaded {
	s := v.stage("torture")
	s.set(underLoad...)
	s.set("REVERIE_SCHEDULE_EVOLVE=@every 1m", "REVERIE_SCHEDULE_EXTRACT=@every 1m", "REVERIE_LOG_FORMAT=json")
	p := startBinary(t, toBreak(t), s.env, "run", "--listen", "127.0.0.1:0")
	p.says(`"msg":"serving"`, 1)
	return &loaded{stage: s, server: v, daemon: p, base: servesAt.FindStringSubmatch(p.err.String())[1]}
}

// brings imports the n-th night that is brought, of one group after the other.
func (s *stage) brings(c crowd, n int) outcome {
	group := c.groups[n%len(c.groups)]
	k := n / len(c.groups)
	lines := chat(time.Date(2025, 1, 1+k, 0, 0, 0, 0, time.UTC).Format(time.DateOnly),
		fmt.Sprintf("note %s did thing %d", group, k), "hello", fmt.Sprintf("again %s did thing %d", group, k-1),
		fmt.Sprintf("change %s did thing %d => %s has done thing %d", group, k-2, group, k-2), "good night")
	path := filepath.Join(s.home, fmt.Sprintf("night-%d.jsonl", n))
	if err := os.WriteFile(path, []byte(jsonLines(s.t, lines)), 0o600); err != nil {
		s.t.Error(err)
	}
	return s.broken("import", path, "--group", group, "--time-zone", "Asia/Shanghai")
}

// broken is an invocation of the binary that is broken, or whose world is.
func (s *stage) broken(args ...string) outcome {
	s.t.Helper()
	return startBinary(s.t, toBreak(s.t), s.env, args...).end()
}

// workers are those who use a database at a time, while it comes and goes.
type workers struct {
	nights  chan struct{} // that may be brought
	over    context.CancelFunc
	wait    sync.WaitGroup
	brought int

	mu    sync.Mutex
	codes map[int]int
}

// workers begins to bring nights, to do all jobs, and to search.
func (s *loaded) workers(c crowd) *workers {
	ctx, cancel := context.WithCancel(s.t.Context())
	w := &workers{nights: make(chan struct{}, 1000), over: cancel, codes: map[int]int{}}
	w.wait.Go(func() {
		for range w.nights {
			for w.ended(s.t, s.brings(c, w.brought)) != 0 {
				// The database was away; nothing of it is there, or all.
			}
			w.brought++
		}
	})
	for _, args := range [][]string{{"evolve", "--due"}, {"extract", "--all"}, {"dream", "--due"}} {
		w.wait.Go(func() {
			for ctx.Err() == nil {
				w.ended(s.t, s.broken(args...))
			}
		})
	}
	w.wait.Go(func() {
		answered := 0
		for n := 0; ctx.Err() == nil || answered == 0; n++ {
			each, cancel := context.WithTimeout(s.t.Context(), patience)
			_, err := search(each, s.base, c.groups[n%len(c.groups)], "who did thing 1?", nil)
			if err == nil {
				answered++
			}
			if each.Err() != nil {
				s.t.Errorf("a search hangs: %v", err)
			}
			cancel()
		}
	})
	return w
}

// ended counts how a command ended, which must have said what was wrong.
func (w *workers) ended(t testing.TB, o outcome) int {
	o.clean(t)
	if !slices.Contains([]int{0, 1, 4, 11}, o.code) {
		t.Errorf("reverie %s: exit code %d, which is not the database's:\n%s%s", strings.Join(o.args, " "), o.code, o.stdout, o.stderr)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.codes[o.code]++
	return o.code
}

// stop lets the workers end, and says how many nights were brought.
func (w *workers) stop() int {
	close(w.nights)
	w.over()
	w.wait.Wait()
	return w.brought
}

// settled stops the daemon, which has lived through it all, and does what is left.
func (s *loaded) settled() {
	s.t.Helper()
	o := s.daemon.stop()
	o.clean(s.t)
	s.exec(`update leases set expires_at = 'epoch'`) // of those that could not be given back
	s.run("evolve", "--due").want(s.t, 0)
	s.run("extract", "--all").want(s.t, 0)
}

// lasting is what all groups remember of what was said, and what became of each
// message, in however many runs and chunks. Summaries and dreams are made of what there
// is when they are made, and left out.
func (s *stage) lasting() []string {
	s.t.Helper()
	var out []string
	for _, part := range []struct{ name, query string }{
		{"memory", `select m.group_id, m.statement, m.version, m.status, m.strength, m.weight, m.last_supported_at, m.change_summary, p.statement from memories m
			left join memories p on p.group_id = m.group_id and p.memory_id = m.parent_id where m.kind = 'group' order by m.group_id, m.statement collate "C", m.version`},
		{"evidence", `select e.group_id, m.statement, m.version, e.message_id, e.quote, e.action from memory_evidence e join memories m using (group_id, memory_id)
			where m.kind = 'group' order by 1, 2, 3, 4, 6`},
		{"change", `select c.group_id, c.action, c.old_statement, c.new_statement, c.version from memory_change_log c join memories m using (group_id, memory_id)
			where m.kind = 'group' order by 1, 2, 3, 4`},
		{"message", `select group_id, message_id, outcome from messages order by 1, 2`},
		{"fact", `select distinct group_id, statement from memories where kind = 'session' and status = 'active' and not 'summary' = any (tags) order by 1, 2`},
		{"claim", `select c.group_id, e.subject, c.name, c.value, c.status from entity_claims c join entities e using (group_id, entity_id) order by 1, 2, 3, 4`},
	} {
		for _, row := range s.rows(part.query) {
			out = append(out, part.name+" "+row)
		}
	}
	return out
}
