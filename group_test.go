package reverie_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reverie"
)

func TestGroupBoundary(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "00:00": 0, "04:00": 4 * time.Hour, "02:30": 150 * time.Minute,
		"23:59": 24*time.Hour - time.Minute} {
		if got, err := (reverie.Group{DayBoundary: text}).Boundary(); got != want || err != nil {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"4:00", "24:00", "04:60", "04", "04:00:00", "-1:00", " 4:00", "04:0０", "04:00 ", "four", "+4:00"} {
		_, err := reverie.Group{ID: "g1", DayBoundary: text}.Boundary()
		if !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), "HH:MM") || !strings.Contains(err.Error(), `"g1"`) {
			t.Errorf("%q: %v, want one that names the group and the form", text, err)
		}
	}
}

func TestGroupNormalize(t *testing.T) {
	g := reverie.Group{ID: "g1", TimeZone: "Asia/Shanghai", Language: "zh"}
	if err := g.Normalize(); err != nil || g.DayBoundary != "00:00" {
		t.Errorf("%+v, %v", g, err)
	}
	for name, g := range map[string]reverie.Group{
		"no id": {}, "long id": {ID: strings.Repeat("x", reverie.MaxGroupIDLength+1)}, "NUL": {ID: "a\x00"}, "bytes": {ID: "\xff"},
		"zone": {ID: "g", TimeZone: "Mars/Olympus"}, "the machine's zone": {ID: "g", TimeZone: "Local"},
		"boundary": {ID: "g", DayBoundary: "25:00"}, "language": {ID: "g", Language: "fr"},
	} {
		if err := g.Normalize(); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSameCalendar(t *testing.T) {
	for _, c := range []struct {
		zone, boundary, otherZone, otherBoundary string
		want                                     bool
	}{
		{"", "", "UTC", "00:00", true},
		{"Asia/Shanghai", "04:00", "Asia/Shanghai", "04:00", true},
		{"Asia/Shanghai", "", "Asia/Shanghai", "04:00", false},
		{"Asia/Shanghai", "", "Asia/Tokyo", "", false},
		{"", "nonsense", "", "nonsense", false},
	} {
		a, b := reverie.Group{TimeZone: c.zone, DayBoundary: c.boundary}, reverie.Group{TimeZone: c.otherZone, DayBoundary: c.otherBoundary}
		if a.SameCalendar(b) != c.want || b.SameCalendar(a) != c.want {
			t.Errorf("%+v: want %v", c, c.want)
		}
	}
}

func TestGroupChange(t *testing.T) {
	text := func(s string) *string { return &s }
	paused := true
	g := reverie.Group{ID: "g1", Name: "a", TimeZone: "UTC", DayBoundary: "00:00", Language: "zh"}
	same := g
	reverie.GroupChange{}.Apply(&same)
	if same.Name != "a" || same.TimeZone != "UTC" || same.DayBoundary != "00:00" || same.Language != "zh" || same.Paused {
		t.Errorf("nothing to change, and it is %+v", same)
	}
	reverie.GroupChange{Name: text(""), TimeZone: text("Asia/Tokyo"), DayBoundary: text("04:00"), Language: text("en"), Paused: &paused}.Apply(&g)
	if g.Name != "" || g.TimeZone != "Asia/Tokyo" || g.DayBoundary != "04:00" || g.Language != "en" || !g.Paused || g.ID != "g1" {
		t.Errorf("changed to %+v", g)
	}
}
