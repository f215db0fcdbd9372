package export

import "testing"

// TestDay: the year of a date tells its era.
func TestDay(t *testing.T) {
	for _, c := range []struct {
		year, month, day, want string
	}{
		{"2025", "12", "31", "2025-12-31"}, {"25", "12", "31", "2025-12-31"}, {"2568", "12", "31", "2025-12-31"}, {"68", "12", "31", "2025-12-31"},
		{"1404", "12", "30", ""}, {"2025", "2", "29", ""}, {"1999", "1", "1", ""}, {"202", "1", "1", ""},
	} {
		got := ""
		if at, ok := Day([3]string{c.year, c.month, c.day}, "ymd"); ok {
			got = at.Format("2006-01-02")
		}
		if got != c.want {
			t.Errorf("%s-%s-%s is %q, want %q", c.year, c.month, c.day, got, c.want)
		}
	}
}
