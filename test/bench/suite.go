package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

// part is a part of the suite: what is run for it, and what is asked of its figures.
// What it measures is told in parts/NAME.md, without figures.
type part struct {
	name  string
	title string
	runs  []run
	// timeout bounds each run.
	timeout time.Duration
	// large parts are run where they are asked for alone.
	large bool
	// growth are the units of which exponents are shown.
	growth []string
	bars   []bar
}

// run is one call of go test.
type run struct {
	pkg, bench string
	time       string // -benchtime
	short      string // -bench of a sample
	env        []string
}

// suite is what make bench runs, in this order.
var suite = []part{
	{
		name: "nightly", title: "A night of many groups", timeout: 15 * time.Minute,
		runs: []run{{pkg: "./cmd/reverie", bench: "^BenchmarkNightly$", time: "1x", short: "^BenchmarkNightly$/^groups=100$"}},
		bars: []bar{
			{says: "of the ideal, with a model of 300 ms", match: `^Nightly/groups=100/model=300ms$`, unit: "%ideal", least: 95},
			{says: "of the ideal, with a model of 300 ms", match: `^Nightly/groups=1000/model=300ms$`, unit: "%ideal", least: 95},
			{says: "of the ideal, with a model of 300 ms", match: `^Nightly/groups=10000/model=300ms$`, unit: "%ideal", least: 95},
			{says: "model calls a group: none that is needless", match: `^Nightly/groups=\d+/model=`, unit: "calls/group", most: 1},
			{says: "peak memory of the most groups over that of the fewest", match: `^Nightly/groups=\d+/model=300ms$`, unit: "MiB-peak", over: "groups", most: 1.25},
		},
		growth: []string{"s", "ms-cpu/group", "MiB-peak"},
	},
	{
		name: "beside", title: "Beside bare SQL", timeout: 15 * time.Minute,
		runs: []run{
			{pkg: "./store", bench: "^BenchmarkBeside$", time: "300x", short: "^BenchmarkBeside$/apply"},
			{pkg: "./internal/recall", bench: "^BenchmarkBeside$", time: "500x", short: "^BenchmarkBeside$/search"},
		},
		bars: []bar{
			{says: "apply: its time over that of bare SQL", match: `^Beside/apply`, unit: "x-raw", most: 2},
			{says: "search: its time over that of bare SQL", match: `^Beside/search`, unit: "x-raw", most: 2},
			{says: "context: its time over that of bare SQL", match: `^Beside/context`, unit: "x-raw", most: 2},
		},
	},
	{
		name: "growth", title: "Growth", timeout: 15 * time.Minute,
		runs: []run{
			{pkg: "./store", bench: "^BenchmarkGrowth$", time: "40x", short: "^BenchmarkGrowth$/apply"},
			{pkg: "./internal/recall", bench: "^BenchmarkGrowth$", time: "100x", short: "^BenchmarkGrowth$/context"},
		},
		growth: []string{"p50-ms", "ns/op"},
	},
	{
		name: "peer", title: "Beside a peer", timeout: 15 * time.Minute,
		runs: []run{{pkg: "./cmd/reverie", bench: "^BenchmarkPeer$", time: "1x", short: "^BenchmarkPeer$/^night$/model=0ms/system=reverie"}},
		bars: slices.Concat(
			besidePeer("calls/group", "model calls a group"),
			besidePeer("tokens/group", "tokens a group, in and out"),
			besidePeer("ms-all/group", "processor time a group, with PostgreSQL's"),
			besidePeer("ms-marginal/group", "the same without what a process costs to start"),
		),
		growth: []string{"p50-ms"},
	},
	{
		name: "others", title: "Rates", timeout: 15 * time.Minute,
		runs: []run{
			{pkg: "./internal/reverie", bench: "^BenchmarkPoison$|^BenchmarkMaskSecrets$|^BenchmarkMaskSecretsHostile$", time: "0.5s", short: "^BenchmarkPoison$"},
			{pkg: "./internal/secret", bench: "^BenchmarkRates$", time: "1x", short: "^BenchmarkRates$"},
			{pkg: "./internal/secret", bench: "^BenchmarkFind$", time: "0.5s", short: "^BenchmarkFind$"},
			{pkg: "./internal/recall", bench: "^BenchmarkQueryCache$", time: "1x", short: "^BenchmarkQueryCache$"},
			{pkg: "./store", bench: "^BenchmarkReader$", time: "500x", short: "^BenchmarkReader$"},
			{pkg: "./internal/session", bench: "^BenchmarkExtract$", time: "50x", short: "^BenchmarkExtract$"},
		},
	},
	{
		name: "serve", title: "Serving", timeout: 15 * time.Minute, large: true,
		runs: []run{
			{pkg: "./cmd/reverie", bench: "^BenchmarkServe$", time: "5000x", short: "^BenchmarkServe$", env: []string{"REVERIE_BENCH_SERVE=10000"}},
			{pkg: "./internal/api/rest", bench: "^BenchmarkSearch200$", time: "5000x", short: "^BenchmarkSearch200$"},
		},
	},
}

