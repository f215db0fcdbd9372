package jobs

import (
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// era is the time in which one zone and one boundary hold. Dates are counted in
// days, see [dayOf]. Without since and until, its dates follow from the zone; the
// first is stretched or cut to begin at since, the last to end at until.
type era struct {
	loc         *time.Location
	boundary    time.Duration
	since       time.Time // zero: from the beginning
	until       time.Time // zero: without an end
	first, last int       // the dates at since and before until
}

// has tells whether the zone has that date, and some time in it.
func (e era) has(d int) bool {
	return at(d, 0, e.loc).Before(at(d+1, 0, e.loc)) && e.start(d).Before(e.start(d+1))
}

// start is the instant at which a date of the zone begins.
func (e era) start(d int) time.Time { return at(d, e.boundary, e.loc) }

// after is the next date that the zone has.
func (e era) after(d int) int {
	for d++; !e.has(d); d++ {
	}
	return d
}

// holding is the date of the zone in which t lies.
func (e era) holding(t time.Time) int {
	y, m, day := t.In(e.loc).Date()
	d := dayOf(y, m, day) + 1 // the next one may have begun, if the clocks went back over its start
	for e.start(d).After(t) || !e.has(d) {
		d--
	}
	return d
}

// window is that of a date which the era has.
func (e era) window(d int) reverie.Window {
	w := reverie.Window{Date: nameOf(d), Since: e.start(d), Until: e.start(e.after(d))}
	if d == e.first {
		w.Since = e.since
	}
	if d == e.last {
		w.Until = e.until
	}
	return w
}

const day = 24 * time.Hour

// dayOf counts the days from 1970-01-01 to a date.
func dayOf(year int, month time.Month, dayOfMonth int) int {
	return int(time.Date(year, month, dayOfMonth, 0, 0, 0, 0, time.UTC).Unix() / int64(day/time.Second))
}

func dateOf(d int) time.Time { return time.Unix(int64(d)*int64(day/time.Second), 0).UTC() }

func nameOf(d int) string { return dateOf(d).Format(time.DateOnly) }

func at(d int, boundary time.Duration, loc *time.Location) time.Time {
	y, m, dayOfMonth := dateOf(d).Date()
	return text.StartOfDateAt(y, m, dayOfMonth, boundary, loc)
}

func parseDay(date string) (int, error) {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0, fmt.Errorf("date %q: %w: write YYYY-MM-DD, such as 2026-01-15", date, reverie.ErrInvalid)
	}
	return dayOf(t.Date()), nil
}
