package text

import "testing"

// TestNumeral reads Chinese numbers.
func TestNumeral(t *testing.T) {
	for text, want := range map[string]float64{"七": 7, "十": 10, "十二": 12, "二十": 20, "三十五": 35, "一百": 100, "一百零二": 102, "两千": 2000,
		"三千五百": 3500, "一万": 10_000, "两万五千": 25_000, "一亿": 100_000_000, "二〇二六": 2026, "一二三": 123, "42": 42} {
		if got := numeral(text); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
}
