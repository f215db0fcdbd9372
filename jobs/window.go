package jobs

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Calendar divides all of time into a group's dates, without gap or overlap. No date comes twice. A date that the zone
// skips, or that a change of zone jumps over, has no window; the window before or after it is longer.
type Calendar struct {
	eras []era // oldest first, each ends where the next begins
}

// CalendarOf makes the calendar of a group, with its past zones and boundaries. An unknown zone or boundary is a
// [reverie.ErrInvalid] that names the group.
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

// CalendarOrUTC is [CalendarOf], but returns a calendar in UTC beside an error. It is for displays, which should show
// something all the same.
func CalendarOrUTC(g reverie.Group) (Calendar, error) {
	c, err := CalendarOf(g)
	if err != nil {
		c = Calendar{eras: []era{{loc: time.UTC, first: math.MinInt, last: math.MaxInt}}}
	}
	return c, err
}

// add appends the next era. Its first date is later than the last one before it, and does not end before it begins.
func (c *Calendar) add(e era) {
	e.first, e.last = math.MinInt, math.MaxInt
	if n := len(c.eras); n > 0 {
		before := c.eras[n-1]
		e.since = before.until
		for e.first = e.dateAt(e.since); e.first <= before.last; {
			e.first = e.after(e.first)
		}
	}
	if !e.until.IsZero() {
		if !e.until.After(e.since) {
			return // two eras end at once: the first one counts
		}
		e.last = max(e.first, e.dateAt(e.until.Add(-1)))
	}
	c.eras = append(c.eras, e)
}

// Containing returns the window of the date that contains t.
func (c Calendar) Containing(t time.Time) reverie.Window {
	for _, e := range c.eras {
		if e.until.IsZero() || t.Before(e.until) {
			return e.window(max(e.first, e.dateAt(t)))
		}
	}
	panic("unreachable: the newest calendar has no end")
}

// Dates returns the first and the last date that a window covers; whole is false if it does not cover whole dates.
func (c Calendar) Dates(since, until time.Time) (first, last reverie.Window, whole bool) {
	first, last = c.Containing(since), c.Containing(until.Add(-1))
	return first, last, since.Equal(first.Since) && until.Equal(last.Until)
}

// Span returns the dates of a window as text, with a dash between several; "" if it does not cover whole dates.
func (c Calendar) Span(since, until time.Time, dash string) string {
	first, last, whole := c.Dates(since, until)
	switch {
	case !whole:
		return ""
	case first.Date == last.Date:
		return first.Date
	}
	return first.Date + dash + last.Date
}

// Window returns the window of a date, YYYY-MM-DD. A date that cannot be parsed, or that the group's calendar does not
// have, is a [reverie.ErrInvalid].
func (c Calendar) Window(date string) (reverie.Window, error) {
	d, err := parseDay(date)
	if err != nil {
		return reverie.Window{}, err
	}
	w, ok := c.windowOf(d)
	if !ok {
		return w, fmt.Errorf("date %s: the group's calendar leaves it out: %w: take the date before or after it", date, reverie.ErrInvalid)
	}
	return w, nil
}

// Closed yields the windows from the date that contains first to the last one that has ended by now, oldest first.
func (c Calendar) Closed(first, now time.Time) iter.Seq[reverie.Window] {
	return func(yield func(reverie.Window) bool) {
		for w := c.Containing(first); !w.Until.After(now); w = c.Containing(w.Until) {
			if !yield(w) {
				return
			}
		}
	}
}

// maxDates is the most dates of one request: about a hundred years.
const maxDates = 36525

// Between lists the windows of the dates from..to, both included, without dates that the calendar does not have. Dates
// that cannot be parsed, are in the wrong order or too many are a [reverie.ErrInvalid].
func (c Calendar) Between(from, to string) ([]reverie.Window, error) {
	first, last, err := parseRange(from, to)
	if err != nil {
		return nil, err
	}
	list := make([]reverie.Window, 0, last-first+1)
	for d := first; d <= last; d++ {
		if w, ok := c.windowOf(d); ok {
			list = append(list, w)
		}
	}
	return list, nil
}

// windowOf returns the window of a day, if the calendar has one.
func (c Calendar) windowOf(d int) (reverie.Window, bool) {
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

// era is a time with one zone and one boundary. Dates are counted in days, see [dayOf]. Without since and until, the
// zone alone determines the dates. The first date is stretched or cut to begin at since, the last to end at until.
type era struct {
	loc         *time.Location
	boundary    time.Duration
	since       time.Time // zero: from the beginning
	until       time.Time // zero: without an end
	first, last int       // the dates at since and before until
}

// has reports whether the zone has that date, with some time in it.
func (e era) has(d int) bool {
	return at(d, 0, e.loc).Before(at(d+1, 0, e.loc)) && e.start(d).Before(e.start(d+1))
}

// start returns the time at which a date of the zone begins.
func (e era) start(d int) time.Time { return at(d, e.boundary, e.loc) }

// after returns the next date that the zone has.
func (e era) after(d int) int {
	for d++; !e.has(d); d++ {
	}
	return d
}

// dateAt returns the date of the zone that contains t.
func (e era) dateAt(t time.Time) int {
	y, m, day := t.In(e.loc).Date()
	d := dayOf(y, m, day) + 1 // the next date may have begun if clocks went back
	for e.start(d).After(t) || !e.has(d) {
		d--
	}
	return d
}

// window returns the window of a date that the era has.
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

// Shard is one of Count parts of all groups, for several processes to share them. The zero Shard is all groups.
type Shard struct {
	Index int // counts from 0, as Kubernetes' completion index does
	Count int
}

// maxShards bounds Count: a larger number is a mistake.
const maxShards = 10_000

// ParseShard parses "2/8": the third of eight parts. Errors are [reverie.ErrInvalid] and say what to write.
func ParseShard(text string) (Shard, error) {
	index, count, found := strings.Cut(text, "/")
	i, err := strconv.ParseUint(index, 10, 31)
	n, err2 := strconv.ParseUint(count, 10, 31)
	switch {
	case !found || err != nil || err2 != nil:
		return Shard{}, fmt.Errorf("shard %q: %w: write INDEX/COUNT, such as 0/8", text, reverie.ErrInvalid)
	case n == 0 || n > maxShards:
		return Shard{}, fmt.Errorf("shard %q: %w: the count must be 1 to %d", text, reverie.ErrInvalid, maxShards)
	case i >= n:
		return Shard{}, fmt.Errorf("shard %q: %w: the index counts from 0: write 0/%d to %d/%d", text, reverie.ErrInvalid, n, n-1, n)
	}
	return Shard{Index: int(i), Count: int(n)}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Has reports whether a group belongs to the shard. The shard is the first eight bytes of the SHA-256 of the group's
// id, as a big-endian number, modulo Count. A group never changes its shard while Count stays the same.
func (s Shard) Has(groupID string) bool {
	if s.Count <= 1 {
		return true
	}
	sum := sha256.Sum256([]byte(groupID))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Count) == uint64(s.Index)
}
