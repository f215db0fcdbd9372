package reverie_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
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
		"dot": {ID: "."}, "dots": {ID: ".."}, "slash": {ID: "/"},
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
	reverie.GroupChange{Name: text(""), TimeZone: text("Asia/Tokyo"), DayBoundary: text("04:00"), Language: text("en"), Paused: &paused,
		DreamIdle: text("12h"), DreamSessions: text("5"), DreamInterval: text("2h")}.Apply(&g)
	if g.DreamIdle != "12h" || g.DreamSessions != "5" || g.DreamInterval != "2h" {
		t.Errorf("dreams by %+v", g)
	}
	if g.Name != "" || g.TimeZone != "Asia/Tokyo" || g.DayBoundary != "04:00" || g.Language != "en" || !g.Paused || g.ID != "g1" {
		t.Errorf("changed to %+v", g)
	}
}

// A group dreams by its own rule, and by the one given where it says nothing; what
// cannot be is refused, with the group and what to write.
func TestDreamRule(t *testing.T) {
	otherwise := reverie.DreamRule{Idle: 24 * time.Hour, Sessions: 10, Interval: time.Hour, Silence: 30 * time.Minute}
	with := func(change func(*reverie.DreamRule)) reverie.DreamRule { r := otherwise; change(&r); return r }
	for _, c := range []struct {
		g    reverie.Group
		want reverie.DreamRule
	}{
		{reverie.Group{}, otherwise},
		{reverie.Group{DreamIdle: "1m"}, with(func(r *reverie.DreamRule) { r.Idle = time.Minute })},
		{reverie.Group{DreamIdle: "8760h"}, with(func(r *reverie.DreamRule) { r.Idle = reverie.MaxDreamTime })},
		{reverie.Group{DreamIdle: "off"}, with(func(r *reverie.DreamRule) { r.Idle = 0 })},
		{reverie.Group{DreamInterval: "1m"}, with(func(r *reverie.DreamRule) { r.Interval = time.Minute })},
		{reverie.Group{DreamInterval: "8760h"}, with(func(r *reverie.DreamRule) { r.Interval = reverie.MaxDreamTime })},
		{reverie.Group{DreamSessions: "1"}, with(func(r *reverie.DreamRule) { r.Sessions = 1 })},
		{reverie.Group{DreamSessions: "10000"}, with(func(r *reverie.DreamRule) { r.Sessions = reverie.MaxDreamSessions })},
		{reverie.Group{DreamSessions: "off"}, with(func(r *reverie.DreamRule) { r.Sessions = 0 })},
		{reverie.Group{SessionSilence: "45m"}, with(func(r *reverie.DreamRule) { r.Silence = 45 * time.Minute })},
		{reverie.Group{DreamIdle: "12h", DreamSessions: "5", DreamInterval: "2h", SessionSilence: "1m"},
			reverie.DreamRule{Idle: 12 * time.Hour, Sessions: 5, Interval: 2 * time.Hour, Silence: time.Minute}},
	} {
		if got, err := c.g.DreamRule(otherwise); got != c.want || err != nil {
			t.Errorf("%+v: %+v, %v, want %+v", c.g, got, err, c.want)
		}
	}
	for _, c := range []struct {
		g     reverie.Group
		words string
	}{
		{reverie.Group{DreamIdle: "59s"}, `dream idle "59s": `},
		{reverie.Group{DreamIdle: "8760h1ns"}, "such as 12h, or off"},
		{reverie.Group{DreamIdle: "-1h"}, "such as 12h, or off"},
		{reverie.Group{DreamIdle: "0"}, "such as 12h, or off"},
		{reverie.Group{DreamIdle: "Off"}, "such as 12h, or off"},
		{reverie.Group{DreamInterval: "59s"}, `dream interval "59s": `},
		{reverie.Group{DreamInterval: "8761h"}, "from 1m to 8760h"},
		{reverie.Group{DreamInterval: "off"}, "from 1m to 8760h"},
		{reverie.Group{DreamSessions: "0"}, "from 1 to 10000, or off"},
		{reverie.Group{DreamSessions: "10001"}, `dream sessions "10001": `},
		{reverie.Group{DreamSessions: "-5"}, "from 1 to 10000, or off"},
		{reverie.Group{DreamSessions: "5.0"}, "from 1 to 10000, or off"},
		{reverie.Group{DreamSessions: "12h"}, "from 1 to 10000, or off"},
		{reverie.Group{SessionSilence: "1s"}, "from 1m to 720h"},
	} {
		c.g.ID = "g1"
		_, err := c.g.DreamRule(otherwise)
		if !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), `group "g1"`) {
			t.Errorf("%+v: %v, want one with %q", c.g, err, c.words)
		}
		if normal := c.g.Normalize(); normal == nil || normal.Error() != err.Error() {
			t.Errorf("%+v: as a whole %v", c.g, normal)
		}
	}
}
