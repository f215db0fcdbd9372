package text

import "time"

// StartOfDateAt is the first instant at which the clocks of loc show the given
// time of a date, counted from its midnight, or a later one: the first of two
// where they go back over it, the instant after the gap where they skip it.
func StartOfDateAt(year int, month time.Month, day int, boundary time.Duration, loc *time.Location) time.Time {
	shown := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Add(boundary)
	// Zones lie within 26 hours of UTC, so no clock shows that yet at t.
	for t := shown.Add(-26 * time.Hour); ; {
		_, offset := t.In(loc).Zone()
		start := shown.Add(-time.Duration(offset) * time.Second)
		if start.Before(t) { // the gap swallowed it
			return t
		}
		_, end := t.In(loc).ZoneBounds()
		if !end.IsZero() && !end.After(t) { // where a rule says when clocks change, a leap year's last day lies behind its bounds
			end = t.Add(time.Hour)
		}
		if end.IsZero() || start.Before(end) || !t.Before(shown.Add(38*time.Hour)) {
			return start
		}
		t = end.UTC()
	}
}

// LocalDate is the calendar date of t in loc, as YYYY-MM-DD.
func LocalDate(t time.Time, loc *time.Location) string { return t.In(loc).Format(time.DateOnly) }
