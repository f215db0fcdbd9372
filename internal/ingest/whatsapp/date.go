package whatsapp

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// waStamp is the date and time at the start of a message. The phone's language and region determine the order of
// its numbers.
type waStamp struct {
	date                 [3]string // digits, in the order of the file
	sep                  byte      // between them: '/', '.' or '-'
	dot                  bool      // the date ends in one, as in Korean
	hour, minute, second int       // of 24 hours
	exact                bool      // the second is told
	half                 string    // how the half of the day is told, as written; "" = by 24 hours
}

const (
	waDatePart = `(\d{1,4})([-/.]) ?(\d{1,2})[-/.] ?(\d{1,4})(\.?)(?: г\.)?`
	waTimePart = `(\D{0,20}?) ?(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))? ?(\D{0,20}?)`
)

var (
	waDateFirst = text.NewPattern(`^` + waDatePart + `(?:[,،]| klo| kl\.?| à| às| um| at| a las| alle| om| lúc|T)? ?` +
		waTimePart + `$`)
	// WaHours matches a time of French Canada: 21 h 25, 21 h 25 min 15 s.
	waHours = text.NewPattern(`(\d{1,2}) h (\d{2})(?: min (\d{2}) s)?`)

	// WaEra matches a year counted from an emperor's accession or another era: 令和6年, R6/, 民國113年.
	waEra = text.NewPattern(`(令和|平成|民國|民国|\bR|\bH) ?(元|\d{1,3})(?:年|[/.-])`)

	waTimeFirst = text.NewPattern(`^` + waTimePart + `[,،]? ` + waDatePart + `$`)

	// waPlain makes a stamp plain: no marks, one kind of space and of digits.
	waPlain = strings.NewReplacer("\u202f", " ", "\u00a0", " ", "\u2009", " ", "\u200e", "", "\u200f", "",
		"\u202a", "", "\u202b", "", "\u202c", "", "\u202d", "", "\u202e", "", "\u2066", "", "\u2067", "", "\u2068", "",
		"\u2069", "",
		"â€¯", " ", "Â", " ", "ÿ", " ", "\ufffd", " ", "\u200b", "", "\u200c", "", // spaces in a wrong encoding
		"พ.ศ.", "", "ค.ศ.", "", " BE", "", " B.E.", "",
		"年", "/", "月", "/", "日", " ", "년", "/", "월", "/", "일", " ", "  ", " ")
)

// The halves of a day, and the hours around noon, for which Chinese has a word of its own.
const (
	waAM = iota + 1
	waPM
	waNoon
	waNight // the hours from six in the evening on, and those after midnight
)

// waHalves maps the words for them.
var waHalves = func() map[string]int {
	all := map[string]int{}
	for half, words := range map[int]string{waAM: phrases.Halves.AM, waPM: phrases.Halves.PM, waNoon: phrases.Halves.Noon,
		waNight: phrases.Halves.Night} {
		for word := range strings.FieldsSeq(words) {
			all[word] = half
		}
	}
	return all
}()

// readWAStamp parses the text at the start of a message.
func readWAStamp(s string) (waStamp, bool) {
	if m := waEra.FindStringSubmatchIndex(s); m != nil {
		n, _ := strconv.Atoi(strings.Replace(s[m[4]:m[5]], "元", "1", 1))
		s = s[:m[2]] + strconv.Itoa(phrases.Eras[s[m[2]:m[3]]]+n) + s[m[5]:]
	}
	s = strings.Join(strings.Fields(strings.Map(export.Digit, waPlain.Replace(s))), " ")
	if strings.Contains(s, " h ") {
		s = strings.TrimSuffix(waHours.ReplaceAllString(s, "$1:$2:$3"), ":")
	}
	var date, clock []string
	if m := waDateFirst.FindStringSubmatch(s); m != nil {
		date, clock = m[1:6], m[6:]
	} else if m := waTimeFirst.FindStringSubmatch(s); m != nil {
		clock, date = m[1:6], m[6:]
	} else {
		return waStamp{}, false
	}
	at := waStamp{date: [3]string{date[0], date[2], date[3]}, sep: date[1][0], dot: date[4] != "", exact: clock[3] != ""}
	at.hour, _ = strconv.Atoi(clock[1]) // two digits at most, all of them
	at.minute, _ = strconv.Atoi(clock[2])
	at.second, _ = strconv.Atoi(clock[3])
	for _, word := range []string{clock[0], clock[4]} {
		if word = strings.TrimSpace(word); word == "" || word == "Uhr" || word == "ч." || word == "," {
			continue
		}
		half, known := waHalves[strings.ToLower(strings.NewReplacer(".", "", " ", "", "-", "").Replace(word))]
		if !known || at.half != "" {
			return waStamp{}, false
		}
		at.half, at.hour = word, waHour(at.hour, half)
	}
	return at, at.hour < 24 && at.minute < 60 && at.second < 61
}

