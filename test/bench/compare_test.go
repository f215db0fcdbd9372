package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNarrow(t *testing.T) {
	for _, c := range [][2]string{{".", "^(BenchmarkA|BenchmarkB)$"}, {"A|B/size=1$", "^(BenchmarkA|BenchmarkB)$/size=1$"}} {
		if got := narrow(c[0], []string{"BenchmarkA", "BenchmarkB"}); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestOptions(t *testing.T) {
	for want, args := range map[string][]string{
		"name the package":  {"-compare", "HEAD", "-bench", "Search"},
		`what is "nightly"`: {"nightly"},
		"at least once":     {"-compare", "HEAD", "-count", "0"},
	} {
		if _, err := readOptions(args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
	o, err := readOptions([]string{"-compare", "HEAD", "-pkg", "./store"}, &bytes.Buffer{})
	want := []run{{Package: "./store", Bench: ".", Time: "0.5s"}}
	if diff := cmp.Diff(want, o.compared(suite{})); err != nil || diff != "" {
		t.Error(diff, err)
	}
	if o := (options{root: "/r", output: "/r/bin/bench", short: true}); o.page() != "/r/bin/bench/short.md" {
		t.Errorf("a sample is written to %s", o.page())
	}
}

// Both sides take turns at being the first, and what base lacks is left out and named.
func TestComparison(t *testing.T) {
	var progress bytes.Buffer
	work := t.TempDir()
	base, now := filepath.Join(work, "a"), filepath.Join(work, "b")
	for dir, names := range map[string][]string{
		filepath.Join(base, "o"): {"Old"}, // where the package was
		filepath.Join(now, "p"):  {"Old", "New"},
	} {
		root := filepath.Dir(dir)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module m\ngo 1.26\n"), 0o644))
		source := "package p\nimport \"testing\"\n"
		for _, n := range names {
			source += "func Benchmark" + n + "(b *testing.B) { for b.Loop() {} }\n"
		}
		must(t, os.WriteFile(filepath.Join(dir, "p_test.go"), []byte(source), 0o644))
	}
	r := &runner{output: work, env: os.Environ(), progress: &progress}
	sides := []side{{"base", base, filepath.Join(work, "base.txt")}, {"new", now, filepath.Join(work, "new.txt")}}
	runs := []run{{Package: "./p", Was: "./o", Bench: ".", Time: "1x"}, {Package: "./q", Bench: ".", Time: "1x"}}
	must(t, r.takeTurns(t.Context(), sides, runs, 2))
	for _, s := range sides {
		raw, err := os.ReadFile(s.out)
		must(t, err)
		n := strings.Count(string(raw), "BenchmarkOld")
		if n != 2 || strings.Contains(string(raw), "New") || !strings.Contains(string(raw), "pkg: ./p") ||
			strings.Contains(string(raw), "PASS") {
			t.Errorf("%s: %d runs:\n%s", s.name, n, raw)
		}
	}
	for _, want := range []string{"left out BenchmarkNew of ./p", "left out ./q", "turn 2 of 2"} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("%q is not said:\n%s", want, progress.String())
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
