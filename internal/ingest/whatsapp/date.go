package whatsapp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// waStamp is the date and time in front of a message, as numbers whose order the
// phone's language and region decided.
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
	waTimePart = `(\D{0,16}?) ?(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))? ?(\D{0,16}?)`
)

var (
	waDateFirst = text.NewPattern(`^` + waDatePart + `(?:[,،]| klo| kl\.?| à| às| um| at| a las| alle| om| lúc|T)? ?` +
		waTimePart + `$`)
	// waHours is a time as French Canada writes it: 21 h 25, 21 h 25 min 15 s.
	waHours = text.NewPattern(`(\d{1,2}) h (\d{2})(?: min (\d{2}) s)?`)

	waTimeFirst = text.NewPattern(`^` + waTimePart + `[,،]? ` + waDatePart + `$`)

	// waPlain makes a stamp plain: no marks, one kind of space and of digits.
	waPlain = strings.NewReplacer("\u202f", " ", "\u00a0", " ", "\u2009", " ", "\u200e", "", "\u200f", "",
		"\u202a", "", "\u202b", "", "\u202c", "", "\u202d", "", "\u202e", "", "\u2066", "", "\u2067", "", "\u2068", "",
		"\u2069", "",
		"年", "/", "月", "/", "日", " ", "  ", " ",
		"٠", "0", "١", "1", "٢", "2", "٣", "3", "٤", "4", "٥", "5", "٦", "6", "٧", "7", "٨", "8", "٩", "9",
		"۰", "0", "۱", "1", "۲", "2", "۳", "3", "۴", "4", "۵", "5", "۶", "6", "۷", "7", "۸", "8", "۹", "9")
)

// The halves of a day, and noon, of which both are told in Chinese.
const (
	waAM = iota + 1
	waPM
	waNoon
)

// waHalves are the words for them, in lower case without dots and spaces.
var waHalves = map[string]int{
	"am": waAM, "上午": waAM, "凌晨": waAM, "清晨": waAM, "早上": waAM, "午前": waAM, "오전": waAM, "ص": waAM,
	"πμ": waAM, "öö": waAM, "sa": waAM, "pg": waAM, "vorm": waAM, "prob": waAM,
	"पूर्वाह्न": waAM, "दп": waAM,
	"pm": waPM, "下午": waPM, "晚上": waPM, "傍晚": waPM, "午後": waPM, "오후": waPM, "م": waPM,
	"μμ": waPM, "ös": waPM, "ch": waPM, "ptg": waPM, "nachm": waPM, "अपराह्न": waPM, "中午": waNoon,
}

// readWAStamp reads what stands in front of a message.
func readWAStamp(s string) (waStamp, bool) {
	s = strings.TrimSpace(waPlain.Replace(s))
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
		half, known := waHalves[strings.ToLower(strings.NewReplacer(".", "", " ", "").Replace(word))]
		if !known || at.half != "" {
			return waStamp{}, false
		}
		at.half, at.hour = word, waHour(at.hour, half, word)
	}
	return at, at.hour < 24 && at.minute < 60 && at.second < 61
}

// waHour is the hour of 24 that an hour of 12 means.
func waHour(hour, half int, word string) int {
	switch {
	case half == waAM && hour == 12, word == "晚上" && hour == 12: // an evening's twelve is midnight
		return 0
	case half == waPM && hour < 12, half == waNoon && hour < 11:
		return hour + 12
	}
	return hour
}

