//go:build unix

package localdb

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestClientsShareAServerUntilTheLastIsKilled(t *testing.T) {
	dir := newDir(t)
	first, second := launchClient(t, dir), launchClient(t, dir)
	first.line()
	second.line()
	const postmaster = "SELECT pg_postmaster_start_time()::text"
	if a, b := first.ask(postmaster), second.ask(postmaster); a != b {
		t.Errorf("two servers, of %s and %s", a, b)
	}
	first.kill()
	if got := second.ask("SELECT 'alive'"); got != "alive" {
		t.Errorf("got %q after the other was killed", got)
	}
	second.kill()
	awaitStop(t, dir)
	if running(t, dir) {
		t.Error("the server outlived its users")
	}
}

func TestServerStopsWhenTheLastLeaves(t *testing.T) {
	dir := newDir(t)
	u := launchClient(t, dir)
	u.line()
	u.leave()
	awaitStop(t, dir)
}

func TestServerLingers(t *testing.T) {
	o := testOptions(newDir(t))
	o.Linger = 700 * time.Millisecond
	const postmaster = "SELECT pg_postmaster_start_time()::text"
	a := start(t, o)
	born := mustAsk(t, a, postmaster)
	a.Close()
	b := start(t, o)
	if got := mustAsk(t, b, postmaster); got != born {
		t.Error("the server did not linger for who came next")
	}
}

