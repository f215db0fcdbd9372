package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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

const (
	// scanBlock is the number of bytes scanned at once.
	scanBlock = 1 << 20
	// scanOverlap is the number of bytes that are scanned again with the next block, for findings across its end. It is
	// longer than any key except the longest private ones.
	scanOverlap = 16 << 10
)

// ScanText reports the secrets and personal data of a text of any size, with lines of any length.
func ScanText(ctx context.Context, in io.Reader, report *ScanReport) error {
	block := make([]byte, 0, scanBlock)
	place := textPlace{line: 1, column: 1}
	for last := false; !last; {
		n, err := io.ReadFull(in, block[len(block):cap(block)])
		block = block[:len(block)+n]
		last = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		report.Bytes += int64(n)
		end := len(block)
		if !last {
			end = cutBlock(block, len(block)-scanOverlap)
		}
		text := string(block)
		done := 0
		for _, f := range safety.ScanPlaces(text) {
			if f.Start >= end {
				break // it is found again in the next block
			}
			place.advance(text[done:f.Start])
			done = f.Start
			f.Where = place.String()
			if err := report.Add(f.ScanFinding); err != nil {
				return err
			}
			end = max(end, f.End)
		}
		place.advance(text[done:end])
		block = block[:copy(block, block[end:])]
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	report.Texts = place.line
	if place.column == 1 {
		report.Texts--
	}
	return nil
}

// cutBlock returns where to cut a block, at or a little before a byte: after a line, otherwise after a space,
// otherwise between characters.
func cutBlock(block []byte, at int) int {
	near := block[max(0, at-scanOverlap):at]
	if i := bytes.LastIndexByte(near, '\n'); i >= 0 {
		return at - len(near) + i + 1
	}
	if i := bytes.LastIndexByte(near, ' '); i >= 0 {
		return at - len(near) + i + 1
	}
	for at > 0 && !utf8.RuneStart(block[at]) {
		at--
	}
	return at
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
