package server

import (
	"bytes"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
)

// Files that are left to the database, the log and whatever else is open, and connections
// that are enough for anybody.
const (
	otherFiles = 128
	mostConns  = 50_000
)

// What is counted of memory, in bytes: an idle connection, as measured, and the buffers
// of a request with a body, however little of it has come.
const (
	connSize = 24 << 10
	bodySize = 16 << 10
)

// Bounds of what the bodies under way may hold together. The lower one lets a client send
// messages as long as they may be, with others beside it.
const (
	leastBodies = 32 << 20
	mostBodies  = 1 << 30
)

// someMemory is what is reckoned with where nothing says how much there is.
const someMemory = 1 << 30

// roomForConns is how many connections the process has files and memory for: half of
// what it may use.
func roomForConns() int { return min(freeFiles(), int(min(memory()/2/connSize, mostConns))) }

// roomForBodies is how many bytes of bodies the process has memory for: an eighth of what
// it may use, since what reads them holds them about twice.
func roomForBodies(largest int64) int64 {
	return max(min(max(memory()/8, leastBodies), mostBodies), 4*largest)
}

// memory is how many bytes the process may use: GOMEMLIMIT, else what its container or
// its machine has.
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

// sizeIn reads a limit of a cgroup, or the total of /proc/meminfo: math.MaxInt64 for none.
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

// budget is what requests may hold together, and those of one sender a part of it, so that
// nobody takes all of it from the others.
type budget struct {
	most, each int64

	mu    sync.Mutex
	held  int64
	byKey map[string]int64
}

func newBudget(most, each int64) *budget {
	return &budget{most: most, each: each, byKey: map[string]int64{}}
}

// take has a sender hold n more, unless that is more than there is.
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

// give ends the holding of n that were taken.
func (b *budget) give(key string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.byKey[key] -= n; b.byKey[key] == 0 {
		delete(b.byKey, key)
	}
}
