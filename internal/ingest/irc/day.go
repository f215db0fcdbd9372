package irc

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// nameDay is a date in a file name, with the day in each order of its parts that is a valid date.
type nameDay struct {
	at, end int
	shown   string
	long    bool // the year has four digits
	by      map[string]calendar
}

var (
	words  = text.NewPattern(`\d+|\pL+`)
	orders = []string{"ymd", "dmy", "mdy"}
)

// dayIn finds the last date in a path, preferring years with four digits.
func dayIn(name string) (found nameDay) {
	at := words.FindAllStringIndex(name, -1)
	add := func(from, end int, parts ...string) {
		d := nameDay{at: from, end: end, shown: name[from:end], by: map[string]calendar{}}
		for _, order := range orders {
			if day, long := dayOf(order, parts); day.year > 0 {
				d.by[order], d.long = day, d.long || long
			}
		}
		if len(d.by) > 0 && (d.long || !found.long) {
			found = d
		}
	}
	for i, m := range at {
		if s := name[m[0]:m[1]]; len(s) == 8 && s[0] <= '9' {
			add(m[0], m[1], s[:2], s[2:4], s[4:])
			add(m[0], m[1], s[:4], s[4:6], s[6:])
		}
		if i+2 < len(at) && between(name[m[1]:at[i+1][0]]) && between(name[at[i+1][1]:at[i+2][0]]) {
			add(m[0], at[i+2][1], name[m[0]:m[1]], name[at[i+1][0]:at[i+1][1]], name[at[i+2][0]:at[i+2][1]])
		}
	}
	return found
}

// between reports whether a text may separate two parts of a date.
func between(s string) bool { return len(s) <= 2 && strings.Trim(s, "-_./, ") == "" }

// dayOf returns the day of the parts in an order, if it is valid. A year may have two digits if the other parts
// have two as well.
func dayOf(order string, parts []string) (day calendar, long bool) {
	of := func(part byte) string { return parts[strings.IndexByte(order, part)] }
	year, err := strconv.Atoi(of('y'))
	month, merr := strconv.Atoi(of('m'))
	d, derr := strconv.Atoi(of('d'))
	if merr != nil {
		month = export.Month(of('m'))
	}
	long = len(of('y')) == 4
	switch {
	case err != nil || derr != nil || len(of('d')) > 2 || merr == nil && len(of('m')) > 2:
		return calendar{}, false
	case !long && (len(of('y')) != 2 || len(of('d')) != 2 || len(of('m')) < 2):
		return calendar{}, false
	case !long && year >= 88:
		year += 1900
	case !long:
		year += 2000
	}
	if !realDate(year, month, d) {
		return calendar{}, false
	}
	return calendar{year: year, month: month, day: d}, long
}

// dayOrder counts, for each order, how many names of a folder are invalid dates in it.
type dayOrder struct {
	none  map[string]int
	asked string
}

func dayOrderOf(days []nameDay, asked string) dayOrder {
	o := dayOrder{map[string]int{}, asked}
	for _, d := range days {
		for _, order := range orders {
			if _, ok := d.by[order]; !ok && len(d.by) > 0 {
				o.none[order]++
			}
		}
	}
	return o
}

// day returns the day of a name: in the requested order, otherwise in the one that fits most names. If several fit
// equally, the calendar is unclear.
func (o dayOrder) day(d nameDay) calendar {
	if day, ok := d.by[o.asked]; ok {
		return day
	}
	var best []calendar
	fewest := 0
	for _, order := range orders {
		day, ok := d.by[order]
		switch {
		case !ok || len(best) > 0 && o.none[order] > fewest:
		case len(best) > 0 && o.none[order] == fewest:
			best = append(best, day)
		default:
			best, fewest = []calendar{day}, o.none[order]
		}
	}
	switch best = slices.Compact(best); len(best) {
	case 0:
		return calendar{}
	case 1:
		return best[0]
	}
	return calendar{unclear: d.shown}
}

// errUnclear says that the date of a name is ambiguous.
func errUnclear(shown string) error {
	return fmt.Errorf("the date %s in the name of the file can be read in more than one way: "+
		"choose one with --date-order dmy, mdy or ymd: %w", shown, reverie.ErrInvalid)
}

// without returns a split path without its date. A folder's date counts only if it is the folder's whole name.
func (d nameDay) without(name string) (dir, base string, day nameDay) {
	dir, base = path.Split(name)
	switch {
	case len(d.by) == 0:
		return dir, base, d
	case d.at >= len(dir):
		return dir, besides(base, d.at-len(dir), d.end-len(dir)), d
	case d.end > len(dir):
		return dir[:d.at], besides(base, 0, d.end-len(dir)), d
	case d.end == len(dir)-1 && (d.at == 0 || dir[d.at-1] == '/'):
		return dir[:d.at], base, d
	}
	return dir, base, nameDay{}
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
