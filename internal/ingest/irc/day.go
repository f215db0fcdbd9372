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

// nameDay is a date in the name of a file: the day that it is in each order of its parts that makes it one.
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

// dayIn finds the last date in a path, one whose year has four digits before any other.
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

// between tells whether this may stand between two parts of a date.
func between(s string) bool { return len(s) <= 2 && strings.Trim(s, "-_./, ") == "" }

// dayOf is the day that the parts are in an order, where they are one. Two digits of the year do where the
// others have two digits, too.
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

// dayOrder is how well each order fits the dates of all names of a folder: how many are none in it.
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

// day is the day of a name: in the order that is asked for, else in the one that fits the names best. Where
// several do, the calendar says that it is not clear.
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

// errUnclear says that nothing tells which day a name means.
func errUnclear(shown string) error {
	return fmt.Errorf("the date %s in the name of the file can be read in more than one way: "+
		"choose one with --date-order dmy, mdy or ymd: %w", shown, reverie.ErrInvalid)
}

// without is a path, split, without a date in it. A folder's date counts where that is all of its name.
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

// besides is what a name says besides a date: what stands before it, else what stands behind it and its
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
