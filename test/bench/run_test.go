package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/store/storetest"
)

func newRunner(t *testing.T) (*runner, *bytes.Buffer) {
	t.Helper()
	var progress bytes.Buffer
	return &runner{root: "../..", raw: t.TempDir(), env: environment(os.Environ(), "postgres://nowhere"), progress: &progress}, &progress
}

func onePart(pkg, bench string) part {
	return part{name: "trial", title: "A trial", timeout: time.Minute, runs: []run{{pkg: pkg, bench: bench, time: "1x"}}}
}

// One that fails fails the run, with what it said, and takes nothing from those that went
// well.
func TestFailingBenchmark(t *testing.T) {
	r, progress := newRunner(t)
	broken, whole := onePart("./test/bench/testdata/failing", "."), onePart("./test/bench/testdata/skipping", ".")
	broken.name = "broken"
	fresh, err := r.all(t.Context(), []part{broken, whole}, machine{}, versions{})
	if names(fresh) != "trial" {
		t.Errorf("%q went well", names(fresh))
	}
	for _, want := range []string{"part broken", "-bench '.'", "the model did not answer", "FAIL: BenchmarkBroken/size=1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not tell %q: %v", want, err)
		}
	}
	if !strings.Contains(progress.String(), "BenchmarkFine") {
		t.Errorf("lines were not shown as they came: %q", progress)
	}
	if raw, err := os.ReadFile(filepath.Join(r.raw, "broken-1.txt")); err != nil || !bytes.Contains(raw, []byte("did not answer")) {
		t.Errorf("the output was not kept: %q, %v", raw, err)
	}
}

// What cannot be run here is said, and is no failure; what does not exist is one.
func TestMeasure(t *testing.T) {
	r, _ := newRunner(t)
	m, err := r.measure(t.Context(), onePart("./test/bench/testdata/skipping", "^BenchmarkPeer$"))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Results) != 1 || m.Results[0].Name != "Peer/system=reverie" || m.Part != "trial" || m.Date.IsZero() {
		t.Errorf("%+v", m)
	}
	if diff := cmp.Diff([]skipped{{"Peer/system=peer", "Node 20 or later is missing"}}, m.Skipped); diff != "" {
		t.Error(diff)
	}
	if _, err := r.measure(t.Context(), onePart("./test/bench/testdata/skipping", "^BenchmarkNone$")); err == nil || !strings.Contains(err.Error(), "no benchmark of ./test/bench/testdata/skipping matches") {
		t.Errorf("of a name that is not there: %v", err)
	}
	slow := onePart("./test/bench/testdata/skipping", ".")
	slow.timeout = 1
	if _, err := r.measure(t.Context(), slow); err == nil || !strings.Contains(err.Error(), "it took more than 1ns") {
		t.Errorf("beyond its time: %v", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	_, err = r.all(ended, []part{onePart("./test/bench/testdata/skipping", "."), onePart("./test/bench/testdata/skipping", ".")}, machine{}, versions{})
	if err == nil || strings.Count(err.Error(), "part trial") != 1 {
		t.Errorf("it went on when it was told to stop: %v", err)
	}
	if got := (interrupted{err}).Error(); got != "interrupted; nothing was written" {
		t.Errorf("of an end by hand: %q", got)
	}
}

func TestEnvironment(t *testing.T) {
	if envURL != storetest.EnvURL {
		t.Errorf("the server is named in %s, and tests look for it in %s", envURL, storetest.EnvURL)
	}
	got := environment([]string{"HOME=/h", "REVERIE_BENCH_SERVE=7", "REVERIE_DATABASE_URL=postgres://production", "GORACE=x"}, "postgres://b")
	if diff := cmp.Diff([]string{"HOME=/h", envURL + "=postgres://b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestChoose(t *testing.T) {
	names := func(list string) (all []string) {
		t.Helper()
		chosen, err := choose(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range chosen {
			all = append(all, p.name)
		}
		return all
	}
	if got := names(""); slices.Contains(got, "serve") || !slices.Contains(got, "others") {
		t.Errorf("by default: %q", got)
	}
	if diff := cmp.Diff([]string{"nightly", "serve"}, names("serve, nightly")); diff != "" {
		t.Errorf("in the suite's order: %s", diff)
	}
	if _, err := choose("nightly,nights"); err == nil || !strings.Contains(err.Error(), "nightly,beside") {
		t.Errorf("a part that is not there: %v", err)
	}
}

// What the suite runs is there, and each part says what it measures.
func TestSuite(t *testing.T) {
	all := slices.Clone(compared)
	for _, p := range suite {
		if p.text() == "" {
			t.Errorf("parts/%s.md is not there", p.name)
		}
		for _, r := range p.runs {
			all = append(all, r, run{pkg: r.pkg, bench: r.short})
		}
	}
	for _, r := range all {
		files, err := filepath.Glob(filepath.Join("..", "..", r.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var source bytes.Buffer
		for _, f := range files {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(raw)
		}
		top, _, _ := strings.Cut(r.bench, "/")
		for _, name := range alternatives(top) {
			if !strings.Contains(source.String(), "func "+name+"(b *testing.B)") {
				t.Errorf("%s has no %s", r.pkg, name)
			}
		}
	}
}

// alternatives are the names that an expression of the suite stands for.
func alternatives(expression string) (names []string) {
	for one := range strings.SplitSeq(expression, "|") {
		names = append(names, strings.Trim(one, "^$"))
	}
	return names
}
