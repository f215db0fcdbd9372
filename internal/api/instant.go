package api

import (
	"errors"
	"time"
)

// Instant reads RFC 3339, or a date, which is its first instant in UTC.
func Instant(s string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		at, err = time.Parse(time.DateOnly, s)
	}
	if at = at.UTC(); err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}, errors.New("write an instant of 1970 to 9999, such as 2026-01-15T12:30:00Z, or a date")
	}
	return at.Truncate(time.Microsecond), nil // as instants are stored: the database would round up
}
