package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInBoth(t *testing.T) {
	both, missing := inBoth([]string{"BenchmarkA", "BenchmarkGone", "BenchmarkB"}, []string{"BenchmarkB", "BenchmarkNew", "BenchmarkA"})
	if diff := cmp.Diff([][]string{{"BenchmarkB", "BenchmarkA"}, {"BenchmarkNew"}}, [][]string{both, missing}); diff != "" {
		t.Error(diff)
	}
}

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
	if diff := cmp.Diff("./store . 0.5s", o.compared()[0].pkg+" "+o.compared()[0].bench+" "+o.compared()[0].time); err != nil || diff != "" {
		t.Error(diff, err)
	}
	if o := (options{root: "/r", rawKept: "/r/bin/bench", short: true}); o.document() != "/r/bin/bench/short.md" {
		t.Errorf("a sample is written to %s", o.document())
	}
}

// Both sides take turns at being the first, and what base lacks is left out and named.
func TestComparison(t *testing.T) {
	var progress bytes.Buffer
	work := t.TempDir()
	base, now := filepath.Join(work, "a"), filepath.Join(work, "b")
	for root, names := range map[string][]string{base: {"Old"}, now: {"Old", "New"}} {
		must(t, os.MkdirAll(filepath.Join(root, "p"), 0o755))
		write(t, filepath.Join(root, "go.mod"), "module m\ngo 1.26\n")
		source := "package p\nimport \"testing\"\n"
		for _, n := range names {
			source += "func Benchmark" + n + "(b *testing.B) { for b.Loop() {} }\n"
		}
		write(t, filepath.Join(root, "p", "p_test.go"), source)
	}
	c := &comparison{work: work, count: 2, env: os.Environ(), progress: &progress,
		sides: []side{{"base", base, filepath.Join(work, "base.txt")}, {"new", now, filepath.Join(work, "new.txt")}}}
	must(t, c.all(t.Context(), []run{{pkg: "./p", bench: ".", time: "1x"}, {pkg: "./q", bench: ".", time: "1x"}}))
	for _, s := range c.sides {
		raw, err := os.ReadFile(s.out)
		must(t, err)
		if n := strings.Count(string(raw), "BenchmarkOld"); n != 2 || strings.Contains(string(raw), "New") || !strings.Contains(string(raw), "pkg: m/p") || strings.Contains(string(raw), "PASS") {
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
