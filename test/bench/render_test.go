package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample is a document of recorded lines: a part that was kept from another machine, and
// one that was measured on a busy one.
func sample(t *testing.T) document {
	t.Helper()
	results, skips, err := parse(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	here := machine{"A processor", 2, 24000, "Linux 6.18 x86_64", "ext4 on vda", 3500}
	with := versions{Reverie: "0123456789ab", Go: "Go 1.26", PostgreSQL: "15.20", Settings: "fsync on", PGVector: "0.8.0", Node: "v20.1.0", Peer: "mem0ai 3.3.1"}
	before := with
	before.Reverie, before.Node = "ba9876543210 and changes", ""
	at := time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)
	return document{[]measured{
		{Part: "nightly", Date: at, Seconds: 140.2, Machine: here, Versions: with, Load: 0.2, Busy: 0.03, Results: results[:5]},
		{Part: "beside", Date: at.Add(time.Hour), Seconds: 20, Machine: here, Versions: with, Busy: 1.5, Results: results[5:7]},
		{Part: "growth", Date: at.Add(-48 * time.Hour), Seconds: 9, Machine: here, Versions: before, Results: results[7:12]},
		{Part: "peer", Date: at.Add(time.Hour), Seconds: 3, Machine: here, Versions: with, Results: results[12:], Skipped: skips},
	}}
}

func TestRender(t *testing.T) {
	d := sample(t)
	text := d.render()
	for _, p := range suite { // what owners of parts write may change
		text = strings.ReplaceAll(text, p.text(), "(what "+p.name+" measures)")
		for _, r := range p.runs {
			text = strings.ReplaceAll(text, r.command(p.timeout), "(a command of "+p.name+")")
		}
	}
	golden(t, "testdata/benchmarks.golden.md", text)
	golden(t, "testdata/readme.golden.md", d.headline())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("REVERIE_TEST_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; REVERIE_TEST_UPDATE=1 writes it):\n%s", file, diff)
	}
}

// What is written is read again, whole.
func TestReadDocument(t *testing.T) {
	d, file := sample(t), filepath.Join(t.TempDir(), "benchmarks.md")
	if none, err := readDocument(file); err != nil || len(none.Parts) != 0 {
		t.Errorf("of no file: %v, %v", none, err)
	}
	write(t, file, d.render())
	got, err := readDocument(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	for _, broken := range []string{"", "# Benchmarks", strings.Replace(d.render(), `"results"`, `results`, 1), d.render()[:3000]} {
		write(t, file, broken)
		if _, err := readDocument(file); err == nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("a broken document of %d bytes: %v", len(broken), err)
		}
	}
}

// Parts that were not run keep their figures.
func TestWith(t *testing.T) {
	d := sample(t)
	fresh := []measured{{Part: "peer", Load: 7}, {Part: "others", Load: 8}}
	var got []string
	for _, m := range d.with(fresh).Parts {
		got = append(got, m.Part+" "+figure(m.Load))
	}
	if diff := cmp.Diff([]string{"nightly 0.20", "beside 0", "growth 0", "peer 7", "others 8"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFigure(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 3: "3", 1234567: "1,234,567", 1234.56: "1,235", 99.96: "100", 99.94: "99.9", 10.04: "10.0",
		9.996: "10.0", 9.994: "9.99", 0.5: "0.50", 0.0996: "0.10", 0.0123: "0.012", -1234.5: "-1,234", -0.25: "-0.25"} {
		if got := figure(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

func TestWriteReadme(t *testing.T) {
	d, file := sample(t), filepath.Join(t.TempDir(), "README.md")
	write(t, file, "# R\n"+readmeBegin+"old\n"+readmeEnd+"more\n")
	for range 2 { // the second changes nothing
		if err := writeReadme(file, d); err != nil {
			t.Fatal(err)
		}
		raw, _ := os.ReadFile(file)
		if want := "# R\n" + readmeBegin + d.headline() + readmeEnd + "more\n"; string(raw) != want {
			t.Errorf("%s", cmp.Diff(want, string(raw)))
		}
	}
	write(t, file, "# R\n"+readmeBegin)
	if err := writeReadme(file, d); err == nil {
		t.Error("a README without an end was written")
	}
	if got := (document{}).headline(); !strings.Contains(got, "make bench") {
		t.Errorf("of nothing: %q", got)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
