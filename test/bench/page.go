package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// result is a line of go test -bench.
type result struct {
	benchmark string // such as BenchmarkNightly
	sizes     string // such as groups=100/model=0s
	units     []string
	values    map[string]float64
}

// parse reads what go test -v -bench has printed: its results, and the benchmarks that were
// skipped.
func parse(raw string) (results []result, skipped []string) {
	var said string
	for line := range strings.Lines(raw) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "--- SKIP: Benchmark"):
			skipped = append(skipped, withoutProcessors(f[2])+": "+said)
		case strings.HasPrefix(line, "    "): // a benchmark's log: file.go:12: words
			_, said, _ = strings.Cut(strings.TrimSpace(line), ": ")
		case len(f) >= 4 && len(f)%2 == 0 && strings.HasPrefix(f[0], "Benchmark"):
			results = append(results, newResult(f))
		}
	}
	return results, skipped
}

// newResult reads a line's fields: a name, a count, and pairs of value and unit. What go
// test counts for all benchmarks is left out where one reports figures of its own.
func newResult(fields []string) result {
	r := result{values: map[string]float64{}}
	r.benchmark, r.sizes, _ = strings.Cut(withoutProcessors(fields[0]), "/")
	general := []string{"ns/op", "B/op", "allocs/op", "MB/s"}
	for i := 2; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err == nil {
			r.units, r.values[fields[i+1]] = append(r.units, fields[i+1]), v
		}
	}
	if slices.ContainsFunc(r.units, func(u string) bool { return !slices.Contains(general, u) }) {
		r.units = slices.DeleteFunc(r.units, func(u string) bool { return slices.Contains(general, u) })
	}
	return r
}

// withoutProcessors cuts the number of processors off the end of a name.
func withoutProcessors(name string) string {
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			return name[:i]
		}
	}
	return name
}

// section is what the page says of a part, without its heading.
func (p part) section(measured string, results []result, skipped []string) (string, error) {
	text, err := p.text()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n%s\n\n```sh\nmake bench BENCH=\"-only %s\"\n", text, measured, p.Name)
	for _, r := range p.Runs {
		fmt.Fprintln(&out, r.command())
	}
	out.WriteString("```\n")
	for len(results) > 0 {
		name := results[0].benchmark
		next := slices.IndexFunc(results, func(r result) bool { return r.benchmark != name })
		if next < 0 {
			next = len(results)
		}
		out.WriteString(table(results[:next]))
		results = results[next:]
	}
	for _, s := range skipped {
		fmt.Fprintf(&out, "\nNot measured here: %s.\n", s)
	}
	return out.String(), nil
}

// table has a row for each result of one benchmark, and a column for each of their units.
func table(results []result) string {
	var units []string
	for _, r := range results {
		for _, u := range r.units {
			if !slices.Contains(units, u) {
				units = append(units, u)
			}
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n| %s | %s |\n", results[0].benchmark, strings.Join(units, " | "))
	fmt.Fprintf(&out, "| ---%s |\n", strings.Repeat(" | ---:", len(units)))
	for _, r := range results {
		row := []string{strings.ReplaceAll(r.sizes, "/", ", ")}
		for _, unit := range units {
			text := ""
			if v, has := r.values[unit]; has {
				text = figure(v)
			}
			row = append(row, text)
		}
		fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
	}
	return out.String()
}

// figure has three significant digits, and no fraction from 100 on.
func figure(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

const pageHead = `# Benchmarks

This page is written by ` + "`make bench`" + `; nothing in it is typed by hand. ` +
	"`make bench BENCH=\"-only nightly,beside\"`" + ` measures some parts anew and leaves the others as they are.
By hand the same commands run on the tests' PostgreSQL, which does not sync and has 64 MB of shared_buffers.
Sizes stand in a benchmark's name, units are as it prints them; p50 to p99 are percentiles, and x-raw is the time over that of bare SQL.
`

// writePage writes the sections that are new, and those of before of the other parts.
func writePage(file string, s suite, sections map[string]string) error {
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	kept := map[string]string{}
	for _, chunk := range strings.Split(string(before), "\n## ")[1:] {
		title, section, _ := strings.Cut(chunk, "\n\n")
		kept[title] = section
	}
	var out strings.Builder
	out.WriteString(pageHead)
	for _, p := range s.Parts {
		section, fresh := sections[p.Title]
		if !fresh {
			section = kept[p.Title]
		}
		if section != "" {
			fmt.Fprintf(&out, "\n## %s\n\n%s\n", p.Title, strings.TrimSpace(section))
		}
	}
	return os.WriteFile(file, []byte(out.String()), 0o644)
}
