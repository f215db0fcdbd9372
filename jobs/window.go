package jobs

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"reverie/internal/reverie"
)

// Calendar divides all of time into a group's dates, without gap or overlap. No
// date comes twice. One that the zone leaves out, or that a change of zone jumps
// over, has no window; the window before or after it is the longer for it.
type Calendar struct {
	eras []era // oldest first, each ends where the next begins
}

// CalendarOf reads a group's calendar, the past ones included. An unknown zone or
// boundary is a [reverie.ErrInvalid] that names the group.
func CalendarOf(g reverie.Group) (Calendar, error) {
	var c Calendar
	past := slices.Clone(g.Past)
	slices.SortFunc(past, func(a, b reverie.PastCalendar) int { return a.ValidUntil.Compare(b.ValidUntil) })
	for _, p := range append(past, reverie.PastCalendar{TimeZone: g.TimeZone, DayBoundary: g.DayBoundary}) {
		old := reverie.Group{ID: g.ID, TimeZone: p.TimeZone, DayBoundary: p.DayBoundary}
		loc, err := old.Location()
		if err != nil {
			return Calendar{}, err
		}
		boundary, err := old.Boundary()
		if err != nil {
			return Calendar{}, err
		}
		c.add(era{loc: loc, boundary: boundary, until: p.ValidUntil.UTC()})
	}
	return c, nil
}

// CalendarOrUTC is [CalendarOf], and with its error a calendar in UTC: what is only
// looked at is worth seeing all the same.
func CalendarOrUTC(g reverie.Group) (Calendar, error) {
	c, err := CalendarOf(g)
	if err != nil {
		c = Calendar{eras: []era{{loc: time.UTC, first: math.MinInt, last: math.MaxInt}}}
	}
	return c, err
}

// add appends the era that follows. Its first date is the first that is later
// than the last one before it and does not end before it begins.
func (c *Calendar) add(e era) {
	e.first, e.last = math.MinInt, math.MaxInt
	if n := len(c.eras); n > 0 {
		before := c.eras[n-1]
		e.since = before.until
		for e.first = e.holding(e.since); e.first <= before.last; {
			e.first = e.after(e.first)
		}
	}
	if !e.until.IsZero() {
		if !e.until.After(e.since) {
			return // two that end together: the first of them holds
		}
		e.last = max(e.first, e.holding(e.until.Add(-1)))
	}
	c.eras = append(c.eras, e)
}

// Containing is the window of the date that holds t.
func (c Calendar) Containing(t time.Time) reverie.Window {
	for _, e := range c.eras {
		if e.until.IsZero() || t.Before(e.until) {
			return e.window(max(e.first, e.holding(t)))
		}
	}
	panic("unreachable: the newest calendar has no end")
}

// Dates are the first and the last of those that a window covers, false where it is no
// whole dates.
func (c Calendar) Dates(since, until time.Time) (first, last reverie.Window, whole bool) {
	first, last = c.Containing(since), c.Containing(until.Add(-1))
	return first, last, since.Equal(first.Since) && until.Equal(last.Until)
}

// Window is that of a date, YYYY-MM-DD. A date that cannot be read, or that the
// group's calendar does not have, is a [reverie.ErrInvalid].
func (c Calendar) Window(date string) (reverie.Window, error) {
	d, err := parseDay(date)
	if err != nil {
		return reverie.Window{}, err
	}
	w, ok := c.of(d)
	if !ok {
		return w, fmt.Errorf("date %s: the group's calendar leaves it out: %w: take the date before or after it", date, reverie.ErrInvalid)
	}
	return w, nil
}

// Closed yields the windows from the date that holds first to the last one that
// has ended by now, the oldest first.
func (c Calendar) Closed(first, now time.Time) iter.Seq[reverie.Window] {
	return func(yield func(reverie.Window) bool) {
		for w := c.Containing(first); !w.Until.After(now); w = c.Containing(w.Until) {
			if !yield(w) {
				return
			}
		}
	}
}

// maxDates bounds what may be asked for at once: about a hundred years.
const maxDates = 36525

// Between lists the windows of the dates from the one to the other, both
// included. Dates that the calendar does not have are left out. Dates that cannot
// be read, are in the wrong order or too many are a [reverie.ErrInvalid].
func (c Calendar) Between(from, to string) ([]reverie.Window, error) {
	first, last, err := parseRange(from, to)
	if err != nil {
		return nil, err
	}
	list := make([]reverie.Window, 0, last-first+1)
	for d := first; d <= last; d++ {
		if w, ok := c.of(d); ok {
			list = append(list, w)
		}
	}
	return list, nil
}

// of is the window of a day, if the calendar has one.
func (c Calendar) of(d int) (reverie.Window, bool) {
	for _, e := range c.eras {
		if d >= e.first && d <= e.last && e.has(d) {
			return e.window(d), true
		}
	}
	return reverie.Window{}, false
}

func parseRange(from, to string) (first, last int, err error) {
	if first, err = parseDay(from); err != nil {
		return 0, 0, err
	}
	if last, err = parseDay(to); err != nil {
		return 0, 0, err
	}
	if last < first {
		return 0, 0, fmt.Errorf("dates %s to %s: the first is after the last: %w: swap them", from, to, reverie.ErrInvalid)
	}
	if last-first >= maxDates {
		return 0, 0, fmt.Errorf("dates %s to %s: %w: ask for at most %d dates at once", from, to, reverie.ErrInvalid, maxDates)
	}
	return first, last, nil
}