// waHour is the hour of 24 that an hour of 12 means.
func waHour(hour, half int) int {
	switch {
	case half == waAM && hour == 12, half == waNight && hour == 12: // twelve at night is midnight
		return 0
	case half == waPM && hour < 12, half == waNoon && hour < 11, half == waNight && hour > 5 && hour < 12:
		return hour + 12
	}
	return hour
}

// in returns the time of a stamp, for an order of dates. It is false if the date is invalid.
func (s waStamp) in(order string, zone *time.Location) (time.Time, bool) {
	year, month, day := s.date[2], s.date[1], s.date[0]
	switch order {
	case "mdy":
		month, day = day, month
	case "ymd":
		year, day = day, year
	}
	m, merr := strconv.Atoi(month)
	d, derr := strconv.Atoi(day)
	at, ok := export.Day(year, m, d)
	return time.Date(at.Year(), at.Month(), at.Day(), s.hour, s.minute, s.second, 0, zone),
		ok && merr == nil && derr == nil && len(month) <= 2 && len(day) <= 2
}

// waOrder determines the order of dates in a file. It uses, in turn, which orders are valid, in which time goes
// forward, in which the dates lie closest, and which form is customary for each order. If several are possible,
// asked decides.
func waOrder(stamps []waStamp, asked string) (string, error) {
	read := map[string]waDates{}
	for _, order := range []string{"dmy", "mdy", "ymd"} {
		read[order] = waRead(stamps, order)
	}
	orders := waFewest(slices.Sorted(maps.Keys(read)), func(order string) int { return read[order].none })
	if slices.Contains(orders, asked) {
		return asked, nil
	}
	orders = waFewest(orders, func(order string) int { return read[order].back })
	if nearest := waFewest(orders, func(order string) int { return read[order].days }); len(nearest) == 1 {
		apart := read[nearest[0]]
		if apart.changes >= 3 && !slices.ContainsFunc(orders, func(order string) bool {
			return order != nearest[0] && read[order].days < 4*apart.days
		}) {
			return nearest[0], nil
		}
	}
	if custom := waCustom(stamps); slices.Contains(orders, custom) {
		return custom, nil
	}
	// No region writes two digits of the year first, with slashes.
	if len(orders) > 1 {
		orders = slices.DeleteFunc(orders, func(order string) bool { return order == "ymd" })
	}
	if !slices.ContainsFunc(stamps, func(s waStamp) bool { // 5/5/26 is the same day in both orders
		first, _ := s.in(orders[0], time.UTC)
		return slices.ContainsFunc(orders[1:], func(order string) bool {
			at, _ := s.in(order, time.UTC)
			return !at.Equal(first)
		})
	}) {
		return orders[0], nil
	}
	return "", fmt.Errorf("a date such as %s can be read in more than one way: choose one with "+
		"--date-order dmy, mdy or ymd: %w",
		strings.Join(stamps[0].date[:], string(stamps[0].sep)), reverie.ErrInvalid)
}

// waFewest returns the orders with the fewest faults.
func waFewest(orders []string, faults func(order string) int) (best []string) {
	for _, order := range orders {
		switch {
		case len(best) == 0 || faults(order) < faults(best[0]):
			best = []string{order}
		case faults(order) == faults(best[0]):
			best = append(best, order)
		}
	}
	return best
}

// waDates describes the dates of a file in one order: how many are invalid, how often the date changes, how often
// it goes back, and the days from the first to the last.
type waDates struct{ none, changes, back, days int }

func waRead(stamps []waStamp, order string) (d waDates) {
	const day = 24 * time.Hour
	var first, last time.Time
	for _, s := range stamps {
		at, ok := s.in(order, time.UTC)
		if !ok {
			d.none++
			continue
		}
		at = at.Truncate(day)
		if last.IsZero() {
			first, last = at, at
		}
		if !at.Equal(last) {
			d.changes++
		}
		if at.Before(last.Add(-day)) { // a message may arrive a day late
			d.back++
		}
		last = at
	}
	d.days = int(last.Sub(first) / day)
	return d
}

// waCustom returns the order that is customary for the form of the dates. Month first is only written as 1/31/24,
// 7:02 PM: never with zeros, four digits of the year, dots, dashes or lower-case letters.
func waCustom(stamps []waStamp) string {
	var padded, long, capital bool
	for _, s := range stamps {
		for _, n := range s.date[:2] {
			padded = padded || n[0] == '0'
		}
		long = long || len(s.date[2]) == 4
		capital = capital || s.half == "AM" || s.half == "PM"
	}
	first := stamps[0]
	switch {
	case first.dot && first.sep == '.' && !long:
		return "ymd" // 24. 3. 12. 오후
	case first.sep != '/':
		return "dmy"
	case capital && !padded && !long:
		return "mdy"
	case !capital && (padded || long || first.half != ""):
		return "dmy"
	}
	return ""
}