func TestManyStartANewClusterAtOnce(t *testing.T) {
	dir := newDir(t)
	clients := make([]*client, 6)
	for i := range clients {
		clients[i] = launchClient(t, dir)
	}
	births := map[string]bool{}
	for _, u := range clients {
		u.line()
		births[u.ask("SELECT system_identifier || ' ' || pg_postmaster_start_time() FROM pg_control_system()")] = true
	}
	if len(births) != 1 {
		t.Errorf("%d servers: %v", len(births), births)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "data.new-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Whoever starts while the server stops must end up with a running one.
func TestStartWhileStopping(t *testing.T) {
	o := testOptions(newDir(t))
	var all sync.WaitGroup
	for worker := range 3 {
		all.Go(func() {
			for round := range 8 {
				c, err := Start(t.Context(), o)
				if err != nil {
					t.Errorf("worker %d, round %d: %v", worker, round, err)
					return
				}
				if got, err := ask(c, "SELECT 'up'"); got != "up" {
					t.Errorf("worker %d, round %d: %v", worker, round, err)
				}
				c.Close()
				if worker == 0 { // now and then let it stop altogether
					ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
					_ = AwaitStop(ctx, o.Dir)
					cancel()
				}
			}
		})
	}
	all.Wait()
}

// A supervisor that is killed takes the server along. Whoever starts next has both again.
func TestKilledSupervisorLeavesNoServer(t *testing.T) {
	dir := newDir(t)
	u := launchClient(t, dir)
	u.line()
	u.ask("CREATE TABLE kept AS SELECT 'here'::text AS it; SELECT 'made'")
	killSupervisor(t, dir)
	awaitStop(t, dir)
	if running(t, dir) {
		t.Error("the server is an orphan")
	}
	next := launchClient(t, dir)
	next.line()
	if got := next.ask("SELECT it FROM kept"); got != "here" {
		t.Errorf("data is %q after the supervisor was killed", got)
	}
	u.kill()
	next.kill()
}

func TestSupervisorStopsWhenTold(t *testing.T) {
	dir := newDir(t)
	u := launchClient(t, dir)
	u.line()
	if err := syscall.Kill(supervisorPID(t, dir), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitStop(t, dir)
	if running(t, dir) {
		t.Error("the server runs without its supervisor")
	}
	u.kill()
}

// A server that was killed is there again for whoever starts next.
func TestCrashedServerIsStartedAgain(t *testing.T) {
	dir := newDir(t)
	c := start(t, testOptions(dir))
	mustAsk(t, c, "CREATE TABLE kept AS SELECT 'here'::text AS it; SELECT 'made'")
	born := mustAsk(t, c, "SELECT pg_postmaster_start_time()::text")
	if err := syscall.Kill(serverPID(t, c.Location()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	again := mustAsk(t, start(t, testOptions(dir)), "SELECT pg_postmaster_start_time()::text")
	if got := mustAsk(t, c, "SELECT it FROM kept"); got != "here" || again == born {
		t.Errorf("data is %q after a crash", got)
	}
}

// After everything was killed, as when the power fails, the files say that a
// server runs, with the id of a process that is somebody else's by now.
func TestStartAfterPowerCut(t *testing.T) {
	dir := newDir(t)
	u := launchClient(t, dir)
	u.line()
	u.ask("CREATE TABLE kept AS SELECT 'here'::text AS it; SELECT 'made'")
	loc, err := Locate(dir)
	if err != nil {
		t.Fatal(err)
	}
	pid := serverPID(t, loc)
	supervisor := supervisorPID(t, dir)
	for _, dies := range []struct {
		pid    int
		signal syscall.Signal
	}{{supervisor, syscall.SIGSTOP}, {pid, syscall.SIGKILL}, {supervisor, syscall.SIGKILL}} {
		if err := syscall.Kill(dies.pid, dies.signal); err != nil {
			t.Fatal(err)
		}
	}
	u.kill()
	awaitStop(t, dir) // its other processes

	foreign := exec.Command("sleep", "60")
	foreign.Dir = "/"
	foreign.SysProcAttr = &syscall.SysProcAttr{Credential: loc.account.credential()}
	if err := foreign.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { foreign.Process.Kill(); foreign.Wait() })
	socket := filepath.Join(loc.Socket, ".s.PGSQL."+port)
	for _, path := range []string{filepath.Join(loc.data(), "postmaster.pid"), socket + ".lock"} {
		replaceFirstLine(t, path, strconv.Itoa(foreign.Process.Pid))
	}
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("the test is void, no stale socket: %v", err)
	}
	c := start(t, testOptions(dir))
	if got := mustAsk(t, c, "SELECT it FROM kept"); got != "here" {
		t.Errorf("data is %q after a power cut", got)
	}
}

// A server that somebody started by hand is theirs: it is neither taken over
// nor damaged.
func TestServerStartedByHandIsLeftAlone(t *testing.T) {
	o := testOptions(newDir(t))
	c := start(t, o)
	loc := c.Location()
	c.Close()
	awaitStop(t, o.Dir)
	in, err := findInstallation(t.Context(), "", loc.data(), 0)
	if err != nil {
		t.Fatal(err)
	}
	// The first of its sockets is where nobody but the server itself finds it.
	byHand := exec.Command(filepath.Join(in.bin, "postgres"), "-D", loc.data(), "-c", "listen_addresses=", "-k", ".,"+loc.Socket, "-F")
	byHand.Dir = "/"
	byHand.SysProcAttr = &syscall.SysProcAttr{Credential: loc.account.credential()}
	if err := byHand.Start(); err != nil {
		t.Fatal(err)
	}
	defer byHand.Wait()
	defer byHand.Process.Signal(syscall.SIGINT)
	retry(t, func() (string, error) { return ask(c, "SELECT 'up'") }, "")
	if c, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "started by hand") {
		t.Errorf("Start = %v, %v", c, err)
	}
	if got := mustAsk(t, c, "SELECT 'up'"); got != "up" {
		t.Errorf("the server by hand says %q", got)
	}
}

// The locks of a killed client must not live on in its children.
func TestChildrenDoNotKeepTheServerRunning(t *testing.T) {
	dir := newDir(t)
	u := launchClient(t, dir, "with a child")
	child, err := strconv.Atoi(u.line())
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(child, syscall.SIGKILL)
	u.line()
	u.kill()
	awaitStop(t, dir)
	if err := syscall.Kill(child, 0); err != nil {
		t.Errorf("the test is void, the child is gone: %v", err)
	}
}

// A starter may die at any moment; the next one starts as if nothing happened.
func TestKilledStarters(t *testing.T) {
	dir := newDir(t)
	for after := range 12 {
		u := launchClient(t, dir)
		timer := time.NewTimer(time.Duration(after) * 40 * time.Millisecond)
		<-timer.C
		u.kill()
	}
	u := launchClient(t, dir)
	if got := u.line(); got != "ready" {
		t.Errorf("got %q", got)
	}
}

// supervisorPID finds the process that was launched for dir.
func supervisorPID(t *testing.T, dir string) int {
	t.Helper()
	loc, err := Locate(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ps", "-eo", "pid=,stat=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) == 5 && fields[3] == "local-server" && fields[4] == loc.Asked && !strings.HasPrefix(fields[1], "Z") {
			pid, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no supervisor of %s", dir)
	return 0
}

func killSupervisor(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Kill(supervisorPID(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// running tells whether a server works in the data directory.
func running(t *testing.T, dir string) bool {
	t.Helper()
	loc, err := Locate(dir)
	if err != nil {
		t.Fatal(err)
	}
	pid := serverPID(t, loc)
	return pid > 0 && syscall.Kill(pid, 0) == nil
}

// serverPID is the process number in postmaster.pid, 0 if there is none.
func serverPID(t *testing.T, loc Location) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(loc.data(), "postmaster.pid"))
	if os.IsNotExist(err) {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, parseErr := strconv.Atoi(line)
	if err != nil || parseErr != nil {
		t.Fatal(err, parseErr)
	}
	return pid
}

// retry calls f until it answers without an error and not with but.
func retry(t *testing.T, f func() (string, error), but string) string {
	t.Helper()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		got, err := f()
		if err == nil && got != but {
			return got
		}
		select {
		case <-ctx.Done():
			t.Fatalf("still %q, %v", got, err)
		case <-tick.C:
		}
	}
}

func replaceFirstLine(t *testing.T, path, line string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	if err := os.WriteFile(path, append([]byte(line+"\n"), rest...), 0o600); err != nil {
		t.Fatal(err)
	}
}
