package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// machine is what figures were taken on.
type machine struct {
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
	MemoryMiB  int64  `json:"memory_mib"`
	System     string `json:"system"`
	Disk       string `json:"disk"`
	// Syncs is how often a second the disk took 8 KiB for good.
	Syncs int `json:"syncs"`
}

// newMachine reads what it can of this one; dir is on the disk that PostgreSQL writes to.
func newMachine(dir string) machine {
	m := machine{Processor: field("/proc/cpuinfo", "model name"), Processors: runtime.NumCPU(), System: system(), Disk: disk(dir), Syncs: syncs(dir)}
	if m.Processor == "" {
		m.Processor = runtime.GOARCH
	}
	kib, _, _ := strings.Cut(field("/proc/meminfo", "MemTotal"), " ")
	if n, err := strconv.ParseInt(kib, 10, 64); err == nil {
		m.MemoryMiB = n / 1024
	}
	return m
}

// field is the first value of a name in a file of lines "name: value".
func field(file, name string) string {
	raw, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if key, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func system() string {
	out, err := exec.Command("uname", "-srm").Output()
	if err != nil {
		return runtime.GOOS + " " + runtime.GOARCH
	}
	return strings.TrimSpace(string(out))
}

// disk is the file system of a directory and what it lies on, as far as Linux says.
func disk(dir string) string {
	mounts, err := os.Open("/proc/mounts")
	if err != nil {
		return "unknown"
	}
	defer mounts.Close()
	best, found := "", "unknown"
	for in := bufio.NewScanner(mounts); in.Scan(); {
		f := strings.Fields(in.Text())
		if len(f) < 3 || !strings.HasPrefix(dir+"/", strings.TrimSuffix(f[1], "/")+"/") || len(f[1]) < len(best) {
			continue
		}
		best, found = f[1], f[2]+" on "+filepath.Base(f[0])
		if turns, err := os.ReadFile(filepath.Join("/sys/class/block", filepath.Base(f[0]), "queue/rotational")); err == nil {
			found += ", rotational " + strings.TrimSpace(string(turns))
		}
	}
	return found
}

// syncs counts how often a second a page is written and synced, 0 where it cannot be.
func syncs(dir string) int {
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 8192)
	began, n := time.Now(), 0
	for time.Since(began) < time.Second {
		if _, err := f.WriteAt(page, 0); err != nil {
			return 0
		}
		if err := f.Sync(); err != nil {
			return 0
		}
		n++
	}
	return int(float64(n) / time.Since(began).Seconds())
}

// same tells whether two descriptions are of one machine: its disk is not as fast each
// time that it is measured.
func (m machine) same(other machine) bool {
	other.Syncs = m.Syncs
	return m == other
}

func (m machine) String() string {
	return fmt.Sprintf("%d x %s, %s MiB, %s; disk: %s, %s syncs a second", m.Processors, m.Processor, figure(float64(m.MemoryMiB)), m.System, m.Disk, figure(float64(m.Syncs)))
}

// versions are those of all that took part.
type versions struct {
	Reverie    string `json:"reverie"` // commit, and whether there was more than it
	Go         string `json:"go"`
	PostgreSQL string `json:"postgresql"`
	Settings   string `json:"settings"` // of PostgreSQL, those that weigh
	PGVector   string `json:"pgvector"`
	Node       string `json:"node,omitempty"`
	Peer       string `json:"peer,omitempty"`
}

func (v versions) String() string {
	text := fmt.Sprintf("reverie %s, %s, PostgreSQL %s (%s), pgvector %s", v.Reverie, v.Go, v.PostgreSQL, v.Settings, v.PGVector)
	if v.Node != "" {
		text += fmt.Sprintf(", Node %s, %s", v.Node, v.Peer)
	}
	return text
}

// changedFiles stands behind a commit where files are not as it has them.
const changedFiles = " and changes"

// revision is the commit of the checkout, and whether files of it differ from that.
func revision(ctx context.Context, root string) string {
	commit, err := git(ctx, root, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changed, err := git(ctx, root, "status", "--porcelain", "--", ".", ":!docs/benchmarks.md", ":!README.md"); err != nil || changed != "" {
		commit += changedFiles
	}
	return commit
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// moment is how long the machine is watched before a part.
const moment = 3 * time.Second

// busy is how many processors do other things, over a time in which we do nothing;
// 0 where the system does not say.
func busy(ctx context.Context, watched time.Duration) float64 {
	if watched <= 0 {
		return 0
	}
	before, ok := worked()
	began := time.Now()
	select {
	case <-ctx.Done():
	case <-time.After(watched):
	}
	after, stillOK := worked()
	if !ok || !stillOK {
		return 0
	}
	return (after - before).Seconds() / time.Since(began).Seconds()
}

// worked is what all processors have worked since the machine began.
func worked() (time.Duration, bool) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, false
	}
	total := int64(0)
	for _, i := range []int{1, 2, 3, 6, 7, 8} { // neither idle nor waiting for a disk; 8 is what others of the host took
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return 0, false
		}
		total += n
	}
	return time.Duration(total) * (time.Second / 100), true
}

// load is the average of the last minute, 0 where the system does not say.
func load() float64 {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	text, _, _ := strings.Cut(string(raw), " ")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}

// openFiles raises the limit on open files to the most that is allowed: benchmarks
// inherit it.
func openFiles() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		limit.Cur = limit.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // stays as it is
	}
}
