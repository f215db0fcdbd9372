package irc

import (
	"path"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/text"
)

// nameDates match a date in the path of a log, in each order: 2026-01-15, 20260115, 15.01.2026, 15Jan2026, 01/15/2026.
var nameDates = []struct {
	order string
	form  *text.Pattern
}{
	{"ymd", nameDate("(?P<year>Y)B(?P<month>M)B(?P<day>D)")},
	{"dmy", nameDate("(?P<day>D)B(?P<month>M)B(?P<year>Y)")},
	{"mdy", nameDate("(?P<month>M)B(?P<day>D)B(?P<year>Y)")},
}

func nameDate(form string) *text.Pattern {
	parts := strings.NewReplacer("Y", `\d{4}`, "M", `\d\d|\pL{3,}`, "D", `\d\d`, "B", "[-_./, ]{0,2}")
	return text.NewPattern(`(?:^|\D)(` + parts.Replace(form) + `)(?:\D|$)`)
}

// nameDay is a date in a path, and its position.
type nameDay struct {
	calendar
	order   string
	at, end int
}

// dayIn finds the last date in a path. If its order is unclear, asked is its order.
func dayIn(name, asked string) (found nameDay) {
	for _, date := range nameDates {
		for from := 0; ; {
			m := date.form.FindStringSubmatchIndex(name[from:])
			if m == nil {
				break
			}
			part := func(of string) string {
				i := 2 * date.form.SubexpIndex(of)
				return name[from+m[i] : from+m[i+1]]
			}
			n := numbers(part("year"), part("month"), part("day"))
			day := calendar{year: n[0], month: max(n[1], export.Month(part("month"))), day: n[2]}
			at, end := from+m[2], from+m[3]
			switch from = end; {
			case !realDate(day.year, day.month, day.day) || at < found.at:
			case at >= found.end || at == found.at && date.order == asked:
				found = nameDay{day, date.order, at, end}
			case at == found.at && found.order != asked && day != found.calendar:
				found.calendar = calendar{unclear: name[at:end]}
			}
		}
	}
	return found
}

// without returns a split path without its date. A folder's date counts only if it is the folder's whole name.
func (d nameDay) without(name string) (dir, base string, day calendar) {
	dir, base = path.Split(name)
	switch {
	case d.end == 0:
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
