//go:build unix

package localdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lib/pq"
)

func TestStartMakesAClusterThatKeepsItsData(t *testing.T) {
	dir := newDir(t)
	c := start(t, testOptions(dir))
	for range 2 { // the second finds it
		if err := c.EnsureDatabase(t.Context(), `odd "name"`); err != nil {
			t.Fatal(err)
		}
	}
	if log, err := os.ReadFile(c.Location().path(serverLog)); err != nil || strings.Contains(string(log), "already exists") {
		t.Errorf("the log of the server, and %v:\n%s", err, log)
	}
	if got := mustAsk(t, c, `SELECT count(*) FROM pg_database WHERE datname = 'odd "name"'`); got != "1" {
		t.Errorf("%s databases, want 1", got)
	}
	mustAsk(t, c, "CREATE TABLE kept AS SELECT 'here'::text AS it; SELECT 'made'")
	for setting, want := range map[string]string{
		"listen_addresses": "", "server_encoding": "UTF8", "data_checksums": "on", "fsync": "off",
		"timezone": "UTC", "unix_socket_permissions": "0700",
	} {
		if got := mustAsk(t, c, "SELECT setting FROM pg_settings WHERE lower(name) = '"+setting+"'"); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	awaitStop(t, dir)
	if _, err := os.Stat(filepath.Join(c.Location().data(), "postmaster.pid")); !os.IsNotExist(err) {
		t.Errorf("the server did not shut down in good order: %v", err)
	}

	again := start(t, testOptions(dir))
	if got := mustAsk(t, again, "SELECT it FROM kept"); got != "here" {
		t.Errorf("data is %q after a restart", got)
	}
	if err := again.EnsureDatabase(t.Context(), "new"); err != nil {
		t.Error(err)
	}
}

func TestDurabilityIsOnUnlessTurnedOff(t *testing.T) {
	o := testOptions(newDir(t))
	o.Settings = nil
	c := start(t, o)
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if got := mustAsk(t, c, "SELECT current_setting('"+setting+"')"); got != "on" {
			t.Errorf("%s is %q", setting, got)
		}
	}
}

func TestFilesAreClosedToOthers(t *testing.T) {
	c := start(t, testOptions(newDir(t)))
	loc := c.Location()
	for _, path := range []string{loc.Socket, loc.data()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
	for _, name := range []string{usersLock, startLock, serverLock, serverLog} {
		info, err := os.Stat(loc.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

func TestEnsureDatabaseAtTheSameTime(t *testing.T) {
	c := start(t, testOptions(newDir(t)))
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if err := c.EnsureDatabase(t.Context(), "wanted"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestLongDirectoryGetsAShortSocket(t *testing.T) {
	dir := filepath.Join(newDir(t), strings.Repeat("long/", 20))
	loc, err := Locate(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		awaitStop(t, dir)
		os.RemoveAll(loc.Socket)
	})
	c := start(t, testOptions(dir))
	if got := mustAsk(t, c, "SELECT 'up'"); got != "up" {
		t.Errorf("got %q", got)
	}
	if len(c.Location().Socket) > maxSocketDir || !strings.HasPrefix(c.Location().Socket, "/tmp/reverie-") {
		t.Errorf("the socket is in %s", c.Location().Socket)
	}
}

func TestStartSaysWhatPostgresSays(t *testing.T) {
	o := testOptions(newDir(t))
	o.Settings["no_such_setting"] = "1"
	_, err := Start(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), `unrecognized configuration parameter "no_such_setting"`) {
		t.Errorf("Start = %v, which does not say what PostgreSQL said", err)
	}
	delete(o.Settings, "no_such_setting")
	awaitStop(t, o.Dir)
	start(t, o) // the mistake is mended by the next start
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	o := testOptions(newDir(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := Start(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("Start = %v, %v", c, err)
	}
	left, _ := filepath.Glob(filepath.Join(o.Dir, "data*"))
	if len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestStartOnAFileInTheWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), testOptions(dir)); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("Start = %v", err)
	}
}

// Only what passes by itself is waited for.
func TestWhatPasses(t *testing.T) {
	for err, want := range map[error]bool{
		&pq.Error{Code: "57P03"}: true, &pq.Error{Code: "53300"}: true, syscall.ECONNREFUSED: true, syscall.ENOENT: true,
		&pq.Error{Code: "28000"}: false, syscall.EACCES: false,
	} {
		if got := passing(fmt.Errorf("connect: %w", err)); got != want {
			t.Errorf("%v passes: %v", err, got)
		}
	}
}
