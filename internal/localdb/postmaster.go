package localdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// port is only a part of the socket's name: nothing listens on the network.
const port = "5432"

// footprint keeps the server small: its data is megabytes, and it shares a
// person's machine. Durability is PostgreSQL's own.
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

// maxServerLog is the size, in bytes, from which the server's log starts over,
// keeping one old file.
const maxServerLog = 8 << 20

// postmaster is the server process, our child or one that an earlier supervisor
// started.
type postmaster struct {
	loc   Location
	pid   int
	child bool
	ended bool               // known to have
	exit  syscall.WaitStatus // of a child that ended
}

// serve starts the server. held is server.lock, taken: the server inherits it.
func serve(loc Location, r record, held *flock) (*postmaster, error) {
	if err := clearStale(loc); err != nil {
		return nil, err
	}
	log, err := openServerLog(loc)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(r.BinDir, "postgres"), arguments(loc, r.Settings)...)
	cmd.Dir, cmd.Env = "/", environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{held.file}
	// A group of its own: a signal to the supervisor's group is not for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: loc.account.credential()}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	p := &postmaster{loc: loc, pid: cmd.Process.Pid, child: true}
	_ = cmd.Process.Release() // reaped by its id, see reap
	return p, nil
}

// arguments are the server's, the given settings last and so strongest, but
// for what keeps it private.
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

// byHand refuses to go on when a server that we did not start, since nothing
// holds server.lock, works on the data. It is somebody's, and left alone.
func byHand(loc Location) error {
	pid, err := readPID(loc)
	if err != nil || pid == 0 || !isServing(pid, loc.data()) {
		return err
	}
	return fmt.Errorf("a PostgreSQL server that was started by hand (process %d) runs on %s: stop it with `pg_ctl stop -D %s`",
		pid, loc.data(), loc.data())
}

// clearStale removes what a crash or a reboot left, which PostgreSQL would take
// for a running server if the process id in it were somebody else's by now. The
// caller holds server.lock and has asked byHand, so no server runs.
func clearStale(loc Location) error {
	socket := filepath.Join(loc.Socket, ".s.PGSQL."+port)
	for _, path := range []string{filepath.Join(loc.data(), "postmaster.pid"), socket, socket + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear up after a crash: %w", err)
		}
	}
	return nil
}

// adopt finds the server that an earlier supervisor left running. It returns
// nil while there is none to be seen: one that is only starting, or processes
// that outlive a dead server for a moment.
func adopt(loc Location) (*postmaster, error) {
	pid, err := readPID(loc)
	if err != nil || pid <= 0 || !isServing(pid, loc.data()) {
		return nil, err
	}
	return &postmaster{loc: loc, pid: pid}, nil
}

// reap tells whether the server's main process has ended, and notes how.
func (p *postmaster) reap() bool {
	switch {
	case p.ended:
	case p.child:
		pid, err := syscall.Wait4(p.pid, &p.exit, syscall.WNOHANG, nil)
		p.ended = pid == p.pid || errors.Is(err, syscall.ECHILD)
	default:
		p.ended = !isServing(p.pid, p.loc.data())
	}
	return p.ended
}

// refused tells that the server gave up by itself, as it does over a wrong
// setting, rather than being killed or stopped.
func (p *postmaster) refused() bool { return p.ended && p.exit.Exited() && p.exit.ExitStatus() != 0 }

// The steps of stopping a server: how, and how long until the next.
var stopping = []struct {
	signal syscall.Signal
	name   string
	wait   time.Duration
}{
	{syscall.SIGINT, "fast shutdown", time.Minute},
	{syscall.SIGQUIT, "immediate shutdown", 15 * time.Second},
	{syscall.SIGKILL, "kill", 15 * time.Second},
}

// stop ends the server and waits until its last process is gone, which is when
// lock can be taken. It returns with lock held.
func (p *postmaster) stop(lock *flock, log *slog.Logger) error {
	for i, step := range stopping {
		if i > 0 {
			log.Warn("the server takes long to stop", "pid", p.pid, "next", step.name)
		}
		if !p.reap() {
			if err := syscall.Kill(p.pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("stop PostgreSQL (process %d): %w", p.pid, err)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), step.wait)
		err := lock.take(ctx, syscall.LOCK_EX)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			p.reap()
			return err
		}
	}
	return fmt.Errorf("stop PostgreSQL: processes of server %d do not end", p.pid)
}

// readPID is the process id in postmaster.pid, 0 if there is none. The server
// writes the file when it starts, so it may be empty for a moment.
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

// isServing tells whether pid is a PostgreSQL server on the data directory, not
// just any process that has got the same number since.
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

// openServerLog opens the log for appending, starting over when it is big.
func openServerLog(loc Location) (*os.File, error) {
	path := loc.path("server.log")
	if info, err := os.Lstat(path); err == nil && info.Size() > maxServerLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("turn the server's log: %w", err)
		}
	}
	f, err := openShared(path, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	return f, nil
}
