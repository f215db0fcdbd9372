package localdb

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
