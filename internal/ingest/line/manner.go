package line

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// manner is the form of a text, as detected from its lines.
type manner struct {
	tab    bool   // tabs separate time, name and text; otherwise spaces do
	order  string // of dates
	shape  string // shape of dates
	labels map[string]time.Weekday
	longer map[string]string // with spaces: the next word of a name, by the words before it
}

// weekdays are unambiguous names of weekdays; others are learned from the dates.
var weekdays = map[string]time.Weekday{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6,
	"日": 0, "月": 1, "火": 2, "水": 3, "木": 4, "金": 5, "土": 6,
	"อา": 0, "จ": 1, "อ": 2, "พ": 3, "พฤ": 4, "ศ": 5, "ส": 6}

// mannerOf detects the manner from the beginning of a text.
func mannerOf(ahead []byte, asked string) (m manner, err error) {
	var dates, messages []head
	tabs := 0
	for l := range bytes.Lines(ahead) {
		switch h, ok := split(export.UTF8Line(bytes.TrimRight(l, "\r\n"))); {
		case ok && h.kind == 'd':
			dates = append(dates, h)
		case ok && len(dates) > 0:
			if messages = append(messages, h); h.tab {
				tabs++
			}
		}
	}
	if len(dates) == 0 {
		return m, fmt.Errorf("no line of it is a date, as in exports of LINE: %w", reverie.ErrInvalid)
	}
	if m.tab = tabs*2 >= len(messages); !m.tab {
		m.longer = longerNames(messages)
	}
	m.shape = dates[0].shape
	dates = slices.DeleteFunc(dates, func(h head) bool { return h.shape != m.shape })
	m.order, m.labels, err = orderOf(dates, asked)
	return m, err
}

// dayOf parses a date.
func dayOf(date [3]string, order string) (time.Time, bool) {
	year, month, day := date[2], date[1], date[0]
	switch order {
	case "mdy":
		month, day = day, month
	case "ymd":
		year, day = day, year
	}
	m, _ := strconv.Atoi(month) // four digits at most
	d, _ := strconv.Atoi(day)
	return export.Day(year, m, d)
}

// right reports whether a date is valid and, unless the label is separate, whether its label is that of the day.
func (m manner) right(h head, apart bool) bool {
	at, ok := dayOf(h.date, m.order)
	day, known := weekday(h.label, m.labels)
	return ok && (apart || !known || day == at.Weekday())
}

// weekday returns the day of a label: Thu, Thursday and 木曜日 are known.
func weekday(label string, learned map[string]time.Weekday) (day time.Weekday, known bool) {
	if day, known = weekdays[label]; !known && len(label) > 3 && label[0] != 0xe0 { // 0xe0 begins Thai
		day, known = weekdays[label[:3]]
	}
	if !known {
		day, known = learned[label]
	}
	return day, known
}

// orderOf determines the order of dates. In the right order most dates are valid, each label has one weekday, and
// time goes forward.
func orderOf(dates []head, asked string) (best string, labels map[string]time.Weekday, err error) {
	fewest, tie := -1, false
	var days []time.Time
	for _, order := range []string{"ymd", "dmy", "mdy"} {
		faults, learned, last := 0, map[string]time.Weekday{}, time.Time{}
		var read []time.Time
		for _, h := range dates {
			at, ok := dayOf(h.date, order)
			day, known := weekday(h.label, learned)
			switch {
			case !ok:
				faults += 100
			case !known && h.label != "":
				learned[h.label] = at.Weekday()
			case known && day != at.Weekday():
				faults += 10
			}
			if at.Before(last) {
				faults++
			}
			last, read = at, append(read, at)
		}
		equal := faults == fewest && !slices.Equal(read, days)
		tie = tie && faults >= fewest || equal
		if fewest < 0 || faults < fewest || equal && order == asked {
			best, fewest, labels, days = order, faults, learned, read
		}
	}
	if tie && asked != best {
		err = fmt.Errorf("a date such as %s can be read in more than one way: choose one with "+
			"--date-order dmy, mdy or ymd: %w", strings.Join(dates[0].date[:], "/"), reverie.ErrInvalid)
	}
	return best, labels, err
}

// longerNames finds names of several words, if spaces separate name and text: a beginning that always continues the
// same, at least five times.
func longerNames(messages []head) map[string]string {
	next, times := map[string]string{}, map[string]int{}
	for _, h := range messages {
		words := strings.SplitN(h.rest, " ", 5)
		for n := 1; n < len(words)-1 && !h.happened(); n++ {
			name := strings.Join(words[:n], " ")
			if known, seen := next[name]; seen && known != words[n] {
				next[name] = ""
			} else if !seen && len(next) < export.MaxNames {
				next[name] = words[n]
			}
			times[name]++
		}
	}
	maps.DeleteFunc(next, func(name, word string) bool { return times[name] < 5 })
	return next
}
