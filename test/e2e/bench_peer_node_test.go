package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peerSources is where the peer's driver is kept, and peerPlace where it is installed,
// which Git ignores.
const (
	peerSources = "../../test/bench/peer"
	peerPlace   = "../../bin/peer"
)

// leastNode is the major version of Node that the driver needs.
const leastNode = 20

// peerDriver runs a driver of bench/peer.
type peerDriver struct {
	b    *testing.B
	dir  string
	home string
	argv []string
}

// newPeerDriver installs the driver where it is not yet as its lock says, and skips the
// benchmark where that cannot be done.
func newPeerDriver(b *testing.B) *peerDriver {
	b.Helper()
	version, err := exec.CommandContext(b.Context(), "node", "--version").Output()
	if err != nil {
		b.Skip("not measured: Node is missing (node --version:", err, "); install Node", leastNode, "or later, with npm")
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < leastNode {
		b.Skipf("not measured: Node is %s; the peer needs %d or later", bytes.TrimSpace(version), leastNode)
	}
	dir, err := filepath.Abs(peerPlace)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	d := &peerDriver{b, dir, b.TempDir(), []string{"node", "driver.mjs"}}
	d.install()
	return d
}

// install copies the driver, and its packages where the lock is another than that of
// the last time. The lock is copied last: it says that all is there.
func (d *peerDriver) install() {
	d.b.Helper()
	files, err := filepath.Glob(peerSources + "/*.mjs")
	if err != nil || len(files) == 0 {
		d.b.Fatalf("no driver in %s: %v", peerSources, err)
	}
	for _, f := range append(files, peerSources+"/package.json") {
		d.copy(f)
	}
	lock := peerSources + "/package-lock.json"
	want, err := os.ReadFile(lock)
	if err != nil {
		d.b.Fatal(err)
	}
	mark := filepath.Join(d.dir, "installed.json")
	if has, _ := os.ReadFile(mark); bytes.Equal(has, want) {
		return
	}
	_ = os.Remove(mark)
	d.copy(lock)
	npm := exec.CommandContext(d.b.Context(), "npm", "ci", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund")
	npm.Dir = d.dir
	if out, err := npm.CombinedOutput(); err != nil {
		d.b.Skipf("not measured: the peer's packages cannot be installed (npm ci: %v)\n%s", err, out)
	}
	if err := os.WriteFile(mark, want, 0o600); err != nil {
		d.b.Fatal(err)
	}
}

func (d *peerDriver) copy(file string) {
	d.b.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(d.dir, filepath.Base(file)), raw, 0o600)
	}
	if err != nil {
		d.b.Fatal(err)
	}
}

// peerJob is what the driver is told; its files say what each of it means.
type peerJob struct {
	System      string      `json:"system,omitempty"` // of the driver in Python
	What        string      `json:"what"`
	Database    string      `json:"database"`
	Collection  string      `json:"collection"`
	Model       string      `json:"model"`
	HNSW        bool        `json:"hnsw"`
	Connections int         `json:"connections"`
	Concurrency int         `json:"concurrency"`
	Groups      []peerGroup `json:"groups"`
	Messages    []string    `json:"messages"`
	PerAdd      int         `json:"perAdd"`
	Queries     []string    `json:"queries"`
	Warm        int         `json:"warm"`
	Limit       int         `json:"limit"`
}

type peerGroup struct {
	ID    string   `json:"id"`
	Texts []string `json:"texts,omitempty"`
}

// peerResult is what the driver says.
type peerResult struct {
	Added   int       `json:"added"`
	Took    []float64 `json:"took"`    // milliseconds
	Outside []string  `json:"outside"` // where it wanted to connect to

	Shown [][]string `json:"shown"` // what each search found

	Held [][2]string `json:"held"` // what a graph knows: of which group, and the fact
}

// do has a job done by a process of its own.
func (d *peerDriver) do(job peerJob) (peerResult, *toll) {
	d.b.Helper()
	input, err := json.Marshal(job)
	if err != nil {
		d.b.Fatal(err)
	}
	cmd := exec.CommandContext(d.b.Context(), d.argv[0], d.argv[1:]...)
	cmd.Dir, cmd.Stdin = d.dir, bytes.NewReader(input)
	cmd.Env = []string{"HOME=" + d.home, "PATH=" + os.Getenv("PATH"), "MEM0_TELEMETRY=false", "NODE_OPTIONS=--no-deprecation"}
	out, t := runMeasured(d.b, cmd)
	var r peerResult
	if err := json.Unmarshal(out, &r); err != nil {
		d.b.Fatalf("the driver says %s: %v", out, err)
	}
	if len(r.Outside) > 0 {
		d.b.Fatalf("the driver wanted to connect to %q", r.Outside)
	}
	return r, t
}

// toll is what a process took.
type toll struct {
	wall, own time.Duration
	peak      int64 // KiB
}

// runMeasured runs a process to its end, which must be a good one, and returns what it
// says and what it took.
func runMeasured(b *testing.B, cmd *exec.Cmd) ([]byte, *toll) {
	b.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	t, ended, peak := &toll{}, make(chan struct{}), make(chan memory, 1)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() { peak <- watchPeak(cmd.Process.Pid, ended) }()
	err := cmd.Wait()
	t.wall = time.Since(began)
	close(ended)
	t.peak = (<-peak).all
	if err != nil {
		b.Fatalf("%s: %v\n%s%s", filepath.Base(cmd.Path), err, out.String(), errs.String())
	}
	t.own = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if errs.Len() > 0 {
		b.Logf("%s says:\n%s", filepath.Base(cmd.Path), errs.String())
	}
	return out.Bytes(), t
}

// TestPeerPackages: versions are exact, and the lock names no registry.
func TestPeerPackages(t *testing.T) {
	var manifest struct {
		Private      bool
		Scripts      map[string]string
		Dependencies map[string]string
	}
	raw, err := os.ReadFile(peerSources + "/package.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	if !manifest.Private || len(manifest.Scripts) > 0 || len(manifest.Dependencies) == 0 {
		t.Errorf("the package must be private, have no scripts and depend on the peer: %s", raw)
	}
	var lock struct {
		Packages map[string]struct {
			Version, Resolved, Integrity string
		}
	}
	if raw, err = os.ReadFile(peerSources + "/package-lock.json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		t.Fatal(err)
	}
	for name, want := range manifest.Dependencies {
		if got := lock.Packages["node_modules/"+name].Version; got != want {
			t.Errorf("%s: the lock has %q, package.json %q", name, got, want)
		}
	}
	for name, p := range lock.Packages {
		if name != "" && (p.Resolved != "" || p.Integrity == "") {
			t.Errorf("%s: resolved %q, integrity %q; make the lock by npm install --ignore-scripts --legacy-peer-deps --omit-lockfile-registry-resolved", name, p.Resolved, p.Integrity)
		}
	}
}
