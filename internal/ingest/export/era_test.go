package export

import "testing"

// TestDay: the year of a date tells its calendar.
func TestDay(t *testing.T) {
	for _, c := range []struct {
		year       string
		month, day int
		want       string
	}{
		{"2025", 12, 31, "2025-12-31"}, {"25", 12, 31, "2025-12-31"}, {"2568", 12, 31, "2025-12-31"}, {"68", 12, 31, "2025-12-31"},
		{"1403", 8, 25, "2024-11-15"}, {"1403", 12, 30, "2025-03-20"}, {"1404", 1, 1, "2025-03-21"}, {"1388", 1, 1, "2009-03-21"}, {"1399", 1, 1, "2020-03-20"}, {"1404", 7, 1, "2025-09-23"},
		{"1404", 12, 30, ""}, {"1404", 7, 31, ""}, {"1404", 13, 1, ""}, {"2025", 2, 29, ""}, {"1999", 1, 1, ""}, {"202", 1, 1, ""}, {"x5", 1, 1, ""},
	} {
		got := ""
		if at, ok := Day(c.year, c.month, c.day); ok {
			got = at.Format("2006-01-02")
		}
		if got != c.want {
			t.Errorf("%s-%d-%d is %q, want %q", c.year, c.month, c.day, got, c.want)
		}
	}
}
