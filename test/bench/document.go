package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// document is all that docs/benchmarks.md says, and the JSON in it.
type document struct {
	Parts []measured `json:"parts"`
}

// measured is what a part came to, when and where.
type measured struct {
	Part     string    `json:"part"`
	Date     time.Time `json:"date"` // when it began
	Seconds  float64   `json:"seconds"`
	Machine  machine   `json:"machine"`
	Versions versions  `json:"versions"`
	Load     float64   `json:"load"` // of the minute before
	Busy     float64   `json:"busy"` // processors that did other things just before
	Results  []result  `json:"results"`
	Skipped  []skipped `json:"skipped,omitempty"`
}

// noisy is how many processors may do other things before figures are called noise.
const noisy = 0.5

func (m measured) noisy() bool { return m.Busy > noisy }

// part finds what was measured of a part.
func (d document) part(name string) (measured, bool) {
	for _, m := range d.Parts {
		if m.Part == name {
			return m, true
		}
	}
	return measured{}, false
}

// with has the parts of d, those of fresh instead where there are, in the suite's order.
func (d document) with(fresh []measured) (all document) {
	for _, p := range suite {
		m, ok := document{fresh}.part(p.name)
		if !ok {
			m, ok = d.part(p.name)
		}
		if ok {
			all.Parts = append(all.Parts, m)
		}
	}
	return all
}

// newest is the part that was measured last.
func (d document) newest() (last measured) {
	for _, m := range d.Parts {
		if m.Date.After(last.Date) {
			last = m
		}
	}
	return last
}

// The JSON stands between these lines of the document.
const (
	jsonBegin = "```json\n"
	jsonEnd   = "\n```\n"
)

// readDocument reads the figures out of a document, none where there is no such file.
func readDocument(file string) (d document, err error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, fmt.Errorf("read the figures of before: %w", err)
	}
	_, rest, ok := strings.Cut(string(raw), jsonBegin)
	block, _, whole := strings.Cut(rest, jsonEnd)
	if !ok || !whole {
		return d, fmt.Errorf("read the figures of before: %s has no whole block of JSON; remove the file to begin anew", file)
	}
	if err := json.Unmarshal([]byte(block), &d); err != nil {
		return d, fmt.Errorf("read the figures of before in %s: %w; remove the file to begin anew", file, err)
	}
	return d, nil
}

// encode is the JSON of the document, a line a result.
func (d document) encode() string {
	var out strings.Builder
	out.WriteString("{\"parts\":[\n")
	for i, m := range d.Parts {
		results := m.Results
		m.Results = []result{}
		head, _ := json.Marshal(m) // of numbers and text: cannot fail
		before, after, _ := strings.Cut(string(head), `"results":[]`)
		out.WriteString(before + "\"results\":[\n")
		for j, r := range results {
			line, _ := json.Marshal(r)
			out.WriteString("  " + string(line) + comma(j, len(results)))
		}
		out.WriteString("]" + after + comma(i, len(d.Parts)))
	}
	return out.String() + "]}"
}

func comma(i, n int) string {
	if i < n-1 {
		return ",\n"
	}
	return "\n"
}
