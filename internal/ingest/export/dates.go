package export

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// Day returns the day of a date whose numbers are in an order, "dmy", "mdy" or "ymd", in UTC. Years from 2400 on, and
// from 52 on, are of the Buddhist era: 2568 and 68 are 2025. No chat of a phone is older than 2009.
func Day(date [3]string, order string) (at time.Time, ok bool) {
	part := func(of byte) (int, int) {
		s := date[strings.IndexByte(order, of)]
		n, _ := strconv.Atoi(s) // they are digits
		return n, len(s)
	}
	year, digits := part('y')
	month, _ := part('m')
	day, _ := part('d')
	switch {
	case digits == 2 && year >= 52:
		year += 2500 - 543
	case digits == 2:
		year += 2000
	case year >= 2400:
		year -= 543
	}
	at = time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return at, year >= 2009 && year < 2100 && int(at.Month()) == month && at.Day() == day
}

// dateReading is what dates mean in one order.
type dateReading struct {
	order   string
	missing int // dates that do not exist
	faults  int
	unusual int // of the form of the dates
	days    []time.Time
}

// DateOrder returns the order of the numbers of dates: that in which most dates exist, are right, and go forward in
// small steps. If asked is an order, only their existence is better. The custom of their form decides if nothing else
// does; "" is none.
func DateOrder(dates [][3]string, asked, custom string, right func(i int, at time.Time) bool) (string, error) {
	var best []dateReading
	for _, order := range []string{"dmy", "mdy", "ymd"} {
		r := dateReading{order: order, unusual: 1}
		switch {
		case order == custom:
			r.unusual = 0
		case order == "ymd" && len(dates[0][0]) == 2:
			r.unusual = 2 // two digits of a year seldom come first
		}
		leaps, last := 0, time.Time{}
		for i, date := range dates {
			at, ok := Day(date, order)
			switch {
			case !ok:
				r.missing++
				continue
			case !right(i, at):
				r.faults += 100
			case at.Before(last.AddDate(0, 0, -1)): // a message may arrive a day late
				r.faults++
			case at.After(last.AddDate(0, 11, 0)):
				leaps++ // the first date is one
			}
			last, r.days = at, append(r.days, at)
		}
		r.faults += leaps / 4 // chats may pause for months, but not time and again
		best = append(best, r)
	}
	slices.SortStableFunc(best, func(a, b dateReading) int {
		wanted := func(r dateReading) int { return strings.Count(asked, r.order) }
		return cmp.Or(a.missing-b.missing, wanted(b)-wanted(a), a.faults-b.faults, a.unusual-b.unusual)
	})
	if first, second := best[0], best[1]; first.order != asked && first.missing == second.missing &&
		first.faults == second.faults && first.unusual == second.unusual && !slices.Equal(first.days, second.days) { // 5/5/26 is the same in both
		return "", fmt.Errorf("a date such as %s can be read in more than one way: choose one with --date-order dmy, mdy or ymd: %w",
			strings.Join(dates[0][:], "/"), reverie.ErrInvalid)
	}
	return best[0].order, nil
}
