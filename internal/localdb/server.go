//go:build unix

package localdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
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

// port is only part of the socket's name: the server does not listen on the network.
const port = "5432"

// footprint keeps the server small: it has megabytes of data and shares a person's machine. It does not change
// PostgreSQL's durability.
var footprint = map[string]string{
	"cluster_name":                     "reverie",
	"shared_buffers":                   "64MB",
	"max_connections":                  "100",
	"max_wal_senders":                  "0", // no replication
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

// arguments returns the server's arguments. The given settings override footprint; settings that keep the server
// private override both.
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

// checkStartedByHand fails if a server that no supervisor started runs on the data: server.lock is free, so
// somebody else started it. It is left alone. The server is recognised by the first socket in its postmaster.pid,
// or by the process's working directory, which is the data directory. Another process may have that process number
// by now.
func checkStartedByHand(loc Location) error {
	text, err := os.ReadFile(filepath.Join(loc.data(), "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	if err != nil || len(lines) < 5 {
		return nil // no file, or an incomplete one
	}
	conn, err := net.Dial("unix", filepath.Join(lines[4], ".s.PGSQL."+lines[3]))
	if err == nil {
		_ = conn.Close()
	} else if !worksOn(lines[0], loc.data()) {
		return nil
	}
	return fmt.Errorf("a PostgreSQL server that was started by hand (process %s) runs on %s: "+
		"stop it with `pg_ctl stop -D %s`", lines[0], loc.data(), loc.data())
}

// worksOn reports whether a process exists and has dir as working directory. If the system does not tell the
// directory, it returns true.
func worksOn(process, dir string) bool {
	pid, err := strconv.Atoi(process)
	if err != nil || pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		return true
	}
	at, err := os.Stat(filepath.Join("/proc", process, "cwd"))
	data, dataErr := os.Stat(dir)
	return err == nil && dataErr == nil && os.SameFile(at, data)
}

// removeStale removes the files of a killed server. PostgreSQL would take them for a running server if another
// process now has its number. The caller holds server.lock and has called checkStartedByHand, so no server runs.
func removeStale(loc Location) error {
	socket := filepath.Join(loc.Socket, ".s.PGSQL."+port)
	for _, path := range []string{filepath.Join(loc.data(), "postmaster.pid"), socket, socket + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear up after a crash: %w", err)
		}
	}
	return nil
}

const (
	// WatchEvery is how often the supervisor checks whether the server is in use.
	watchEvery = 100 * time.Millisecond
	// stopTimeout is how long a server may take to stop before it is killed.
	stopTimeout = time.Minute
	// defaultLinger is the default of [Options.Linger].
	defaultLinger = 2 * time.Second
)

// Supervise runs the server of the cluster at dir, which was given to [Start]. It stops the server when nobody uses
// it any more or ctx ends. It is the only task of the process that Start starts. It reads its [Options] from
// standard input, and inherits server.lock as the first file after the standard ones. It returns an error if the
// server does not start or ends by itself; the server's own messages are in its log.
func Supervise(ctx context.Context, dir string) error {
	var o Options
	if err := json.NewDecoder(io.LimitReader(os.Stdin, 1<<20)).Decode(&o); err != nil {
		return fmt.Errorf("read how to run the private database: %w; only reverie itself starts this process", err)
	}
	loc, err := Locate(dir)
	if err != nil {
		return err
	}
	users, err := openShared(loc.path(usersLock), os.O_RDWR)
	if err != nil {
		return fmt.Errorf("run the private database: %w", err)
	}
	defer users.Close()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	cmd := exec.CommandContext(serving, filepath.Join(o.BinDir, "postgres"), arguments(loc, o.Settings)...)
	cmd.Dir, cmd.Env = "/", environment()
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{os.NewFile(3, serverLock)}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // fast shutdown
	cmd.WaitDelay = stopTimeout
	// The server has its own process group: a signal to the supervisor's group must not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: loc.account.credential()}
	endWithParent(cmd.SysProcAttr)
	runtime.LockOSThread() // the kernel stops the server when the thread that started it ends
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if o.Linger == 0 {
		o.Linger = defaultLinger
	}
	if err := awaitUnused(ctx, users, o.Linger, ended); err != nil {
		return fmt.Errorf("PostgreSQL ended on %s: %w", loc.data(), err)
	}
	stop()
	<-ended
	return nil
}

// awaitUnused returns when nobody has used the server for the linger time, or when ctx ends. It then holds users
// exclusively, so that nobody joins a stopping server. It fails if the server ends by itself.
func awaitUnused(ctx context.Context, users *os.File, linger time.Duration, ended <-chan error) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for lastUsed := time.Now(); ; {
		free, err := tryLock(users, syscall.LOCK_EX)
		switch {
		case err != nil:
			return err
		case !free:
			lastUsed = time.Now()
		case time.Since(lastUsed) >= linger:
			return nil
		default:
			if err := syscall.Flock(int(users.Fd()), syscall.LOCK_UN); err != nil {
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

// superuser owns the private cluster. It has no password: the socket's directory is closed to other users.
const superuser = "reverie"

// create creates the data directory. It is built under another name and renamed when it is complete, so that an
// interruption leaves nothing that looks like a cluster. The caller holds start.lock.
func create(ctx context.Context, loc Location, in installation, settings map[string]string) error {
	old, _ := filepath.Glob(loc.path("data.new-*")) // from starters that died; fails only for an invalid pattern
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

// initdb fills dir, and returns the program's output.
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: loc.account.credential()}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return string(out), err
}

// environment returns the environment of PostgreSQL's programs, without the caller's PG* and locale variables.
func environment() []string {
	env := []string{"LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin"}
	for _, name := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
