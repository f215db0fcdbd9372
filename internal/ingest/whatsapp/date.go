package whatsapp

import (
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/text"
)

// waStamp is the date and time at the start of a message. The phone's language and region determine the order of
// its numbers.
type waStamp struct {
	date                 [3]string // digits, in the order of the file
	sep                  byte      // separator: '/', '.' or '-'
	dot                  bool      // the date ends in a dot, as in Korean
	hour, minute, second int       // on a 24-hour clock
	exact                bool      // the second is known
	half                 string    // the half of the day, as written; "" = 24 hours
}

const (
	waDatePart = `(\d{1,4})([-/.]) ?(\d{1,2})[-/.] ?(\d{1,4})(\.?)(?: г\.)?`
	waTimePart = `(\D{0,20}?) ?(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))? ?(\D{0,20}?)`
)

var (
	waDateFirst = text.NewPattern(`^` + waDatePart + `(?:[,،]| klo| kl\.?| à| às| um| at| a las| alle| om| lúc|T)? ?` +
		waTimePart + `$`)
	// waHours matches a time of French Canada: 21 h 25, 21 h 25 min 15 s.
	waHours = text.NewPattern(`(\d{1,2}) h (\d{2})(?: min (\d{2}) s)?`)

	// waEra matches a year counted from an emperor's accession or another era: 令和6年, R6/, 民國113年.
	waEra = text.NewPattern(`(令和|平成|民國|民国|\bR|\bH) ?(元|\d{1,3})(?:年|[/.-])`)

	waTimeFirst = text.NewPattern(`^` + waTimePart + `[,،]? ` + waDatePart + `$`)

	// waPlain normalises a stamp: no marks, one kind of space and of digits.
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
	at.hour, _ = strconv.Atoi(clock[1]) // two digits at most, like all of them
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

// waHour converts an hour of a 12-hour clock.
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
	at, ok := export.Day(s.date, order)
	return time.Date(at.Year(), at.Month(), at.Day(), s.hour, s.minute, s.second, 0, zone), ok
}

// waOrder determines the order of dates in a file. If the dates do not tell, their form may.
func waOrder(stamps []waStamp, asked string) (string, error) {
	custom := ""
	switch first := stamps[0]; {
	case first.dot:
		custom = "ymd" // 24. 3. 12. 오후
	case first.sep != '/':
		custom = "dmy"
	}
	dates := make([][3]string, len(stamps))
	for i, s := range stamps {
		dates[i] = s.date
	}
	return export.DateOrder(dates, asked, custom, func(int, time.Time) bool { return true })
}
