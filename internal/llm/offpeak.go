package llm

import (
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// OffPeak is the daily hours in which a provider charges less. A nil OffPeak has none.
type OffPeak struct {
	text        string
	from, until time.Duration // since midnight; until is after from, or on the next day
	zone        *time.Location
}

// ParseOffPeak parses hours such as "01:00-04:00 UTC" or "22:30-08:30 Asia/Shanghai"; nil for "". Its errors are
// [reverie.ErrConfiguration].
func ParseOffPeak(s string) (*OffPeak, error) {
	if s == "" {
		return nil, nil
	}
	hours, zone, _ := strings.Cut(strings.TrimSpace(s), " ")
	from, until, both := strings.Cut(hours, "-")
	begin, err1 := time.Parse("15:04", from)
	end, err2 := time.Parse("15:04", until)
	loc, err3 := time.LoadLocation(strings.TrimSpace(zone))
	if !both || err1 != nil || err2 != nil || err3 != nil || begin.Equal(end) {
		return nil, fmt.Errorf("off-peak hours %q: %w: write them like 01:00-04:00 UTC or 22:30-08:30 Asia/Shanghai", s,
			reverie.ErrConfiguration)
	}
	midnight := begin.Truncate(24 * time.Hour)
	return &OffPeak{text: hours + " " + loc.String(), from: begin.Sub(midnight), until: end.Sub(midnight), zone: loc}, nil
}

// String returns the hours as written in the settings.
func (o *OffPeak) String() string { return o.text }

// Open reports whether t is in the hours.
func (o *OffPeak) Open(t time.Time) bool {
	if o == nil {
		return false
	}
	t = t.In(o.zone)
	now := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	if o.from < o.until {
		return o.from <= now && now < o.until
	}
	return now >= o.from || now < o.until
}

// Change returns the next time after t at which the hours begin or end.
func (o *OffPeak) Change(t time.Time) time.Time {
	local, open := t.In(o.zone), o.Open(t)
	next := local.Truncate(time.Minute)
	for range 25 * 60 { // clocks change, so each minute is tested instead of calculating
		if next = next.Add(time.Minute); o.Open(next) != open {
			break
		}
	}
	return next.UTC()
}
