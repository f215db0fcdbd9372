package reverie

import "time"

// StartOfDate is the first instant of a calendar date in loc: midnight, the
// first of two where the clocks go back over it, or the instant after the gap
// where they skip it.
func StartOfDate(year int, month time.Month, day int, loc *time.Location) time.Time {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	noon := midnight.Add(12 * time.Hour)
	// Zones lie within 26 hours of UTC, so the date has not begun anywhere at t.
	for t := midnight.Add(-26 * time.Hour); ; {
		_, offset := t.In(loc).Zone()
		start := midnight.Add(-time.Duration(offset) * time.Second)
		if start.Before(t) { // the gap swallowed midnight
			return t
		}
		_, end := t.In(loc).ZoneBounds()
		if end.IsZero() || start.Before(end) || !t.Before(noon.Add(26*time.Hour)) {
			return start
		}
		t = end.UTC()
	}
}
