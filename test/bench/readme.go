package main

import (
	"fmt"
	"os"
	"strings"
)

// The driver writes between these lines of the README, and nowhere else in it.
const (
	readmeBegin = "<!-- measured: written by make bench, not by hand -->\n"
	readmeEnd   = "<!-- measured: end -->\n"
)

// headline is what the README shows: a line for each bar, its farthest case.
func (d document) headline() string {
	var out strings.Builder
	t := table{head: []string{"what", "asked", "figure", ""}}
	for _, p := range suite {
		m, _ := d.part(p.name)
		for _, b := range p.bars {
			if w, ok := worst(b.judge(m.Results)); ok {
				t.rows = append(t.rows, []string{b.says + " (" + w.where + ")", b.bound(), w.text(), w.word()})
			}
		}
	}
	if len(t.rows) == 0 {
		return "Nothing has been measured yet: `make bench`.\n"
	}
	last := d.newest()
	t.write(&out)
	fmt.Fprintf(&out, "Measured %s on %d x %s, with PostgreSQL %s; the case that is farthest from its bar. All figures, with the commands that make them again: [docs/benchmarks.md](docs/benchmarks.md).\n",
		last.Date.UTC().Format("2006-01-02"), last.Machine.Processors, last.Machine.Processor, last.Versions.PostgreSQL)
	for _, m := range d.Parts {
		if m.noisy() {
			out.WriteString("Other work was done on the machine meanwhile: read them as ratios.\n")
			break
		}
	}
	return out.String()
}

// between puts text between the marks, and says whether there were any.
func between(whole, begin, end, text string) (string, bool) {
	before, rest, ok := strings.Cut(whole, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return whole, false
	}
	return before + begin + text + end + after, true
}

func writeReadme(file string, d document) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("show the figures in the README: %w", err)
	}
	text, ok := between(string(raw), readmeBegin, readmeEnd, d.headline())
	if !ok {
		return fmt.Errorf("%s has no lines %q and %q to show the figures between; put them back", file, strings.TrimSpace(readmeBegin), strings.TrimSpace(readmeEnd))
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
