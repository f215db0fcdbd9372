package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/store/pgtest"
)

func newRunner(t *testing.T) (*runner, *bytes.Buffer) {
	t.Helper()
	var progress bytes.Buffer
	env := environment(os.Environ(), "postgres://nowhere")
	return &runner{root: "../..", output: t.TempDir(), env: env, progress: &progress}, &progress
}

func onePart(name, pkg, bench string) part {
	return part{Name: name, Title: name, Runs: []run{{Package: pkg, Bench: bench, Time: "1x"}}}
}

// A part that fails fails the run, with what it said, and takes nothing from those that
// went well. What cannot be run here is said, and is no failure.
func TestReport(t *testing.T) {
	r, progress := newRunner(t)
	broken := onePart("nightly", "./test/bench/testdata/failing", ".")
	whole := onePart("peer", "./test/bench/testdata/skipping", "^BenchmarkPeer$")
	s := suite{Parts: []part{broken, {Name: "others", Title: "others"}, whole}}
	file := filepath.Join(r.output, "page.md")
	must(t, os.WriteFile(file, []byte(pageHead+"\n## nightly\n\nwas\n\n## others\n\nkept\n\n## peer\n\nold\n"), 0o644))
	err := r.report(t.Context(), file, s, s.Parts[:1], "a machine")
	for _, want := range []string{"part nightly", "-bench '.'", "the model did not answer", "FAIL: BenchmarkBroken/size=1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not tell %q: %v", want, err)
		}
	}
	if !strings.Contains(progress.String(), "BenchmarkFine") {
		t.Errorf("lines were not shown as they came: %q", progress)
	}
	if raw, err := os.ReadFile(filepath.Join(r.output, "nightly-1.txt")); err != nil || !bytes.Contains(raw, []byte("did not answer")) {
		t.Errorf("the output was not kept: %q, %v", raw, err)
	}
	must(t, r.report(t.Context(), file, s, s.Parts[2:], "a machine"))
	raw, err := os.ReadFile(file)
	must(t, err)
	for _, want := range []string{
		"\n## nightly\n\nwas\n\n## others\n\nkept\n\n## peer\n\n",
		"| BenchmarkPeer | calls/group |\n| --- | ---: |\n| system=reverie | 1 |\n",
		"Not measured here: BenchmarkPeer/system=peer: Node 20 or later is missing.",
		"on a machine.",
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the page has no %q:\n%s", want, raw)
		}
	}
}

func TestNothingToMeasure(t *testing.T) {
	r, _ := newRunner(t)
	_, err := r.measure(t.Context(), onePart("peer", "./test/bench/testdata/skipping", "^BenchmarkNone$"), "")
	if err == nil || !strings.Contains(err.Error(), "no benchmark of ./test/bench/testdata/skipping matches") {
		t.Errorf("of a name that is not there: %v", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	file := filepath.Join(r.output, "page.md")
	err = r.report(ended, file, suite{}, []part{onePart("peer", "./test/bench/testdata/skipping", ".")}, "")
	if err == nil || err.Error() != "interrupted; nothing was written" {
		t.Errorf("of an end by hand: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	if envURL != pgtest.EnvURL {
		t.Errorf("the server is named in %s, and tests look for it in %s", envURL, pgtest.EnvURL)
	}
	got := environment([]string{"HOME=/h", "REVERIE_BENCH_SERVE=7", "REVERIE_DATABASE_URL=postgres://production", "GORACE=x"}, "postgres://b")
	if diff := cmp.Diff([]string{"HOME=/h", envURL + "=postgres://b"}, got); diff != "" {
		t.Error(diff)
	}
}

func theSuite(t *testing.T) suite {
	t.Helper()
	s, err := readSuite()
	must(t, err)
	return s
}

func TestChoose(t *testing.T) {
	names := func(list string) (all []string) {
		t.Helper()
		chosen, err := theSuite(t).choose(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range chosen {
			all = append(all, p.Name)
		}
		return all
	}
	if got := names(""); slices.Contains(got, "serve") || !slices.Contains(got, "others") {
		t.Errorf("by default: %q", got)
	}
	if diff := cmp.Diff([]string{"nightly", "serve"}, names("serve, nightly")); diff != "" {
		t.Errorf("in the suite's order: %s", diff)
	}
	if _, err := theSuite(t).choose("nightly,nights"); err == nil || !strings.Contains(err.Error(), "nightly,beside") {
		t.Errorf("a part that is not there: %v", err)
	}
}

// What the suite runs is there, and each part says what it measures.
func TestSuite(t *testing.T) {
	s := theSuite(t)
	all := slices.Clone(s.Compare)
	for _, p := range s.Parts {
		if text, err := p.text(); err != nil || text == "" {
			t.Errorf("parts/%s.md is not there: %v", p.Name, err)
		}
		for _, r := range p.Runs {
			all = append(all, r, run{Package: r.Package, Bench: r.Short})
		}
	}
	for _, r := range all {
		files, err := filepath.Glob(filepath.Join("..", "..", r.Package, "*_test.go"))
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
		top, _, _ := strings.Cut(r.Bench, "/")
		for _, name := range alternatives(top) {
			if !strings.Contains(source.String(), "func "+name+"(b *testing.B)") {
				t.Errorf("%s has no %s", r.Package, name)
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

func TestParse(t *testing.T) {
	results, _ := parse("goos: linux\nBenchmarkA/size=1/of=x-y-8  \t 10\t 12.5 ns/op\t 7 p50-ms\t 3 B/op\nBenchmarkB-8 3 2 ns/op 0 B/op\nPASS\n")
	want := []string{"\n| BenchmarkA | p50-ms |\n| --- | ---: |\n| size=1, of=x-y | 7 |\n", "\n| BenchmarkB | ns/op | B/op |\n| --- | ---: | ---: |\n|  | 2 | 0 |\n"}
	for i, r := range results {
		if diff := cmp.Diff(want[i], table([]result{r})); diff != "" {
			t.Error(diff)
		}
	}
	if len(results) != 2 {
		t.Errorf("%d results", len(results))
	}
}