// besidePeer asks that the peer takes no less of a unit than we do, in the way of use that
// is best for it, and in its usual one.
func besidePeer(unit, what string) (bars []bar) {
	for _, way := range [][2]string{{"mem0-one-add", "its best way"}, {"mem0-turns", "its usual way"}} {
		bars = append(bars, bar{says: what + ": the peer's over ours, " + way[1], match: `^Peer/night/model=\d+ms/system=(reverie|` + way[0] + `)$`,
			unit: unit, beside: "system=reverie", least: 1, tie: "as many"})
	}
	return bars
}

// compared are the benchmarks that two revisions are compared by: small ones, whose
// noise is less than what a change may cost.
var compared = []run{
	{pkg: "./internal/reverie", bench: "^BenchmarkContentHash$|^BenchmarkEstimateTokens$|^BenchmarkCheckStatement$|^BenchmarkMaskSecrets$", time: "0.2s"},
	{pkg: "./evolve", bench: "^BenchmarkParse$|^BenchmarkCheck$|^BenchmarkRender$", time: "0.2s"},
	{pkg: "./internal/llm/lines", bench: "^BenchmarkReadPlain$", time: "0.2s"},
	{pkg: "./store", bench: "^BenchmarkCandidates$|^BenchmarkImport$", time: "5x"},
	{pkg: "./internal/session", bench: "^BenchmarkExtract$", time: "10x"},
}

//go:embed parts/*.md
var texts embed.FS

// text says what the part measures.
func (p part) text() string {
	raw, err := texts.ReadFile("parts/" + p.name + ".md")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// command is the line that does a run by hand.
func (r run) command(timeout time.Duration) string {
	line := fmt.Sprintf("go test -run '^$' -bench '%s' -benchtime %s -timeout %gm %s", r.bench, r.time, timeout.Minutes(), r.pkg)
	return strings.Join(append(append([]string(nil), r.env...), line), " ")
}

// choose finds the parts of a list of names, all but the large ones where it is empty.
func choose(list string) ([]part, error) {
	var chosen []part
	if list == "" {
		for _, p := range suite {
			if !p.large {
				chosen = append(chosen, p)
			}
		}
		return chosen, nil
	}
	var names []string
	for _, p := range suite {
		names = append(names, p.name)
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); partNamed(name) == nil {
			return nil, fmt.Errorf("there is no part %q: write -only with some of %s", name, strings.Join(names, ","))
		}
		wanted[name] = true
	}
	for _, p := range suite {
		if wanted[p.name] {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

func partNamed(name string) *part {
	for i := range suite {
		if suite[i].name == name {
			return &suite[i]
		}
	}
	return nil
}
