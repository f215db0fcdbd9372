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
