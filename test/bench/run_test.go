package bench_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// script runs run.sh beside a database that is not there.
func script(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "./run.sh", args...)
	cmd.Env = append(os.Environ(), "REVERIE_TEST_DATABASE_URL=postgres://127.0.0.1:1/none", "REVERIE_DATABASE_URL=postgres://production")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// rows are the lines of a list of runs, each as its words.
func rows(t *testing.T, file string) (list [][]string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			list = append(list, words)
		}
	}
	return list
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A part that fails fails the run, with what it said, and takes nothing from those that
// went well. What cannot be run here is said, and is no failure.
func TestReport(t *testing.T) {
	suite := t.TempDir()
	page := filepath.Join(suite, "page.md")
	write(t, filepath.Join(suite, "suite.txt"), "# parts\n\nnightly ./test/bench/testdata/failing 1x . . -\nothers ./x 1x . . -\nserve ./x 1x . . -\n"+
		"peer ./test/bench/testdata/skipping 1x ^BenchmarkPeer$ . calls/group\nnone ./test/bench/testdata/skipping 1x ^BenchmarkNone$ . -\n")
	for _, part := range []string{"nightly", "others", "serve", "peer", "none"} {
		write(t, filepath.Join(suite, "parts", part+".md"), "## "+part+"\n\nAbout it.\n")
	}
	write(t, page, "# Benchmarks\n\n## nightly\n\nwas\n\nMachine: this one.\nMeasured once.\n\n## others\n\nkept\n\nMachine: another.\nMeasured twice.\n\n"+
		"## serve\n\nMeasured there, too.\n\n## peer\n\nold\n\nMeasured there.\n")
	said, err := script(t, "-suite", suite, "-out", page, "-only", "nightly,peer,none")
	for _, want := range []string{"part nightly failed", "-bench '.'", "the model did not answer", "FAIL: BenchmarkBroken/size=1", "BenchmarkFine",
		"part none failed", "no benchmark of ./test/bench/testdata/skipping matches"} {
		if err == nil || !strings.Contains(said, want) {
			t.Errorf("%q is not said: %v", want, err)
		}
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n## nightly\n\nwas\n\nMachine: this one.\nMeasured once.\n\n## others\n\nkept\n\nMachine: another.\nMeasured twice.\n\n## serve\n\nMeasured there, too.\n\n" +
			"## peer\n\nAbout it.\n\nMachine: ",
		" by `make bench BENCH=\"-only peer\"`, at ",
		"\n```\nBenchmarkPeer   calls/group\nsystem=reverie            1\n```\n",
		"\nNot measured here: BenchmarkPeer/system=peer: Node 20 or later is missing.\n",
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the page has no %q:\n%s", want, raw)
		}
	}
}

func TestOptions(t *testing.T) {
	for want, args := range map[string][]string{
		"name the package":          {"-compare", "HEAD", "-bench", "Search"},
		`what is "nightly"`:         {"nightly"},
		"at least once":             {"-compare", "HEAD", "-count", "0"},
		`there is no part "nights"`: {"-only", "nightly,nights"},
		`there is no revision "no"`: {"-compare", "no"},
	} {
		if said, err := script(t, args...); err == nil || !strings.Contains(said, want) {
			t.Errorf("%q: %v: %s", args, err, said)
		}
	}
}

// What the lists run is there, and each part says what it measures.
func TestSuite(t *testing.T) {
	for file, columns := range map[string]struct{ folder, expressions []int }{
		"suite.txt": {[]int{1}, []int{3, 4}}, "compare.txt": {[]int{0}, []int{3}},
	} {
		for _, row := range rows(t, file) {
			var source strings.Builder
			files, _ := filepath.Glob(filepath.Join("..", "..", row[columns.folder[0]], "*_test.go"))
			for _, f := range files {
				raw, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				source.Write(raw)
			}
			for _, column := range columns.expressions {
				top, _, _ := strings.Cut(row[column], "/")
				for name := range strings.SplitSeq(top, "|") {
					if !strings.Contains(source.String(), "func "+strings.Trim(name, "^$")+"(b *testing.B)") {
						t.Errorf("%s has no %s", row[columns.folder[0]], name)
					}
				}
			}
			if text, err := os.ReadFile(filepath.Join("parts", row[0]+".md")); file == "suite.txt" && (err != nil || !strings.HasPrefix(string(text), "## ")) {
				t.Errorf("parts/%s.md is not there: %v", row[0], err)
			}
		}
	}
	if !slices.ContainsFunc(rows(t, "suite.txt"), func(row []string) bool { return row[0] == "serve" }) {
		t.Error("the large part has another name now: see report in run.sh")
	}
}

func TestTable(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "awk", "-f", "table.awk")
	cmd.Stdin = strings.NewReader("goos: linux\nBenchmarkA/size=1/of=x-y-8  \t 10\t 12.5 ns/op\t 7 p50-ms\t 3 B/op\nBenchmarkA/size=2-8 10 0.03514 s\nBenchmarkB-8 3 12345.6 ns/op 0 B/op\n" +
		"show: p50-ms\nBenchmarkG/apply/n=1-8 10 4 p50-ms 7 p95-ms\nBenchmarkG/apply/n=10-8 10 44 p50-ms 7 p95-ms\nBenchmarkG/read/n=10-8 10 444 p50-ms\nPASS\n")
	got, err := cmd.Output()
	want := "\n```\nBenchmarkA     p50-ms\nsize=1/of=x-y       7\n```\n\n```\nBenchmarkA       s\nsize=2      0.0351\n```\n" +
		"\n```\nBenchmarkB  ns/op  B/op\n            12346     0\n```\n" +
		"\n```\nBenchmarkG, p50-ms  n=1  n=10\napply                 4    44\nread                      444\n```\n"
	if err != nil || string(got) != want {
		t.Errorf("%v:\n%s", err, got)
	}
}
