package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// memory is what a process has at most, in KiB.
type memory struct {
	all int64 // with the pages of its own file that were read, which the kernel may drop
	own int64 // without
}

// watchPeak looks at the memory of a process until it has ended, and returns the most
// that it had. What the kernel tells of it at its end would count the process
// that started it, too.
func watchPeak(pid int, ended <-chan struct{}) (peak memory) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return peak
		case <-tick.C:
		}
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // gone: what was seen last counts
		kib := func(name string) int64 {
			_, rest, _ := strings.Cut(string(raw), name+":")
			n, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			value, _ := strconv.ParseInt(n, 10, 64) // 0 where it is not told
			return value
		}
		peak = memory{max(peak.all, kib("VmHWM")), max(peak.own, kib("RssAnon"))}
	}
}
