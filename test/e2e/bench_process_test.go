package e2e

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// envBinary names a binary to measure, in the place of that which is built of this
// source: two of them can take turns.
const envBinary = "REVERIE_BENCH_BINARY"

// buildBinary builds the binary as make build does, which a benchmark measures.
func buildBinary(b *testing.B) string {
	b.Helper()
	if path := os.Getenv(envBinary); path != "" {
		return path
	}
	path := filepath.Join(b.TempDir(), "reverie")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "reverie/cmd/reverie")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build the binary: %v\n%s", err, out)
	}
	return path
}

// ownTime is what this process has used of the processors.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchPeak looks at the memory of a process until it has ended, and returns the most
// that it had, in KiB. What the kernel tells of it at its end would count the process
// that started it, too.
func watchPeak(pid int, ended <-chan struct{}) int64 {
	peak := int64(0)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return peak
		case <-tick.C:
		}
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // gone: what was seen last counts
		_, rest, _ := strings.Cut(string(raw), "VmHWM:")
		n, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if kib, err := strconv.ParseInt(n, 10, 64); err == nil {
			peak = max(peak, kib)
		}
	}
}

// postgresTime is what all processes of the server have used of the processors,
// 0 where it is on another machine. A server that others use counts theirs too.
func postgresTime(db *sql.DB) time.Duration {
	var backend int
	if err := db.QueryRow(`select pg_backend_pid()`).Scan(&backend); err != nil {
		return 0
	}
	own, ok := readProcess(backend)
	if !ok || !strings.HasPrefix(own.name, "postgres") {
		return 0
	}
	total := time.Duration(0)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		p, ok := readProcess(pid)
		switch {
		case !ok:
		case pid == own.parent:
			total += p.used + p.children // those that have ended
		case p.parent == own.parent:
			total += p.used
		}
	}
	return total
}

type processStat struct {
	name           string
	parent         int
	used, children time.Duration
}

func readProcess(pid int) (processStat, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if err != nil || open < 0 || end < open {
		return processStat{}, false
	}
	fields := strings.Fields(string(raw[end+1:])) // from the state, the third, on
	if len(fields) < 15 {
		return processStat{}, false
	}
	ticks := func(i int) time.Duration {
		n, _ := strconv.ParseInt(fields[i-3], 10, 64)
		return time.Duration(n) * (time.Second / 100) // Linux shows hundredths of a second
	}
	parent, _ := strconv.Atoi(fields[1])
	return processStat{string(raw[open+1 : end]), parent, ticks(14) + ticks(15), ticks(16) + ticks(17)}, true
}
