package text_test

import (
	"testing"
	"time"

	"reverie/internal/text"
)

func TestStartOfDate(t *testing.T) {
	tests := []struct{ zone, date, want string }{
		{"UTC", "2026-01-15", "2026-01-15T00:00:00Z"},
		{"Asia/Shanghai", "2026-01-15", "2026-01-14T16:00:00Z"},
		{"America/New_York", "2026-03-08", "2026-03-08T05:00:00Z"},
		{"America/New_York", "2026-03-09", "2026-03-09T04:00:00Z"},
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z"}, // 01:00 becomes 00:00: midnight twice
		{"Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z"},   // 00:00 becomes 01:00: no midnight
		{"Pacific/Kiritimati", "2026-01-01", "2025-12-31T10:00:00Z"},
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z"},  // the day before did not exist
		{"Europe/Berlin", "2044-12-31", "2044-12-30T23:00:00Z"}, // a leap year's last day, beyond the table of changes
		{"Australia/Lord_Howe", "2045-01-01", "2044-12-31T13:00:00Z"},
		{"America/New_York", "2045-01-01", "2045-01-01T05:00:00Z"},
	}
	for _, tt := range tests {
		loc, err := time.LoadLocation(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		d, _ := time.Parse(time.DateOnly, tt.date)
		if got := text.StartOfDateAt(d.Year(), d.Month(), d.Day(), 0, loc).UTC().Format(time.RFC3339); got != tt.want {
			t.Errorf("%s in %s starts at %s, want %s", tt.date, tt.zone, got, tt.want)
		}
	}
}

// Every date of ten years begins when the one before ends, in zones with odd
// clocks, and its first instant lies on it.
func TestDatesFollowEachOther(t *testing.T) {
	for _, zone := range []string{"America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Shanghai", "America/Havana", "Atlantic/Azores"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		var before time.Time
		for d := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2030; d = d.AddDate(0, 0, 1) {
			start := text.StartOfDateAt(d.Year(), d.Month(), d.Day(), 0, loc)
			if got := text.LocalDate(start, loc); got != d.Format(time.DateOnly) {
				t.Fatalf("%s: the first instant of %s lies on %s", zone, d.Format(time.DateOnly), got)
			}
			if gap := start.Sub(before); !before.IsZero() && (gap < 22*time.Hour || gap > 26*time.Hour) {
				t.Fatalf("%s: %s is %s long", zone, before.In(loc).Format(time.DateOnly), gap)
			}
			if last := text.LocalDate(start.Add(-time.Nanosecond), loc); last == d.Format(time.DateOnly) {
				t.Fatalf("%s: %s began before %s", zone, last, start)
			}
			before = start
		}
	}
}
