package text

import "time"

// StartOfDateAt returns the first instant at which the clocks of loc show the given time of a date, or a later
// time. The time is counted from midnight. If clocks are set back over it, the result is the first of two instants.
// If they skip it, it is the instant after the gap.
func StartOfDateAt(year int, month time.Month, day int, boundary time.Duration, loc *time.Location) time.Time {
	shown := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Add(boundary)
	// Time zones lie within 26 hours of UTC, so no clock shows the time yet at t.
	for t := shown.Add(-26 * time.Hour); ; {
		_, offset := t.In(loc).Zone()
		start := shown.Add(-time.Duration(offset) * time.Second)
		if start.Before(t) { // the time falls into a gap
			return t
		}
		_, end := t.In(loc).ZoneBounds()
		// If a rule defines clock changes, the last day of a leap year lies outside of its bounds.
		if !end.IsZero() && !end.After(t) {
			end = t.Add(time.Hour)
		}
		if end.IsZero() || start.Before(end) || !t.Before(shown.Add(38*time.Hour)) {
			return start
		}
		t = end.UTC()
	}
}

// LocalDate returns the calendar date of t in loc, as YYYY-MM-DD.
func LocalDate(t time.Time, loc *time.Location) string { return t.In(loc).Format(time.DateOnly) }