// in is the time that a stamp means where dates are written in an order. It is false
// where there is no such date.
func (s waStamp) in(order string, zone *time.Location) (time.Time, bool) {
	year, month, day := s.date[2], s.date[1], s.date[0]
	switch order {
	case "mdy":
		month, day = day, month
	case "ymd":
		year, day = day, year
	}
	if len(year) != 2 && len(year) != 4 || len(month) > 2 || len(day) > 2 {
		return time.Time{}, false
	}
	y, _ := strconv.Atoi(year)
	m, _ := strconv.Atoi(month)
	d, _ := strconv.Atoi(day)
	switch {
	case len(year) == 2 && y >= 52: // of the Buddhist era: 2552 is 2009, before which there were no such chats
		y += 2500 - 543
	case len(year) == 2:
		y += 2000
	case y >= 2500:
		y -= 543
	}
	at := time.Date(y, time.Month(m), d, s.hour, s.minute, s.second, 0, zone)
	whole := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return at, y >= 2000 && y < 2100 && int(whole.Month()) == m && whole.Day() == d
}

// waOrder says in which order the dates of a file are written, by what they can be at
// all, by time that goes on and not back, by the number that changes with most days,
// and last by what each order looks like where it is in use. asked counts where more
// than one is possible.
func waOrder(stamps []waStamp, asked string) (string, error) {
	orders := []string{"dmy", "mdy", "ymd"}
	orders = waFewest(orders, func(order string) (n int) {
		for _, s := range stamps {
			if _, ok := s.in(order, time.UTC); !ok {
				n++
			}
		}
		return n
	})
	if slices.Contains(orders, asked) {
		return asked, nil
	}
	orders = waFewest(orders, func(order string) int { return waDays(stamps, order).back })
	if len(orders) > 1 {
		if order := waFastest(stamps, orders); order != "" {
			return order, nil
		}
		custom := waCustom(stamps)
		if slices.Contains(orders, custom) {
			return custom, nil
		}
		// Nowhere are two digits of the year in front of slashes.
		orders = slices.DeleteFunc(orders, func(order string) bool { return order == "ymd" })
	}
	if len(orders) == 1 || waSame(stamps, orders) {
		return orders[0], nil
	}
	return "", fmt.Errorf("a date such as %s can be read in more than one way, and nothing tells which: say it with "+
		"--date-order dmy, mdy or ymd: %w",
		strings.Join(stamps[0].date[:], string(stamps[0].sep)), reverie.ErrInvalid)
}

// waFewest are the orders with the fewest faults.
func waFewest(orders []string, faults func(order string) int) []string {
	var best []string
	least := 0
	for _, order := range orders {
		switch n := faults(order); {
		case len(best) == 0 || n < least:
			best, least = []string{order}, n
		case n == least:
			best = append(best, order)
		}
	}
	return best
}

// waTally tells of a file whose dates are read in one order how often the date
// changes, how often the day of the month does, and how often it goes back.
type waTally struct{ changes, days, back int }

func waDays(stamps []waStamp, order string) waTally {
	var t waTally
	var last time.Time
	for _, s := range stamps {
		at, ok := s.in(order, time.UTC)
		if !ok {
			continue
		}
		at = at.Truncate(24 * time.Hour)
		if !last.IsZero() && !at.Equal(last) {
			t.changes++
			if at.Day() != last.Day() {
				t.days++
			}
			if at.Before(last.AddDate(0, 0, -1)) { // a message may come in a day late
				t.back++
			}
		}
		last = at
	}
	return t
}

// waFastest is the order in which the day changes with the dates, where in the others
// it stands still.
func waFastest(stamps []waStamp, orders []string) string {
	best := ""
	for _, order := range orders {
		switch t := waDays(stamps, order); {
		case t.changes < 3:
			return ""
		case t.days*10 >= t.changes*9:
			if best != "" {
				return ""
			}
			best = order
		case t.days*3 > t.changes:
			return ""
		}
	}
	return best
}

// waCustom is the order that such dates have where they are in use: month first are
// only 1/31/24, 7:02 PM and the like, never with zeros, four digits of the year, dots,
// dashes or small letters.
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

// waSame tells whether all orders make the same dates.
func waSame(stamps []waStamp, orders []string) bool {
	for _, s := range stamps {
		first, _ := s.in(orders[0], time.UTC)
		for _, order := range orders[1:] {
			if at, _ := s.in(order, time.UTC); !at.Equal(first) {
				return false
			}
		}
	}
	return true
}
