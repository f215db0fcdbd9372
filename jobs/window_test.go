package jobs_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

func calendar(t testing.TB, g reverie.Group) jobs.Calendar {
	t.Helper()
	c, err := jobs.CalendarOf(g)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// shown divides ten years into dates by looking at the clock of the zone every
// quarter of an hour: a date begins when the clock has first come to its boundary.
func shown(loc *time.Location, boundary time.Duration, from, to time.Time) []reverie.Window {
	clock := func(t time.Time) time.Time { // what the clock shows, as if it were UTC
		_, offset := t.In(loc).Zone()
		return t.Add(time.Duration(offset) * time.Second)
	}
	const day = 24 * time.Hour
	exists := map[time.Time]bool{}
	for t := from; t.Before(to.Add(2 * day)); t = t.Add(time.Hour) {
		exists[clock(t).Truncate(day)] = true
	}
	var list []reverie.Window
	var date time.Time
	for t := from; t.Before(to); t = t.Add(15 * time.Minute) {
		now := clock(t).Add(-boundary).Truncate(day)
		if !now.After(date) || !exists[now] {
			continue
		}
		if len(list) > 0 {
			list[len(list)-1].Until = t
		}
		date = now
		list = append(list, reverie.Window{Date: date.Format(time.DateOnly), Since: t})
	}
	return list[1 : len(list)-1] // the first began before, the last ends after
}

// TestDates compares ten years of every odd zone with the clock on the wall.
func TestDates(t *testing.T) {
	for _, c := range []struct {
		zone string
		year int // the first of ten
	}{
		{"America/New_York", 2020}, {"Africa/Cairo", 2020}, {"Australia/Lord_Howe", 2020}, {"Asia/Shanghai", 2020},
		{"America/Sao_Paulo", 2010}, {"Asia/Beirut", 2020}, {"Pacific/Apia", 2008}, {"Asia/Kathmandu", 2020},
		{"Pacific/Kwajalein", 1990}, {"America/Havana", 2020},
	} {
		for _, boundary := range []string{"00:00", "02:30", "04:00"} {
			t.Run(c.zone+" "+boundary, func(t *testing.T) {
				t.Parallel()
				g := reverie.Group{ID: "g", TimeZone: c.zone, DayBoundary: boundary}
				loc, _ := g.Location()
				length, _ := g.Boundary()
				from, to := time.Date(c.year, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(c.year+10, 1, 1, 0, 0, 0, 0, time.UTC)
				want := shown(loc, length, from, to)
				cal := calendar(t, g)
				got := slices.Collect(cal.Closed(want[0].Since, want[len(want)-1].Until))
				if len(want) < 3640 || len(got) != len(want) {
					t.Fatalf("%d dates, want %d", len(got), len(want))
				}
				for i, w := range want {
					if got[i] != w {
						t.Fatalf("date %d is %+v, want %+v", i, got[i], w)
					}
					check(t, cal, w)
				}
				between, err := cal.Between(want[0].Date, want[len(want)-1].Date)
				if err != nil || !slices.Equal(between, want) {
					t.Errorf("between: %d dates, %v", len(between), err)
				}
			})
		}
	}
}

// check looks a window up by its date and by instants in and next to it.
func check(t *testing.T, cal jobs.Calendar, w reverie.Window) {
	t.Helper()
	if found, err := cal.Window(w.Date); err != nil || found != w {
		t.Fatalf("window of %s: %+v, %v; want %+v", w.Date, found, err, w)
	}
	for _, at := range []time.Time{w.Since, w.Since.Add(w.Until.Sub(w.Since) / 3), w.Until.Add(-1)} {
		if found := cal.Containing(at); found != w {
			t.Fatalf("%s lies in %+v, want %+v", at, found, w)
		}
	}
	if next := cal.Containing(w.Until); !next.Since.Equal(w.Until) || next.Date <= w.Date {
		t.Fatalf("after %+v comes %+v", w, next)
	}
}

// TestTraps names the dates that clocks make odd.
func TestTraps(t *testing.T) {
	for _, c := range []struct{ zone, boundary, date, since, until string }{
		{"America/New_York", "00:00", "2026-03-08", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},    // 23 hours
		{"America/New_York", "02:30", "2026-03-08", "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"},    // 02:30 is skipped: begins at 03:00
		{"America/New_York", "01:30", "2026-11-01", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"},    // 01:30 comes twice: the first
		{"Australia/Lord_Howe", "02:30", "2026-04-05", "2026-04-04T16:00:00Z", "2026-04-05T16:00:00Z"}, // half an hour back at 02:00
		{"Africa/Cairo", "00:00", "2026-04-24", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"},        // no midnight
		{"America/Sao_Paulo", "00:00", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},   // no midnight
		{"Pacific/Apia", "00:00", "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},        // the next date is the 31st
		{"Pacific/Apia", "04:00", "2011-12-29", "2011-12-29T14:00:00Z", "2011-12-30T14:00:00Z"},
		{"Pacific/Apia", "04:00", "2011-12-31", "2011-12-30T14:00:00Z", "2011-12-31T14:00:00Z"},
		{"America/St_Johns", "00:00", "2006-10-29", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z"}, // 00:01 becomes 23:01
		{"", "", "2026-01-15", "2026-01-15T00:00:00Z", "2026-01-16T00:00:00Z"},
	} {
		cal := calendar(t, reverie.Group{TimeZone: c.zone, DayBoundary: c.boundary})
		w, err := cal.Window(c.date)
		if err != nil || !w.Since.Equal(instant(t, c.since)) || !w.Until.Equal(instant(t, c.until)) || w.Since.Location() != time.UTC {
			t.Errorf("%s in %s from %s: %s to %s, %v; want %s to %s", c.date, c.zone, c.boundary, w.Since, w.Until, err, c.since, c.until)
			continue
		}
		for at := w.Since; at.Before(w.Until); at = at.Add(10 * time.Minute) {
			if found := cal.Containing(at); found != w {
				t.Errorf("%s: %s lies in %+v, want %+v", c.zone, at, found, w)
			}
		}
	}
}

// TestChange moves a group from one calendar to another: no date twice, no gap.
func TestChange(t *testing.T) {
	type zone struct{ name, boundary string }
	for _, c := range []struct {
		name    string
		old     zone
		until   string // the end of one of its dates
		current zone
		want    string // the dates around it, with their instants
		missing string
	}{
		{"west", zone{"Asia/Shanghai", ""}, "2026-01-15T16:00:00Z", zone{"America/New_York", ""},
			"2026-01-15 01-14T16:00 01-15T16:00, 2026-01-16 01-15T16:00 01-17T05:00, 2026-01-17 01-17T05:00 01-18T05:00", ""},
		{"east", zone{"America/New_York", ""}, "2026-01-16T05:00:00Z", zone{"Asia/Shanghai", ""},
			"2026-01-15 01-15T05:00 01-16T05:00, 2026-01-16 01-16T05:00 01-16T16:00, 2026-01-17 01-16T16:00 01-17T16:00", ""},
		{"across the date line", zone{"Pacific/Pago_Pago", ""}, "2026-01-16T11:00:00Z", zone{"Pacific/Kiritimati", ""},
			"2026-01-15 01-15T11:00 01-16T11:00, 2026-01-17 01-16T11:00 01-17T10:00", "2026-01-16"},
		{"and back", zone{"Pacific/Kiritimati", ""}, "2026-01-15T10:00:00Z", zone{"Pacific/Pago_Pago", ""},
			"2026-01-15 01-14T10:00 01-15T10:00, 2026-01-16 01-15T10:00 01-17T11:00", ""},
		{"to a later hour", zone{"UTC", ""}, "2026-01-16T00:00:00Z", zone{"UTC", "04:00"},
			"2026-01-15 01-15T00:00 01-16T00:00, 2026-01-16 01-16T00:00 01-17T04:00", ""},
		{"to an earlier hour", zone{"UTC", "04:00"}, "2026-01-16T04:00:00Z", zone{"UTC", ""},
			"2026-01-15 01-15T04:00 01-16T04:00, 2026-01-16 01-16T04:00 01-17T00:00", ""},
		{"to the same", zone{"UTC", ""}, "2026-01-16T00:00:00Z", zone{"Atlantic/Reykjavik", "00:00"},
			"2026-01-15 01-15T00:00 01-16T00:00, 2026-01-16 01-16T00:00 01-17T00:00", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cal := calendar(t, reverie.Group{ID: "g", TimeZone: c.current.name, DayBoundary: c.current.boundary, Past: []reverie.PastCalendar{
				{TimeZone: c.old.name, DayBoundary: c.old.boundary, ValidUntil: instant(t, c.until)}}})
			var got []string
			n := strings.Count(c.want, ",") + 1
			for w := cal.Containing(instant(t, c.until).Add(-1)); len(got) < n; w = cal.Containing(w.Until) {
				check(t, cal, w)
				got = append(got, fmt.Sprintf("%s %s %s", w.Date, w.Since.Format("01-02T15:04"), w.Until.Format("01-02T15:04")))
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("dates\n%s, want\n%s", text, c.want)
			}
			if c.missing != "" {
				if _, err := cal.Window(c.missing); !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), c.missing) {
					t.Errorf("%s is jumped over: %v", c.missing, err)
				}
			}
		})
	}
}

var zones = []string{"UTC", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Shanghai", "America/Sao_Paulo",
	"Pacific/Apia", "Asia/Kathmandu", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/St_Johns", "America/Scoresbysund"}

// moved is a group that changed its calendar at the end of the date open at each
// of the instants.
func moved(t testing.TB, r *rand.Rand, changes []time.Time) reverie.Group {
	random := func(g reverie.Group) reverie.Group {
		g.TimeZone = zones[r.IntN(len(zones))]
		g.DayBoundary = fmt.Sprintf("%02d:%02d", r.IntN(24), 15*r.IntN(4))
		return g
	}
	g := random(reverie.Group{ID: "g"})
	for _, at := range changes {
		until := calendar(t, g).Containing(at).Until
		if n := len(g.Past); n == 0 || g.Past[n-1].ValidUntil.Before(until) {
			g.Past = append(g.Past, reverie.PastCalendar{TimeZone: g.TimeZone, DayBoundary: g.DayBoundary, ValidUntil: until})
		}
		g = random(g)
	}
	return g
}

// follow walks through the dates between two instants and holds them to what a
// calendar promises.
func follow(t *testing.T, g reverie.Group, from, to time.Time) {
	cal := calendar(t, g)
	list := slices.Collect(cal.Closed(from, to))
	if len(list) == 0 || list[0].Since.After(from) || !list[0].Until.After(from) {
		t.Fatalf("%+v: the first of %d dates does not hold %s: %+v", g, len(list), from, list[:min(1, len(list))])
	}
	for i, w := range list {
		if long := w.Until.Sub(w.Since); long <= 0 || long > 75*time.Hour {
			t.Fatalf("%+v: %+v is %s long", g, w, long)
		}
		if i > 0 && (w.Since != list[i-1].Until || w.Date <= list[i-1].Date) {
			t.Fatalf("%+v: %+v follows %+v", g, w, list[i-1])
		}
		check(t, cal, w)
	}
	if open := cal.Containing(to); open.Since.After(to) || !open.Until.After(to) || open.Since != list[len(list)-1].Until {
		t.Fatalf("%+v: the date open at %s is %+v, after %+v", g, to, open, list[len(list)-1])
	}
	between, err := cal.Between(list[0].Date, list[len(list)-1].Date)
	if err != nil || !slices.Equal(between, list) {
		t.Fatalf("%+v: between: %d dates of %d, %v", g, len(between), len(list), err)
	}
}

// TestMoves changes calendars in all directions, some of them on one date.
func TestMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	from := time.Date(2011, 11, 1, 0, 0, 0, 0, time.UTC)
	for range 200 {
		var changes []time.Time
		at := from
		for range 6 {
			at = at.Add(time.Duration(r.IntN(72*60)) * time.Minute)
			changes = append(changes, at)
		}
		follow(t, moved(t, r, changes), from.AddDate(0, 0, -3), from.AddDate(0, 2, 0))
	}
}

func FuzzCalendar(f *testing.F) {
	f.Add(uint64(1), int64(1_325_239_200), int64(90), uint8(3)) // Samoa skips a date
	f.Add(uint64(2), int64(-2_000_000_000), int64(1), uint8(0))
	f.Add(uint64(3), int64(250_000_000_000), int64(4000), uint8(9))
	f.Add(uint64(4), int64(2_366_841_600), int64(60), uint8(5)) // the end of 2044
	f.Fuzz(func(t *testing.T, seed uint64, unix, minutes int64, n uint8) {
		from := time.Unix(unix%250_000_000_000, 0)
		r := rand.New(rand.NewPCG(seed, 0))
		var changes []time.Time
		for i := range int64(n % 10) {
			changes = append(changes, from.Add(time.Duration((i+1)*(minutes&0xfff))*time.Minute))
		}
		follow(t, moved(t, r, changes), from, from.Add(60*24*time.Hour))
	})
}

// TestClosed counts only dates that have ended, also long ago.
func TestClosed(t *testing.T) {
	cal := calendar(t, reverie.Group{TimeZone: "Asia/Shanghai", DayBoundary: "04:00"})
	end := instant(t, "2026-01-15T20:00:00Z") // of the 15th
	for _, c := range []struct {
		first, now time.Time
		want       int
	}{
		{end.Add(-1), end, 1}, {end.Add(-1), end.Add(-1), 0}, {end, end, 0}, {end.Add(time.Hour), end, 0},
		{end.Add(-24 * time.Hour), end, 1}, {end.Add(-24*time.Hour - 1), end, 2},
	} {
		if got := slices.Collect(cal.Closed(c.first, c.now)); len(got) != c.want {
			t.Errorf("from %s to %s: %d dates, want %d", c.first, c.now, len(got), c.want)
		}
	}
	for w := range cal.Closed(time.Time{}, end) {
		if w.Date != "0000-12-31" && w.Date != "0001-01-01" {
			t.Errorf("the year 1 lies in %s", w.Date)
		}
		break
	}
}

func TestRefusedDates(t *testing.T) {
	for _, g := range []reverie.Group{
		{ID: "g7", TimeZone: "Mars/Olympus"}, {ID: "g7", DayBoundary: "25:00"},
		{ID: "g7", Past: []reverie.PastCalendar{{TimeZone: "Mars/Olympus"}}}, {ID: "g7", Past: []reverie.PastCalendar{{DayBoundary: "4"}}},
	} {
		if _, err := jobs.CalendarOf(g); !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), `"g7"`) {
			t.Errorf("%+v: %v", g, err)
		}
	}
	cal := calendar(t, reverie.Group{TimeZone: "Pacific/Apia"})
	for _, date := range []string{"", "2026-1-5", "2026-02-30", "yesterday", "2026-01-15T00:00:00Z", "2011-12-30"} {
		if _, err := cal.Window(date); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("%q: %v", date, err)
		}
	}
	for _, dates := range [][2]string{{"2026-01-16", "2026-01-15"}, {"x", "2026-01-15"}, {"2026-01-15", "x"}, {"0001-01-01", "2026-01-15"}} {
		if list, err := cal.Between(dates[0], dates[1]); !errors.Is(err, reverie.ErrInvalid) || list != nil {
			t.Errorf("%v: %d dates, %v", dates, len(list), err)
		}
	}
	if list, err := cal.Between("2011-12-29", "2011-12-31"); err != nil || len(list) != 2 || list[0].Date != "2011-12-29" || list[1].Date != "2011-12-31" {
		t.Errorf("around the date that Samoa skipped: %+v, %v", list, err)
	}
}

