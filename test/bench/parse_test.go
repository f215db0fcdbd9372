package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	results, skips, err := parse(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	want := result{Package: "reverie/cmd/reverie", Name: "Nightly/groups=1000/model=300ms", Iterations: 1, Values: []value{
		{"ns/op", 0}, {"s", 10}, {"%ideal", 95}, {"groups/s", 100}, {"ms-cpu/group", 4}, {"MiB-peak", 44}, {"calls/group", 1},
		{"tokens/group", 3004}, {"B/op", 1200000}, {"allocs/op", 9000}}}
	if diff := cmp.Diff(want, results[2]); diff != "" {
		t.Errorf("as it was printed (-want +got):\n%s", diff)
	}
	if len(results) != 15 || results[5].Package != "reverie/store" || results[5].Name != "Beside/apply/memories=1000" {
		t.Errorf("%d results, the sixth is %+v", len(results), results[5])
	}
	left := []skipped{{"Peer/search/system=mem0/memories=1000", "Node 20 or later is missing: install it"}}
	if diff := cmp.Diff(left, skips); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

func TestParseBrokenLine(t *testing.T) {
	for _, line := range []string{"BenchmarkX-2  10  twelve ns/op\n", "BenchmarkX-2  10  12\n"} {
		if _, _, err := parse("pkg: p\n" + line); err == nil {
			t.Errorf("%q was read", line)
		}
	}
	results, skips, err := parse("a panic, or nothing at all\n")
	if len(results)+len(skips) != 0 || err != nil {
		t.Errorf("%v %v %v", results, skips, err)
	}
}

// The names of systems and sizes may end as the number of processors does.
func TestNames(t *testing.T) {
	results, _, err := parse("BenchmarkA/system=mem0-one-add/zone=utc-8-2 1 5 ns/op\nBenchmarkB-2 1 5 ns/op\n")
	if err != nil {
		t.Fatal(err)
	}
	words, keys, at := results[0].sizes()
	if results[0].Name != "A/system=mem0-one-add/zone=utc-8" || len(words) != 0 || len(keys) != 2 || at["zone"] != "utc-8" {
		t.Errorf("%q: %q %q %q", results[0].Name, words, keys, at)
	}
	if results[1].Name != "B" || where(results[1]) != "B" {
		t.Errorf("%q, %q", results[1].Name, where(results[1]))
	}
}

func recorded(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/recorded.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
