package safety

import (
	"strings"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Scan returns the secrets and personal data in a text, by position. A piece that is both counts as a secret. The
// caller sets Where.
func Scan(text string) []reverie.ScanFinding {
	places := ScanPlaces(text)
	found := make([]reverie.ScanFinding, len(places))
	for i, p := range places {
		found[i] = p.ScanFinding
	}
	return found
}

// ScanPlace is a finding and its bytes [Start, End) in the text.
type ScanPlace struct {
	reverie.ScanFinding
	Start, End int
}

// ScanPlaces is [Scan] with positions.
func ScanPlaces(text string) []ScanPlace {
	marks := markAll(text)
	found := make([]ScanPlace, len(marks))
	for i, m := range marks {
		found[i] = ScanPlace{reverie.ScanFinding{Class: m.class, Rule: m.Rule, Excerpt: excerpt(text, marks, i)}, m.Start, m.End}
	}
	return found
}

// mark is a finding with its class.
type mark struct {
	Finding
	class reverie.FindingClass
}

// markAll finds secrets and personal data, by position and without overlaps.
func markAll(text string) []mark {
	var marks []mark
	personal := FindPII(text)
	for _, f := range FindSecrets(text) {
		for len(personal) > 0 && personal[0].Start < f.End {
			if personal[0].End <= f.Start {
				marks = append(marks, mark{personal[0], reverie.ClassPII})
			}
			personal = personal[1:]
		}
		marks = append(marks, mark{f, reverie.ClassSecret})
	}
	for _, f := range personal {
		marks = append(marks, mark{f, reverie.ClassPII})
	}
	return marks
}

// excerptReach is the number of characters of the line that an excerpt shows on each side.
const excerptReach = 24

func excerpt(s string, marks []mark, i int) string {
	from, to := marks[i].Start, marks[i].End
	for range excerptReach {
		c, size := utf8.DecodeLastRuneInString(s[:from])
		if c == '\n' {
			break
		}
		from -= size
	}
	for range excerptReach {
		c, size := utf8.DecodeRuneInString(s[to:])
		if c == '\n' {
			break
		}
		to += size
	}
	var b strings.Builder
	at := from
	first := i
	for first > 0 && marks[first-1].End > from {
		first--
	}
	for _, m := range marks[first:] {
		if m.Start >= to {
			break
		}
		b.WriteString(s[min(at, m.Start):m.Start])
		b.WriteString(m.text())
		at = m.End
	}
	b.WriteString(s[min(at, to):to])
	return Privacy{}.Mask(text.Normalize(b.String()))
}

// text returns the replacement of the finding.
func (m mark) text() string {
	if m.class == reverie.ClassPII {
		return maskPII + m.Rule + "]"
	}
	return maskOpen + m.Rule + "]"
}
