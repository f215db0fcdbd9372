package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
	"reverie/internal/localdb"
	"reverie/store/pgtest"
)

// server is a PostgreSQL of the test's own, which it may treat as it likes.
type server struct {
	t       *testing.T
	cluster *localdb.Cluster
	args    []string
	attr    *syscall.SysProcAttr
	cmd     *exec.Cmd     // while it runs
	gone    chan struct{} // closed when it has ended
	log     words
}

// newServer makes a cluster and starts its server without a supervisor, which
// would start it again by itself.
func newServer(t *testing.T) *server {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "reverie-e2e") // short, for the socket's sake
	if err != nil {
		t.Fatal(err)
	}
	return newServerIn(t, root)
}

// newServerIn is newServer in a directory, which is its own.
func newServerIn(t *testing.T, root string) *server {
	t.Helper()
	if err := os.Chmod(root, 0o755); err != nil { // the server of root runs as somebody else
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "cluster")
	v := &server{t: t}
	v.cluster, err = localdb.Start(t.Context(), localdb.Options{Dir: dir, Linger: -1, Settings: map[string]string{"fsync": "off"},
		Supervisor: []string{"env", envMain + "=1", "GORACE=atexit_sleep_ms=0", self, "local-server", dir}})
	if err != nil {
		t.Fatal(err)
	}
	loc := v.cluster.Location()
	t.Cleanup(func() {
		v.crash()
		for _, path := range []string{loc.Socket, loc.Dir, root} {
			if err := os.RemoveAll(path); err != nil {
				t.Error(err)
			}
		}
	})
	data := filepath.Join(loc.Dir, "data")
	line, err := os.ReadFile(filepath.Join(data, "postmaster.opts"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cluster.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := localdb.AwaitStop(ctx, dir); err != nil {
		t.Fatal(err)
	}
	program, rest, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	v.args = []string{program}
	for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(rest, -1) {
		v.args = append(v.args, m[1])
	}
	if owner := info.Sys().(*syscall.Stat_t); os.Geteuid() == 0 { // PostgreSQL refuses root
		v.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	v.up()
	return v
}

// up starts the server and waits until it answers.
func (v *server) up() {
	v.t.Helper()
	v.cmd = exec.Command(v.args[0], v.args[1:]...)
	v.cmd.Dir, v.cmd.Stdout, v.cmd.Stderr, v.cmd.SysProcAttr = "/", &v.log, &v.log, v.attr
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	cmd, gone := v.cmd, make(chan struct{})
	v.gone = gone
	go func() {
		_ = cmd.Wait() // it ends with an error of its own
		close(gone)
	}()
	until(v.t, "a server that answers", v.pings)
}

// pings tells whether the server answers.
func (v *server) pings() bool {
	db, err := sql.Open("postgres", v.cluster.URL("postgres"))
	if err != nil {
		v.t.Fatal(err)
	}
	defer db.Close()
	return db.PingContext(v.t.Context()) == nil
}

// crash is pg_ctl stop -m immediate: every process of the server ends at once,
// without a word to its clients.
func (v *server) crash() {
	if v.cmd == nil {
		return
	}
	if err := v.cmd.Process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		v.t.Errorf("stop the server: %v\n%s", err, v.log.String())
	}
	<-v.gone
	v.cmd = nil
}

// exec is a statement of the server's administrator.
func (v *server) exec(query string) {
	v.t.Helper()
	db, err := sql.Open("postgres", v.cluster.URL("postgres"))
	if err != nil {
		v.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(v.t.Context(), query); err != nil {
		v.t.Fatalf("%s: %v", query, err)
	}
}

// stage is a stage on a database of the server's.
func (v *server) stage(name string) *stage {
	v.t.Helper()
	if err := v.cluster.EnsureDatabase(v.t.Context(), name); err != nil {
		v.t.Fatal(err)
	}
	v.exec(`alter database ` + name + ` set timezone = '` + pgtest.TimeZone + `'`)
	s := &stage{t: v.t, url: v.cluster.URL(name), model: llmtest.New(v.t), home: v.t.TempDir()}
	s.env = []string{"HOME=" + s.home, "PATH=/usr/local/bin:/usr/bin:/bin", "REVERIE_DATABASE_URL=" + s.url,
		"REVERIE_LLM_BASE_URL=" + s.model.URL("openai"), "REVERIE_LLM_ATTEMPTS=1", "REVERIE_EMBED_PROVIDER=offline", anyPort, newYear,
		"REVERIE_SCHEDULE_EXTRACT=never", "REVERIE_SCHEDULE_DREAM=never", "REVERIE_SCHEDULE_MAINTAIN=never"}
	db, err := sql.Open("postgres", s.url)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = db.Close() })
	s.db = db
	s.run("migrate", "up").want(v.t, 0)
	return s
}

var httpAddr = regexp.MustCompile(`http=(127\.0\.0\.1:\d+)`)

// probe is what a daemon answers to a probe.
func (p *process) probe(path string) (int, string) {
	p.t.Helper()
	p.says("http=", 1)
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+httpAddr.FindStringSubmatch(p.err.String())[1]+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", path, err, p.err.String())
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// TestDatabaseRestarts has one server, which is crashed once and then several times.
func TestDatabaseRestarts(t *testing.T) {
	t.Parallel()
	v := newServer(t)
	defer func() { v.t = t }() // for what the server leaves behind
	for _, c := range []struct {
		name string
		test func(*testing.T, *server)
	}{{"once", testRestart}, {"again", testRestartsAgain}} {
		t.Run(c.name, func(t *testing.T) {
			v.t = t
			c.test(t, v)
		})
	}
}

// testRestart crashes PostgreSQL under a command and a daemon that are
// at twelve groups each. For half of them the model answers while there is no
// database, for the others when it is back. Nobody is to blame, and what was not
// done then is done next.
func testRestart(t *testing.T, v *server) {
	t.Helper()
	c := crowdOf(12, 2)
	twoChunks := func(group string, n int) []string { return life(group, n)[:3] }
	calm := newStage(t)
	calm.set("REVERIE_EMBED_PROVIDER=offline")
	calm.settle(c, twoChunks)
	calm.model.Respond(scribe(t))
	calm.run("evolve", "--due").want(t, 0)
	want := calm.states(c)
	calm.once(c)

	command, resident := v.stage("command"), v.stage("resident")
	asked := make(chan struct{}, 4*c.windows())
	down, back := make(chan struct{}), make(chan struct{})
	for _, s := range []*stage{command, resident} {
		s.settle(c, twoChunks)
		s.model.Respond(func(r llmtest.Request) llmtest.Answer {
			asked <- struct{}{}
			if asker(t, r) <= "g06" {
				return llmtest.Text(transcribe(t, r)).After(down)
			}
			return llmtest.Text(transcribe(t, r)).After(back)
		})
	}
	once, daemon := command.launch("evolve", "--due"), resident.launch("run")
	for range 2 * len(c.groups) {
		await(t, "a question", asked)
	}
	if code, body := daemon.probe("/readyz"); code != http.StatusOK {
		t.Errorf("/readyz says %d %s", code, body)
	}
	v.crash()
	until(t, "/readyz without a database", func() bool { code, _ := daemon.probe("/readyz"); return code == http.StatusServiceUnavailable })
	if code, body := daemon.probe("/healthz"); code != http.StatusOK {
		t.Errorf("/healthz says %d %s", code, body)
	}
	close(down)
	once.says("deferred: ", 6)
	daemon.says("group deferred", 6)
	v.up()
	until(t, "/readyz with a database", func() bool { code, _ := daemon.probe("/readyz"); return code == http.StatusOK })
	close(back)
	o := once.end().want(t, 4).shows(t, "6 groups done, 0 skipped, 6 deferred, 0 failed; 12 windows finished, 12 left")
	if strings.Contains(o.stderr, "panic") || strings.Contains(o.stderr, "failed:") {
		t.Errorf("stderr says\n%s", o.stderr)
	}
	daemon.says("task ended", 1)
	daemon.stop()
	for _, s := range []*stage{command, resident} {
		if got := s.rows(`select * from setbacks`); len(got) > 0 {
			t.Errorf("groups are blamed for the database: %q", got)
		}
		s.exec(`update leases set expires_at = 'epoch'`) // of those that could not be given back
	}
	command.run("evolve", "--due").want(t, 0).shows(t, "6 groups done, 0 skipped, 0 deferred, 0 failed")
	next := resident.launch("run")
	next.says("task done", 1)
	next.stop()
	for _, s := range []*stage{command, resident} {
		s.once(c)
		if diff := cmp.Diff(want, s.states(c)); diff != "" {
			t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
		}
		if n, lost := len(s.questions()), 6; n != c.windows()+lost {
			t.Errorf("%d questions were asked, want %d and the %d whose answers nobody could store", n, c.windows(), lost)
		}
	}
}

// testRestartsAgain crashes PostgreSQL several times, and starts it at
// once, while many groups are in any state whatever.
func testRestartsAgain(t *testing.T, v *server) {
	t.Helper()
	c := crowdOf(12, 3)
	total := len(c.groups) * chunksOfLife
	calm := livingStage(t, c)
	calm.run("evolve", "--due").want(t, 0)
	want := calm.learnt(c)

	s := v.stage("busy")
	s.set("REVERIE_EVOLVE_MAX_MESSAGES=2", "REVERIE_JOBS_CONCURRENCY=10")
	s.settle(c, life)
	crash, up := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if k := n.Add(1); k == 5 || k == 17 || k == 30 {
			crash <- struct{}{}
			<-up
		}
		return llmtest.Text(transcribe(t, r))
	})
	for left := total; ; {
		p := s.launch("evolve", "--due")
		for ended := false; !ended; {
			select {
			case <-crash:
				v.crash()
				v.up()
				up <- struct{}{}
			case <-p.done:
				ended = true
			}
		}
		o := p.end()
		if o.code != 0 && o.code != 4 {
			t.Fatalf("exit code %d, want 0 or 4: nothing of this is a group's fault\n%s%s", o.code, o.stdout, o.stderr)
		}
		t.Log(o.stdout[strings.LastIndex(strings.TrimSpace(o.stdout), "\n")+1:])
		now := total - len(s.rows(`select 1 from run_chunks where status in ('applied', 'held')`))
		if now == 0 {
			break
		}
		if now == left {
			t.Fatalf("nothing was done:\n%s%s", o.stdout, o.stderr)
		}
		left = now
		s.exec(`update leases set expires_at = 'epoch'`) // of those that could not be given back
	}
	s.run("evolve", "--due").want(t, 0) // settles what had no time for its last line
	if diff := cmp.Diff(want, s.learnt(c)); diff != "" {
		t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
	}
	// A run that found the server back in time is on the ledger as deferred, so
	// that a window may have several; but only one of them came to its end.
	if got, want := s.one(`select count(*), count(distinct (group_id, window_since)) from runs where status = 'succeeded'`),
		fmt.Sprintf("%d|%d", c.windows(), c.windows()); got != want {
		t.Errorf("runs that succeeded and their windows are %s, want %s", got, want)
	}
	if got := s.rows(`select group_id, status, error from runs where status not in ('succeeded', 'deferred')`); len(got) > 0 {
		t.Errorf("other runs are %q", got)
	}
	if got := s.rows(`select c.group_id, m from run_chunks c, unnest(c.message_ids) m where c.status = 'applied' group by 1, 2 having count(*) > 1`); len(got) > 0 {
		t.Errorf("applied twice: %q", got)
	}
	t.Log(len(s.questions())-total, "answers could not be stored")
}

// learnt is what all groups remember, why, and what became of each message,
// whatever runs that took.
func (s *stage) learnt(c crowd) []string {
	s.t.Helper()
	var out []string
	for _, row := range s.states(c) {
		if part := strings.Fields(row)[1]; part == "memory" || part == "evidence" || strings.HasPrefix(row, "setback") {
			out = append(out, row)
		}
	}
	out = append(out, s.rows(`select group_id, message_id, outcome from messages order by 1, 2`)...)
	return append(out, s.rows(`select group_id, action, old_statement, new_statement, version, evidence from memory_change_log order by 1, 2, 3, 4`)...)
}
