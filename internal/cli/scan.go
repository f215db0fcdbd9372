package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// ScanReport prints findings as they come, and counts them.
type ScanReport struct {
	*Console
	AsJSON bool
	Texts  int // lines of a file, or texts of a group
	Bytes  int64
	Found  int
	Rules  map[reverie.ScanFinding]int // by class and rule alone
}

// The columns that a finding is printed in; one that is wider moves the rest.
const (
	scanWhereWidth = 12
	scanClassWidth = 9
	scanRuleWidth  = 20
)

func (r *ScanReport) Add(f reverie.ScanFinding) error {
	r.Found++
	r.Rules[reverie.ScanFinding{Class: f.Class, Rule: f.Rule}]++
	if r.AsJSON {
		return PrintJSONLine(r.Stdout, f)
	}
	s := r.Style()
	if r.Found == 1 {
		if err := r.Say("%s\n", s.Bold(scanColumns("WHERE", "CLASS", "RULE")+"EXCERPT")); err != nil {
			return err
		}
	}
	return r.Say("%s%s\n", scanColumns(Visible(f.Where), string(f.Class), f.Rule), Visible(f.Excerpt))
}

func scanColumns(where, class, rule string) string {
	var b strings.Builder
	for _, c := range []struct {
		text  string
		width int
	}{{where, scanWhereWidth}, {class, scanClassWidth}, {rule, scanRuleWidth}} {
		b.WriteString(c.text)
		b.WriteString(strings.Repeat(" ", max(0, c.width-Width(c.text))) + "  ")
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
func (r *ScanReport) counts() []scanCount {
	list := []scanCount{}
	for f, n := range r.Rules {
		list = append(list, scanCount{f.Class, f.Rule, n})
	}
	slices.SortFunc(list, func(a, b scanCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Rule, b.Rule))
	})
	return list
}

// End prints the counts.
func (r *ScanReport) End() error {
	var err error
	switch {
	case r.AsJSON:
		err = PrintJSONLine(r.Stdout, struct {
			Success bool        `json:"success"`
			Texts   int         `json:"texts"`
			Bytes   int64       `json:"bytes"`
			Found   int         `json:"found"`
			Rules   []scanCount `json:"rules"`
		}{true, r.Texts, r.Bytes, r.Found, r.counts()})
	case r.Found == 0:
		return r.Say("nothing found in %s\n", Plural(r.Texts, "text"))
	default:
		var t Table
		t.Row("COUNT", "CLASS", "RULE")
		for _, c := range r.counts() {
			t.Row(c.Count, c.Class, c.Rule)
		}
		err = errors.Join(r.Say("\n"), t.Write(r.Stdout, r.Style()))
	}
	return err
}
