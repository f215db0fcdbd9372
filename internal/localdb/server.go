package localdb

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// port is only a part of the socket's name: nothing listens on the network.
const port = "5432"

const (
	serverLog    = "server.log"
	maxServerLog = 8 << 20 // bytes from which the log starts over, keeping one old file
)

// footprint keeps the server small: its data is megabytes, and it shares a person's
// machine. Durability is PostgreSQL's own.
var footprint = map[string]string{
	"cluster_name":                     "reverie",
	"shared_buffers":                   "64MB",
	"max_connections":                  "100",
	"max_wal_senders":                  "0", // nothing replicates
	"wal_level":                        "minimal",
	"min_wal_size":                     "32MB",
	"max_wal_size":                     "256MB",
	"max_parallel_workers_per_gather":  "0", // a container's /dev/shm is small
	"max_parallel_maintenance_workers": "0",
	"jit":                              "off",
	"timezone":                         "UTC",
	"log_timezone":                     "UTC",
	"log_line_prefix":                  "%m [%p] ",
	"log_min_messages":                 "warning",
	"log_checkpoints":                  "off",
	"logging_collector":                "off",
}

// arguments are the server's. The given settings win over footprint, and what keeps the
// server private wins over both.
func arguments(loc Location, settings map[string]string) []string {
	all := maps.Clone(footprint)
	maps.Copy(all, settings)
	maps.Copy(all, map[string]string{
		"listen_addresses":        "",
		"unix_socket_directories": loc.Socket,
		"unix_socket_permissions": "0700",
		"port":                    port,
	})
	args := []string{"-D", loc.data()}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, "-c", name+"="+all[name])
	}
	return args
}

// checkStartedByHand fails where a server works on the data that no supervisor started,
// since server.lock was free. It belongs to somebody, and is left alone.
func checkStartedByHand(loc Location) error {
	pid, err := readPID(loc)
	if err != nil || pid == 0 || !isServing(pid, loc.data()) {
		return err
	}
	return fmt.Errorf("a PostgreSQL server that was started by hand (process %d) runs on %s: "+
		"stop it with `pg_ctl stop -D %s`", pid, loc.data(), loc.data())
}

// removeStale removes the files of a server that was killed. PostgreSQL would take them
// for a running server if another process has the same number by now. The caller holds
// server.lock and has called checkStartedByHand, so no server runs.
func removeStale(loc Location) error {
	socket := filepath.Join(loc.Socket, ".s.PGSQL."+port)
	for _, path := range []string{filepath.Join(loc.data(), "postmaster.pid"), socket, socket + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear up after a crash: %w", err)
		}
	}
	return nil
}

// readPID is the process number in postmaster.pid, 0 if there is none. The server writes
// the file when it starts, so it may be empty for a moment.
func readPID(loc Location) (int, error) {
	text, err := os.ReadFile(filepath.Join(loc.data(), "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the server's process id: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil || pid < 0 { // negative: a stand-alone backend
		return 0, nil
	}
	return pid, nil
}

// isServing tells whether pid is a PostgreSQL server on the data directory, and not
// another process that has got the same number since.
func isServing(pid int, data string) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil {
		return cwd == data // it works in its data directory
	}
	if _, err := os.Stat("/proc/self/cwd"); err == nil {
		return false // a zombie, or somebody else's
	}
	out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && bytes.Contains(out, []byte("-D "+data))
}

// openServerLog opens the log for appending, and starts it over when it is large.
func openServerLog(loc Location) (*os.File, error) {
	path := loc.path(serverLog)
	if info, err := os.Lstat(path); err == nil && info.Size() > maxServerLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("rotate the server's log: %w", err)
		}
	}
	f, err := openShared(path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	return f, nil
}

