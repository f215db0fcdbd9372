package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reverie/internal/localdb"
)

// stranger is a user who has nothing: no database, no key, no data yet.
type stranger struct {
	t   *testing.T
	dir string // of the private database
	env []string
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	root, err := os.MkdirTemp("", "reverie-e2e")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil { // the server of root runs as somebody else
		t.Fatal(err)
	}
	s := &stranger{t: t, dir: filepath.Join(root, "data", "reverie"),
		env: []string{"HOME=" + root, "XDG_DATA_HOME=" + filepath.Join(root, "data"), "PATH=" + os.Getenv("PATH")}}
	t.Cleanup(func() {
		s.awaitStop()
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	return s
}

// run is an invocation in a process of its own, since it is processes that the
// private database lives and ends with.
func (s *stranger) run(args ...string) outcome {
	s.t.Helper()
	return start(s.t, s.env, args...).end()
}

// awaitStop waits until the private database has stopped.
func (s *stranger) awaitStop() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), patience)
	defer cancel()
	if err := localdb.AwaitStop(ctx, s.dir); err != nil {
		s.t.Errorf("the private database has not stopped: %v", err)
	}
}

// running tells whether a server has the data directory.
func (s *stranger) running() bool {
	_, err := os.Stat(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Error(err)
	}
	return err == nil
}

// TestPrivateDatabase goes the way of somebody who has just built the binary:
// everything works without a database, a model or a key of one's own.
func TestPrivateDatabase(t *testing.T) {
	t.Parallel()
	s := newStranger(t)
	for _, args := range [][]string{{"version"}, {"config", "--json"}, {"config", "init"}} {
		s.run(args...).want(t, 0).silent(t)
	}
	s.run("evolve", "--group", "g1").want(t, 2, "`reverie init`", "REVERIE_LLM_PROVIDER")
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a database was made for nothing: %v", err)
	}
	// The very first invocations that need one may come together.
	first := []*process{start(t, s.env, "runs", "list"), start(t, s.env, "migrate", "status")}
	for _, p := range first {
		p.end().want(t, 0).silent(t)
	}
	chat := filepath.Join("..", "..", "test", "halfframe", "chat.jsonl")
	chat, err := filepath.Abs(chat)
	if err != nil {
		t.Fatal(err)
	}
	s.run("import", chat, "--group", "g1", "--time-zone", "Asia/Shanghai").want(t, 0).silent(t)
	if !s.running() {
		t.Error("no server is left for the command that follows at once")
	}
	doc := s.run("evolve", "--group", "g1", "--llm", "offline", "--json").want(t, 0).silent(t).document(t)
	if doc["success"] != true || doc["stats"].(object)["created"].(float64) < 1 {
		t.Fatalf("the reply is %v", doc)
	}
	listed := s.run("memory", "list", "--group", "g1", "--json").want(t, 0).silent(t).document(t)
	memories := listed["memories"].(list)
	one := memories[0].(object)
	id, statement := one["memory_id"].(string), one["statement"].(string)
	found := s.run("memory", "search", "--group", "g1", "--limit", "1", statement).want(t, 0).silent(t) // without --llm offline
	if !strings.Contains(found.stdout, statement) {
		t.Errorf("searching for %q finds\n%s", statement, found.stdout)
	}
	s.run("memory", "delete", id).want(t, 0).silent(t)
	s.run("memory", "restore", id).want(t, 0).silent(t)
	history := s.run("memory", "history", id, "--json").want(t, 0).silent(t).document(t)
	if history["current_version"] != 2.0 {
		t.Errorf("the history is %v", history)
	}
	s.run("migrate", "up").want(t, 0).silent(t)
	if o := s.run("doctor", "--llm", "offline").want(t, 0); !strings.Contains(o.stdout, "private") || !strings.Contains(o.stdout, "pgvector") {
		t.Errorf("doctor says\n%s", o.stdout)
	}
	s.run("doctor").want(t, 2) // no model is configured
	s.awaitStop()
	if s.running() {
		t.Error("the server outlives its last user")
	}
	// Several at once share one server, and the data is still there.
	var procs []*process
	for range 3 {
		procs = append(procs, start(t, s.env, "memory", "list", "--group", "g1", "--json"))
	}
	for _, p := range procs {
		if n := p.end().want(t, 0).silent(t).document(t)["total"]; n != float64(len(memories)) && n != listed["total"] {
			t.Errorf("%v memories, want %v", n, listed["total"])
		}
	}
	s.awaitStop()
}

// TestPrivateDatabaseWithoutPostgreSQL names what to do.
func TestPrivateDatabaseWithoutPostgreSQL(t *testing.T) {
	t.Parallel()
	s := newStranger(t)
	s.env = append(s.env, "REVERIE_DATABASE_BIN_DIR="+t.TempDir())
	s.run("runs", "list").want(t, 2, "REVERIE_DATABASE_URL")
}
