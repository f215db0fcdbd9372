package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// scanReport prints findings as they come, and counts them.
type scanReport struct {
	*console
	asJSON bool
	texts  int // lines of a file, or texts of a group
	bytes  int64
	found  int
	rules  map[reverie.ScanFinding]int // by class and rule alone
}

// The columns that a finding is printed in; one that is wider moves the rest.
const (
	scanWhereWidth = 12
	scanClassWidth = 9
	scanRuleWidth  = 20
)

func (r *scanReport) add(f reverie.ScanFinding) error {
	r.found++
	r.rules[reverie.ScanFinding{Class: f.Class, Rule: f.Rule}]++
	if r.asJSON {
		return printJSONLine(r.stdout, f)
	}
	s := r.style()
	if r.found == 1 {
		if err := r.say("%s\n", s.bold(scanColumns("WHERE", "CLASS", "RULE")+"EXCERPT")); err != nil {
			return err
		}
	}
	return r.say("%s%s\n", scanColumns(visible(f.Where), string(f.Class), f.Rule), visible(f.Excerpt))
}

func scanColumns(where, class, rule string) string {
	var b strings.Builder
	for _, c := range []struct {
		text  string
		width int
	}{{where, scanWhereWidth}, {class, scanClassWidth}, {rule, scanRuleWidth}} {
		b.WriteString(c.text)
		b.WriteString(strings.Repeat(" ", max(0, c.width-width(c.text))) + "  ")
	}
	return b.String()
}

// scanCount is how often a rule found something.
type scanCount struct {
	Class reverie.FindingClass `json:"class"`
	Rule  string               `json:"rule"`
	Count int                  `json:"count"`
}

// counts are the rules that found something, the most frequent first.
func (r *scanReport) counts() []scanCount {
	list := []scanCount{}
	for f, n := range r.rules {
		list = append(list, scanCount{f.Class, f.Rule, n})
	}
	slices.SortFunc(list, func(a, b scanCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Rule, b.Rule))
	})
	return list
}

// end prints the counts.
func (r *scanReport) end() error {
	var err error
	switch {
	case r.asJSON:
		err = printJSONLine(r.stdout, struct {
			Success bool        `json:"success"`
			Texts   int         `json:"texts"`
			Bytes   int64       `json:"bytes"`
			Found   int         `json:"found"`
			Rules   []scanCount `json:"rules"`
		}{true, r.texts, r.bytes, r.found, r.counts()})
	case r.found == 0:
		return r.say("nothing found in %s\n", plural(r.texts, "text"))
	default:
		var t table
		t.row("COUNT", "CLASS", "RULE")
		for _, c := range r.counts() {
			t.row(fmt.Sprint(c.Count), string(c.Class), c.Rule)
		}
		err = errors.Join(r.say("\n"), t.write(r.stdout, r.style()))
	}
	return err
}