// size of a file in bytes, 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tail returns the last ten lines of a log from an offset on.
func tail(path string, from int64) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if from > int64(len(text)) { // it has started over since
		from = 0
	}
	lines := strings.Split(strings.TrimSpace(string(text[from:])), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

const (
	// watchEvery is how often the supervisor looks whether somebody uses the server.
	watchEvery = 100 * time.Millisecond
	// previousWait is how long the processes of a server before may take to end.
	previousWait = 15 * time.Second
)

// order says how to run a server. Start writes it to the supervisor's input.
type order struct {
	BinDir   string            `json:"bin_dir"`
	Settings map[string]string `json:"settings,omitempty"`
	Linger   time.Duration     `json:"linger_ns"`
}

// Supervise runs the server of the cluster at dir, the one given to [Start], and stops
// it when nobody uses it any more or when ctx ends. It is the whole work of the process
// that Start starts, and reads from its standard input how to run the server.
//
// The error has the server's own words where it does not start or ends by itself.
func Supervise(ctx context.Context, dir string) error {
	var how order
	if err := json.NewDecoder(io.LimitReader(os.Stdin, 1<<20)).Decode(&how); err != nil {
		return fmt.Errorf("read how to run the private database: %w; only reverie itself starts this process", err)
	}
	loc, err := Locate(dir)
	if err != nil {
		return err
	}
	users, err := openLock(loc.path(usersLock))
	if err != nil {
		return fmt.Errorf("run the private database: %w", err)
	}
	defer users.close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	runtime.LockOSThread() // the kernel ends the server with the thread that started it
	defer runtime.UnlockOSThread()
	for {
		err := runServer(ctx, loc, how, users, log)
		if !wasKilled(err) {
			return err
		}
		log.Warn("the server was killed; starting it again", "error", err)
	}
}

// runServer starts a server and returns when it has ended, by itself or because nobody
// uses it.
func runServer(ctx context.Context, loc Location, how order, users *flock, log *slog.Logger) error {
	logStart := size(loc.path(serverLog))
	server, err := serve(ctx, loc, how)
	if err != nil {
		return err
	}
	log.Info("started the server", "pid", server.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	if err := awaitUnused(ctx, users, how.Linger, ended); err != nil {
		return fmt.Errorf("PostgreSQL ended on %s: %w; its log, %s, ends with:\n%s",
			loc.data(), err, loc.path(serverLog), tail(loc.path(serverLog), logStart))
	}
	log.Info("stopping the server", "cause", context.Cause(ctx))
	return stop(server.Process, ended)
}

// wasKilled tells whether a server's end was a signal's doing and not its own, as over a
// wrong setting.
func wasKilled(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// awaitUnused returns when nobody has used the server for the time that it lingers, or
// when ctx ends. It then holds users exclusively, so that nobody joins a server that is
// being stopped. It fails when the server ends by itself.
func awaitUnused(ctx context.Context, users *flock, linger time.Duration, ended <-chan error) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var unusedSince time.Time
	for {
		free, err := users.try(syscall.LOCK_EX)
		switch now := time.Now(); {
		case err != nil:
			return err
		case !free:
			unusedSince = time.Time{}
		case unusedSince.IsZero():
			unusedSince = now
		}
		if free && time.Since(unusedSince) >= linger {
			return nil
		}
		if free {
			if err := users.release(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return cmp.Or(err, errors.New("it was not told to"))
		case <-tick.C:
		}
	}
}

// serve starts the server, which inherits server.lock. It waits until the processes of
// the one before are gone.
func serve(ctx context.Context, loc Location, how order) (*exec.Cmd, error) {
	lock, err := openLock(loc.path(serverLock))
	if err != nil {
		return nil, fmt.Errorf("run the private database: %w", err)
	}
	defer lock.close() // the server keeps its copy
	wait, cancel := context.WithTimeout(ctx, previousWait)
	defer cancel()
	if err := lock.take(wait, syscall.LOCK_EX); err != nil {
		return nil, err
	}
	if err := checkStartedByHand(loc); err != nil {
		return nil, err
	}
	if err := removeStale(loc); err != nil {
		return nil, err
	}
	log, err := openServerLog(loc)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(how.BinDir, "postgres"), arguments(loc, how.Settings)...)
	cmd.Dir, cmd.Env = "/", environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock.file}
	// In a group of its own: a signal to the supervisor's group is not for the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: loc.account.credential()}
	endWithParent(cmd.SysProcAttr, syscall.SIGINT)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return cmd, nil
}

// The steps of stopping a server: the signal, and how long until the next one.
var stopping = []struct {
	signal syscall.Signal
	wait   time.Duration
}{
	{syscall.SIGINT, time.Minute}, // fast shutdown
	{syscall.SIGQUIT, 15 * time.Second},
	{syscall.SIGKILL, 15 * time.Second},
}

func stop(server *os.Process, ended <-chan error) error {
	for _, step := range stopping {
		if err := server.Signal(step.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop PostgreSQL (process %d): %w", server.Pid, err)
		}
		timeout := time.NewTimer(step.wait)
		select {
		case <-ended:
			timeout.Stop()
			return nil
		case <-timeout.C:
		}
	}
	return fmt.Errorf("stop PostgreSQL: process %d does not end", server.Pid)
}

// superuser owns the private cluster. There is no password: the socket's
// directory is closed to others.
const superuser = "reverie"

// create makes the data directory. It is built under another name and renamed
// when it is whole, so that a death half-way leaves nothing that looks like a
// cluster. The caller holds start.lock.
func create(ctx context.Context, loc Location, in installation, settings map[string]string) error {
	old, _ := filepath.Glob(loc.path("data.new-*")) // of starters that died; fails on a bad pattern only
	for _, dir := range old {
		_ = os.RemoveAll(dir) // in the way of nothing
	}
	draft, err := os.MkdirTemp(loc.Dir, "data.new-")
	if err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	defer os.RemoveAll(draft)
	if err := loc.account.own(draft); err != nil {
		return err
	}
	out, err := initdb(ctx, loc, in, draft, "C.UTF-8", settings)
	if err != nil && strings.Contains(out, "locale") { // macOS before 15 has no C.UTF-8
		out, err = initdb(ctx, loc, in, draft, "C", settings)
	}
	if err != nil {
		return fmt.Errorf("make the private database in %s: initdb: %w\n%s", loc.Dir, err, strings.TrimSpace(out))
	}
	if err := os.Rename(draft, loc.data()); err != nil {
		return fmt.Errorf("make the private database: %w", err)
	}
	return nil
}

// initdb fills dir, and returns what it said.
func initdb(ctx context.Context, loc Location, in installation, dir, locale string, settings map[string]string) (string, error) {
	args := []string{
		"--pgdata=" + dir, "--username=" + superuser, "--encoding=UTF8", "--locale=" + locale,
		"--auth-local=trust", "--auth-host=reject", "--data-checksums",
	}
	if settings["fsync"] == "off" {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(in.bin, "initdb"), args...)
	cmd.Dir, cmd.Env = "/", environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: loc.account.credential()}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	endWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	runtime.LockOSThread() // the kernel ends initdb with the thread that started it
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return string(out), err
}

// environment is what PostgreSQL's programs see: nothing of the caller's PG*
// and locale variables.
func environment() []string {
	env := []string{"LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin"}
	for _, name := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
