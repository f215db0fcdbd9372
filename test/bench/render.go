package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const stamp = "2006-01-02 15:04 UTC"

// render writes the document in Markdown.
func (d document) render() string {
	var out strings.Builder
	last := d.newest()
	out.WriteString("# Benchmarks\n\nThis page is written by `make bench`; nothing in it is typed by hand. `make bench BENCH=\"-only nightly,beside\"` measures some parts anew and leaves the others as they are; `make bench BENCH=-check` writes nothing, and says what has moved beyond noise.\n\n")
	out.WriteString(d.doubts())
	fmt.Fprintf(&out, "- Measured last: %s\n- Machine: %s\n- Versions: %s\n\n", last.Date.UTC().Format(stamp), last.Machine, last.Versions)
	out.WriteString("A disk that syncs thousands of times a second has a memory that it calls the disk: commits cost more elsewhere, on both sides of each ratio.\n\n")
	d.bars(&out)
	for _, m := range d.Parts {
		if p := partNamed(m.Part); p != nil {
			p.render(&out, m, last)
		}
	}
	out.WriteString("## All figures\n\n<details><summary>as JSON</summary>\n\n" + jsonBegin + d.encode() + jsonEnd + "\n</details>\n")
	return out.String()
}

// doubts says in the first lines what speaks against these figures.
func (d document) doubts() string {
	var busy, changed []string
	for _, m := range d.Parts {
		if m.noisy() {
			busy = append(busy, m.Part)
		}
		if strings.HasSuffix(m.Versions.Reverie, changedFiles) {
			changed = append(changed, m.Part)
		}
	}
	text := ""
	if len(busy) > 0 {
		text += "**Taken on a busy machine: " + strings.Join(busy, ", ") + ".** Read ratios of one run there, not times.\n\n"
	}
	if len(changed) > 0 {
		text += "**Taken of files that are not committed: " + strings.Join(changed, ", ") + ".** No commit gives these figures again.\n\n"
	}
	return text
}

// bars is the table of all that is asked, and whether it holds.
func (d document) bars(out *strings.Builder) {
	t := table{head: []string{"part", "what is asked", "bar", "cases", "farthest from it", "figure", "verdict"}}
	for _, p := range suite {
		m, _ := d.part(p.name)
		for _, b := range p.bars {
			all := b.judge(m.Results)
			w, ok := worst(all)
			row := []string{p.name, b.says, b.bound(), strconv.Itoa(len(all)), "-", "-", "not measured"}
			if ok {
				row = append(row[:4], w.where, w.text(), w.word())
			}
			t.rows = append(t.rows, row)
		}
	}
	out.WriteString("## What is asked\n\n")
	t.write(out)
}

// render writes a part.
func (p *part) render(out *strings.Builder, m, last measured) {
	fmt.Fprintf(out, "## %s\n\n%s\n\n", p.title, p.text())
	if m.noisy() {
		fmt.Fprintf(out, "**Noise:** %s processors did other things when this began. Read ratios of one run, not times.\n\n", figure(m.Busy))
	}
	if !m.Machine.same(last.Machine) || m.Versions != last.Versions {
		fmt.Fprintf(out, "**Kept from before:** on %s; %s.\n\n", m.Machine, m.Versions)
	}
	fmt.Fprintf(out, "Measured %s in %s, after a minute with a load of %s, and with %s processors busy with other things just before. Again, and each benchmark by hand (there on the tests' PostgreSQL, which does not sync, and has 64 MB of shared_buffers):\n\n```sh\nmake bench BENCH=\"-only %s\"\n", m.Date.UTC().Format(stamp),
		time.Duration(m.Seconds*float64(time.Second)).Round(time.Second), figure(m.Load), figure(m.Busy), p.name)
	for _, r := range p.runs {
		out.WriteString(r.command(p.timeout) + "\n")
	}
	out.WriteString("```\n\n")
	for _, t := range tables(m.Results) {
		t.write(out)
	}
	for _, s := range m.Skipped {
		fmt.Fprintf(out, "Not measured: %s (%s).\n\n", s.Name, strings.TrimSuffix(s.Why, "."))
	}
	p.exponents(out, m)
	p.verdicts(out, m)
}

// exponents is how the figures grow.
func (p *part) exponents(out *strings.Builder, m measured) {
	all := growths(m.Results, p.growth)
	if len(all) == 0 {
		return
	}
	t := table{head: []string{"what", "size", "figure", "from", "to", "exponent", "last decade", "it"}}
	for _, s := range all {
		t.rows = append(t.rows, s.row())
	}
	out.WriteString("Growth: an exponent of 0 does not grow, 1 grows as the size, 2 with its square, and below 0 it shrinks. What is constant hides what grows: the exponent of the last decade of sizes stands beside that of all, and the words go by the larger of both.\n\n")
	t.write(out)
}

// verdicts are the figures of each case beside the bars.
func (p *part) verdicts(out *strings.Builder, m measured) {
	t := table{head: []string{"what is asked", "bar", "case", "figure", "verdict"}}
	for _, b := range p.bars {
		for _, v := range b.judge(m.Results) {
			t.rows = append(t.rows, []string{b.says, b.bound(), v.where, v.text(), v.word()})
		}
	}
	if len(t.rows) > 0 {
		t.write(out)
	}
}
