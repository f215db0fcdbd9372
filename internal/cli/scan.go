package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// ScanReport prints findings as they are found, and counts them.
type ScanReport struct {
	*Console
	Texts int // lines of a file, or texts of a group
	Bytes int64
	Found int
	Rules map[reverie.ScanFinding]int // by class and rule only
}

// scanRow is the format of a finding: place, class, rule, and excerpt.
const scanRow = "%-12s  %-9s  %-20s  %s"

func (r *ScanReport) Add(f reverie.ScanFinding) error {
	r.Found++
	r.Rules[reverie.ScanFinding{Class: f.Class, Rule: f.Rule}]++
	if r.JSON {
		return r.WriteJSONLine(f)
	}
	s := r.Style()
	if r.Found == 1 {
		if err := r.Say("%s\n", s.Bold(fmt.Sprintf(scanRow, "WHERE", "CLASS", "RULE", "EXCERPT"))); err != nil {
			return err
		}
	}
	return r.Say(scanRow+"\n", Visible(f.Where), f.Class, f.Rule, Visible(f.Excerpt))
}

// scanCount is the number of findings of a rule.
type scanCount struct {
	Class reverie.FindingClass `json:"class"`
	Rule  string               `json:"rule"`
	Count int                  `json:"count"`
}

// counts returns the rules with findings, most frequent first.
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
	case r.JSON:
		err = r.WriteJSONLine(struct {
			Success bool        `json:"success"`
			Texts   int         `json:"texts"`
			Bytes   int64       `json:"bytes"`
			Found   int         `json:"found"`
			Rules   []scanCount `json:"rules"`
		}{true, r.Texts, r.Bytes, r.Found, r.counts()})
	case r.Found == 0:
		return r.Say("nothing found in %s\n", Plural(r.Texts, "text"))
	default:
		err = r.Page("scan_counts", r.counts())
	}
	return err
}

// ScanText reports the secrets and personal data of a text.
func ScanText(in io.Reader, report *ScanReport) error {
	raw, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	said, place, done := string(raw), textPlace{line: 1, column: 1}, 0
	for _, f := range safety.ScanPlaces(said) {
		place.advance(said[done:f.Start])
		done = f.Start
		f.Where = place.String()
		if err := report.Add(f.ScanFinding); err != nil {
			return err
		}
	}
	report.Bytes, report.Texts = int64(len(raw)), len(slices.Collect(strings.Lines(said)))
	return nil
}

// textPlace is a position in a text: line and character.
type textPlace struct{ line, column int }

func (p *textPlace) advance(text string) {
	if n := strings.Count(text, "\n"); n > 0 {
		p.line, p.column = p.line+n, 1
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	p.column += utf8.RuneCountInString(text)
}

func (p textPlace) String() string { return fmt.Sprintf("%d:%d", p.line, p.column) }
