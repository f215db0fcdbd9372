package irc

import (
	"path"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/text"
)

// nameDates match a date in the path of a log: 2026-01-15, 20260115, 2026/01/15, and 15Jan2026 as eggdrop writes it.
var nameDates = []*text.Pattern{
	text.NewPattern(`(?:^|\D)((?P<year>\d{4})[-_./ ]{0,2}(?P<month>\d\d)[-_./ ]{0,2}(?P<day>\d\d))(?:\D|$)`),
	text.NewPattern(`(?:^|\D)((?P<day>\d\d)(?P<month>\pL{3})(?P<year>\d{4}))(?:\D|$)`),
}

// nameDay is a date in a path, and its position.
type nameDay struct {
	calendar
	at, end int
}

// dayIn finds the last date in a path.
func dayIn(name string) (found nameDay) {
	for _, form := range nameDates {
		for from := 0; ; {
			m := form.FindStringSubmatchIndex(name[from:])
			if m == nil {
				break
			}
			part := func(of string) string {
				i := 2 * form.SubexpIndex(of)
				return name[from+m[i] : from+m[i+1]]
			}
			n := numbers(part("year"), part("month"), part("day"))
			day := calendar{year: n[0], month: max(n[1], export.Month(part("month"))), day: n[2]}
			at, end := from+m[2], from+m[3]
			if end > found.end && realDate(day.year, day.month, day.day) {
				found = nameDay{day, at, end}
			}
			from = end
		}
	}
	return found
}

// without returns a split path without its date. A folder's date counts only if it is the folder's whole name.
func (d nameDay) without(name string) (dir, base string, day calendar) {
	dir, base = path.Split(name)
	switch {
	case d.year == 0:
	case d.at >= len(dir):
		return dir, besides(base, d.at-len(dir), d.end-len(dir)), d.calendar
	case d.end > len(dir):
		return dir[:d.at], besides(base, 0, d.end-len(dir)), d.calendar
	case d.end == len(dir)-1 && (d.at == 0 || dir[d.at-1] == '/'):
		return dir[:d.at], base, d.calendar
	}
	return dir, base, calendar{}
}

// besides returns what a name contains beside a date: the text before it, otherwise the text after it and after its
// part's number.
func besides(base string, at, end int) string {
	before, behind := base[:at], base[end:]
	if strings.Trim(before, "._- ") != "" {
		return before
	}
	number := part.FindString(behind)
	switch {
	case number == "":
		return further.ReplaceAllString(behind, "")
	case strings.HasSuffix(number, "."):
		return ""
	}
	return further.ReplaceAllString(strings.TrimLeft(behind, "-_. 0123456789"), "")
}
