package cli

import (
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

func TestSmallNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 1: "1", 999: "999", 1000: "1.0k", 12_345: "12.3k", 999_949: "999.9k", 999_950: "1.0M", 4_120_000: "4.1M"} {
		if got := text.Compact(n); got != want {
			t.Errorf("compact(%d) = %q, want %q", n, got, want)
		}
	}
	for amount, want := range map[float64]string{0: "", 0.00001: "<0.0001", 0.0001: "0.0001", 0.25: "0.2500", 12.5: "12.5000"} {
		if got := USD(amount); got != want {
			t.Errorf("usd(%g) = %q, want %q", amount, got, want)
		}
	}
	for st, want := range map[reverie.Stats]string{{}: "", {Kept: 3}: "=3", {Kept: 1, Updated: 2, Created: 3, Deleted: 4, Refused: 5, Held: 6}: "+3 ~2 -4 =1 !5 ?6",
		{Archived: 2, Pruned: 3}: "2 archived 3 pruned"} {
		if got := changed(st); got != want {
			t.Errorf("changed(%+v) = %q, want %q", st, got, want)
		}
	}
	for id, want := range map[string]string{"g1": "g1", "-100": "-- -100", "my group": "'my group'", "it's": `'it'\''s'`, "-a b": "-- '-a b'", "群": "'群'"} {
		if got := Operand(id); got != want {
			t.Errorf("operand(%q) = %s, want %s", id, got, want)
		}
	}
}

func TestWindowOf(t *testing.T) {
	t.Parallel()
	cal, err := jobs.CalendarOf(reverie.Group{TimeZone: "Asia/Shanghai", DayBoundary: "04:00"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		since, until string
		open         bool
		want         string
	}{
		{"2026-01-14T20:00:00Z", "2026-01-15T20:00:00Z", false, "2026-01-15"},
		{"2026-01-14T20:00:00Z", "2026-01-17T20:00:00Z", false, "2026-01-15..2026-01-17"},
		{"2026-01-14T20:00:00Z", "2026-01-17T20:00:00Z", true, "2026-01-15..2026-01-17"},
		{"2026-01-14T16:00:00Z", "2026-01-15T16:00:00Z", false, "2026-01-14 16:00..01-15 16:00"}, // midnight divides nothing here
		{"2025-12-31T23:00:00Z", "2026-01-15T16:00:00Z", false, "2025-12-31 23:00..2026-01-15 16:00"},
		{"2025-12-31T23:00:00Z", "2026-01-15T16:00:00Z", true, "2025-12-31 23:00.."},
	} {
		at := func(s string) time.Time {
			v, err := time.Parse(time.RFC3339, s)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		r := reverie.Run{WindowSince: at(c.since), WindowUntil: at(c.until), Stats: reverie.Stats{OpenEnded: c.open}}
		if got := windowOf(r, cal); got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.since, c.until, got, c.want)
		}
	}
}

func TestTableTrimsAndNotes(t *testing.T) {
	t.Parallel()
	got := (&Console{Stdout: &strings.Builder{}, Columns: 80}).setTables(tableBegins + "A\tB?\tC\tD?\n1\t\t\x1b[31mred\x1b[0m\t\n" +
		"a line that is longer than any column\n2\t\tgreen!\tlast\n" + tableEnds)
	want := "A  C       D\n1  \x1b[31mred\x1b[0m\na line that is longer than any column\n2  green!  last\n"
	if got != want {
		t.Errorf("the table is\n%q, want\n%q", got, want)
	}
}

// TestTableFits: a table is as wide as the terminal at most. Its text takes more lines, what
// may go goes from the right, and what is piped has tabs, all columns and no head.
func TestTableFits(t *testing.T) {
	t.Parallel()
	table := tableBegins + "TEXT~\tID\tB?!\tC!\tD?\n" +
		"the raid starts at nine on Saturday, as ever\tm1\tbee\tsea\t\n" +
		"短\tm2\tbee\t\t\n" + tableEnds
	for columns, want := range map[int]string{
		80: "TEXT                                          ID  B    C\n" +
			"the raid starts at nine on Saturday, as ever  m1  bee  sea\n" +
			"短                                            m2  bee\n",
		50: "TEXT                                  ID  B    C\n" +
			"the raid starts at nine on Saturday,  m1  bee  sea\nas ever\n" +
			"短                                    m2  bee\n",
		40: "TEXT                             ID  B\n" +
			"the raid starts at nine on       m1  bee\nSaturday, as ever\n" +
			"短                               m2  bee\n",
		30: "TEXT                            ID\n" +
			"the raid starts at nine on      m1\nSaturday, as ever\n" +
			"短                              m2\n",
		0: "the raid starts at nine on Saturday, as ever\tm1\tbee\tsea\t\n短\tm2\tbee\t\t\n",
	} {
		if got := (&Console{Stdout: &strings.Builder{}, Columns: columns}).setTables(table); got != want {
			t.Errorf("in %d columns:\n%swant\n%s", columns, got, want)
		}
	}
}
