package server

import (
	"bytes"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
)

// Files reserved for the database, the log and others, and the maximum number of connections.
const (
	otherFiles = 128
	mostConns  = 50_000
)

// Counted memory, in bytes: an idle connection, as measured, and the buffers of a request with a body, however
// small.
const (
	connSize = 24 << 10
	bodySize = 16 << 10
)

// Bounds of the memory for all running bodies. The lower one lets a client send the longest messages, with others
// beside it.
const (
	leastBodies = 32 << 20
	mostBodies  = 1 << 30
)

// someMemory is assumed if the available memory is unknown.
const someMemory = 1 << 30

// roomForConns returns the number of connections for which the process has files and memory: it uses half of the
// memory.
func roomForConns() int { return min(freeFiles(), int(min(memory()/2/connSize, mostConns))) }

// roomForBodies returns the bytes for all bodies: an eighth of the memory, since reading holds them about twice.
func roomForBodies(largest int64) int64 {
	return max(min(max(memory()/8, leastBodies), mostBodies), 4*largest)
}

// memory returns the bytes that the process may use: GOMEMLIMIT, otherwise those of its container or machine.
func memory() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	least := int64(math.MaxInt64)
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/proc/meminfo"} {
		if text, err := os.ReadFile(path); err == nil {
			least = min(least, sizeIn(text))
		}
	}
	if least == math.MaxInt64 {
		return someMemory
	}
	return least
}

// sizeIn parses a limit of a cgroup, or the total of /proc/meminfo: math.MaxInt64 for none.
func sizeIn(text []byte) int64 {
	words, unit := bytes.Fields(text), int64(1)
	if len(words) > 1 && string(words[0]) == "MemTotal:" {
		words, unit = words[1:], 1<<10
	}
	if len(words) == 0 {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(string(words[0]), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return math.MaxInt64
	}
	return n * unit
}

// budget bounds what all requests together may hold, and the part of one sender, so that nobody uses all of it.
type budget struct {
	most, each int64

	mu    sync.Mutex
	held  int64
	byKey map[string]int64
}

func newBudget(most, each int64) *budget {
	return &budget{most: most, each: each, byKey: map[string]int64{}}
}

// take adds n to a sender's use, unless that exceeds a bound.
func (b *budget) take(key string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+n > b.most || b.byKey[key]+n > b.each {
		return false
	}
	b.held += n
	b.byKey[key] += n
	return true
}

// give releases n that were taken.
func (b *budget) give(key string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.byKey[key] -= n; b.byKey[key] == 0 {
		delete(b.byKey, key)
	}
}
