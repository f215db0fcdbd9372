package line

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// manner is the form of a text, as detected from its lines.
type manner struct {
	tab    bool              // tabs separate time, name and text; otherwise spaces do
	order  string            // of dates
	shape  string            // shape of dates
	longer map[string]string // with spaces: the next word of a name, by the words before it
}

// weekdays are unambiguous names of weekdays.
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
	days := make([][3]string, len(dates))
	for i, h := range dates {
		days[i] = h.date
	}
	m.order, err = export.DateOrder(days, asked, "", func(i int, at time.Time) bool { return dates[i].labelled(at) })
	return m, err
}

// right reports whether a date is valid and, unless the label is separate, whether its label is that of the day.
func (m manner) right(h head, separate bool) bool {
	at, ok := export.Day(h.date, m.order)
	return ok && (separate || h.labelled(at))
}

// labelled reports whether a date's label may be that of a day: Thu, Thursday and 木曜日 are known.
func (h head) labelled(at time.Time) bool {
	day, known := weekdays[h.label]
	if !known && len(h.label) > 3 && h.label[0] != 0xe0 { // 0xe0 begins Thai
		day, known = weekdays[h.label[:3]]
	}
	return !known || day == at.Weekday()
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
