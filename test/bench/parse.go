package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// result is what one benchmark came to.
type result struct {
	Package    string  `json:"package"`
	Name       string  `json:"name"` // without Benchmark, and without the number of processors
	Iterations int     `json:"iterations"`
	Values     []value `json:"values"`
}

// value is a figure in the unit that the benchmark printed.
type value struct {
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// skipped is a benchmark that could not be run here.
type skipped struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

func (r result) value(unit string) (float64, bool) {
	for _, v := range r.Values {
		if v.Unit == unit {
			return v.Value, true
		}
	}
	return 0, false
}

var (
	resultLine = regexp.MustCompile(`^Benchmark\S*\s+\d+\s`)
	skipLine   = regexp.MustCompile(`^--- SKIP: Benchmark(\S+)`)
	processors = regexp.MustCompile(`-\d+$`)
)

// parse reads what go test -v -bench has printed.
func parse(raw string) (results []result, skips []skipped, err error) {
	var lines strings.Builder
	var said []string // by the benchmark at hand
	for line := range strings.Lines(raw) {
		name := skipLine.FindStringSubmatch(line)
		switch {
		case name != nil:
			skips = append(skips, skipped{processors.ReplaceAllString(name[1], ""), strings.Join(said, " ")})
		case strings.HasPrefix(line, "    "):
			said = append(said, told(line))
			continue
		case resultLine.MatchString(line) || strings.HasPrefix(line, "pkg: "):
			lines.WriteString(line)
		}
		said = nil
	}
	results, err = readLines(strings.NewReader(lines.String()))
	return results, skips, err
}

var position = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

// told is a line of a log without where it was written.
func told(line string) string { return strings.TrimSpace(position.ReplaceAllString(line, "")) }

// readLines reads lines of results and of packages.
func readLines(in io.Reader) (results []result, err error) {
	r := benchfmt.NewReader(bufio.NewReader(in), "the benchmarks' output")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			one := result{Package: rec.GetConfig("pkg"), Name: fullName(rec.Name), Iterations: rec.Iters}
			for _, v := range rec.Values {
				if v.OrigUnit != "" { // as it was printed
					v.Value, v.Unit = v.OrigValue, v.OrigUnit
				}
				one.Values = append(one.Values, value{v.Unit, v.Value})
			}
			results = append(results, one)
		case *benchfmt.SyntaxError:
			err = errors.Join(err, fmt.Errorf("a line of results cannot be read: %w", rec))
		}
	}
	return results, errors.Join(err, r.Err())
}

// fullName is a name without the number of processors at its end.
func fullName(n benchfmt.Name) string {
	base, parts := n.Parts()
	name := string(base)
	for _, p := range parts {
		if p[0] != '-' {
			name += string(p)
		}
	}
	return name
}

// sizes are the parts of a name: its words, and its sizes as key and value in order.
func (r result) sizes() (words []string, keys []string, at map[string]string) {
	at = map[string]string{}
	for i, p := range strings.Split(r.Name, "/") {
		key, v, sized := strings.Cut(p, "=")
		switch {
		case i == 0: // the benchmark itself
		case sized:
			keys, at[key] = append(keys, key), v
		default:
			words = append(words, p)
		}
	}
	return words, keys, at
}
