package main

import (
	"slices"
	"strings"
)

// headings are the units in words, in the order in which columns stand. Others stand
// behind, as they are.
var headings = [][2]string{
	{"s", "wall, s"},
	{"%ideal", "% of the ideal"},
	{"groups/s", "groups a second"},
	{"calls/group", "calls a group"},
	{"embeddings/group", "embedding calls a group"},
	{"embedded-texts/group", "texts embedded a group"},
	{"embedded-chars/group", "characters embedded a group"},
	{"tokens/group", "tokens a group"},
	{"input-tokens/group", "input tokens a group"},
	{"output-tokens/group", "output tokens a group"},
	{"input-chars/group", "input characters a group"},
	{"fresh-chars/group", "input characters a group outside of the system part"},
	{"output-chars/group", "output characters a group"},
	{"ms-cpu/group", "processor, ms a group"},
	{"ms-postgres/group", "PostgreSQL's processor, ms a group"},
	{"ms-all/group", "processor with PostgreSQL's, ms a group"},
	{"ms-marginal/group", "the same without the start, ms a group"},
	{"ms-model/group", "the model's processor, ms a group"},
	{"ms-cpu", "processor, ms"},
	{"ms-postgres", "PostgreSQL's processor, ms"},
	{"MiB-peak", "peak memory, MiB"},
	{"memories/group", "memories of a group afterwards"},
	{"right/group", "facts remembered of 3"},
	{"duplicates/group", "duplicates a group"},
	{"trips/group", "round trips a group"},
	{"statements/group", "statements a group"},
	{"B-stored/group", "bytes stored a group"},
	{"B-wire/group", "bytes to and from PostgreSQL a group"},
	{"p50-ms", "p50, ms"}, {"p95-ms", "p95, ms"}, {"p99-ms", "p99, ms"},
	{"found/search", "found a search"},
	{"embeddings/search", "embedding calls a search"},
	{"index-scans/search", "scans of the index a search"},
	{"raw-p50-ms", "bare SQL p50, ms"}, {"raw-p95-ms", "bare SQL p95, ms"}, {"raw-p99-ms", "bare SQL p99, ms"},
	{"x-raw", "times bare SQL"},
	{"quiet-p50-ms", "quiet p50, ms"}, {"quiet-p95-ms", "quiet p95, ms"}, {"quiet-p99-ms", "quiet p99, ms"},
	{"crowded-p50-ms", "crowded p50, ms"}, {"crowded-p95-ms", "crowded p95, ms"}, {"crowded-p99-ms", "crowded p99, ms"},
	{"ns/op", "ns each"},
}

func heading(unit string) string {
	if i := rank(unit); i < len(headings) {
		return headings[i][1]
	}
	return unit
}

// rank is the place of a unit among the columns.
func rank(unit string) int {
	i := slices.IndexFunc(headings, func(h [2]string) bool { return h[0] == unit })
	if i < 0 {
		return len(headings)
	}
	return i
}

// shown are the units of a result that a reader sees: what go test counts for all
// benchmarks only where nothing else was reported.
func shown(r result) (units []string) {
	for _, v := range r.Values {
		switch v.Unit {
		case "ns/op", "B/op", "allocs/op":
		default:
			units = append(units, v.Unit)
		}
	}
	if len(units) == 0 || !slices.ContainsFunc(units, func(u string) bool { return u != "MB/s" }) {
		if v, ok := r.value("ns/op"); ok && v > 0 {
			units = append([]string{"ns/op"}, units...)
		}
	}
	return units
}

// noise is how much of a figure two runs of the same may differ by on one machine,
// as a share. Counts do not differ, but for what is due to time: how many connections
// prepare their statements, and how full PostgreSQL's pages become.
func noise(unit string) float64 {
	timed := []string{"ms", "s", "ns", "MB"}
	words := strings.FieldsFunc(unit, func(r rune) bool { return r == '-' || r == '/' })
	switch {
	case unit == "B/op" || unit == "allocs/op" || unit == "MiB-peak":
		return 0.15
	case unit == "x-raw" || strings.HasSuffix(unit, "%ideal"):
		return 0.15
	case strings.HasPrefix(unit, "B-stored"):
		return 0.15
	case slices.Contains([]string{"trips/group", "statements/group", "B-wire/group"}, unit):
		return 0.08
	case slices.ContainsFunc(words, func(w string) bool { return slices.Contains(timed, w) }):
		return 0.30
	default:
		return 0.02
	}
}
