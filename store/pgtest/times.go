package pgtest

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// OwnTime is what this process has used of the processors.
func OwnTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PostgresTime is what all processes of the server have used of the processors,
// 0 where it is on another machine. A server that others use counts theirs too.
func PostgresTime(db *sql.DB) time.Duration {
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