// TestWholeDates tells windows of whole dates from others, and reads a calendar that
// cannot be read in UTC.
func TestWholeDates(t *testing.T) {
	c := calendar(t, reverie.Group{TimeZone: "Asia/Shanghai", DayBoundary: "04:00"})
	since, until := instant(t, "2026-01-14T20:00:00Z"), instant(t, "2026-01-17T20:00:00Z")
	first, last, whole := c.Dates(since, until)
	if !whole || first.Date != "2026-01-15" || last.Date != "2026-01-17" {
		t.Errorf("%s to %s, whole %v", first.Date, last.Date, whole)
	}
	for _, off := range []time.Duration{-time.Microsecond, time.Microsecond} {
		_, _, early := c.Dates(since.Add(off), until)
		if _, _, late := c.Dates(since, until.Add(off)); early || late {
			t.Errorf("off by %s: whole all the same, %v and %v", off, early, late)
		}
	}
	c, err := jobs.CalendarOrUTC(reverie.Group{ID: "g1", TimeZone: "Nowhere/Land"})
	if w := c.Containing(since); !errors.Is(err, reverie.ErrInvalid) || w.Date != "2026-01-14" || !w.Since.Equal(instant(t, "2026-01-14T00:00:00Z")) {
		t.Errorf("%+v, %v", w, err)
	}
}
