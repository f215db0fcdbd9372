package cli

import (
	"testing"
	"unicode/utf8"
)

func TestSparkline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		counts []int
		want   string
	}{
		{nil, ""},
		{[]int{0, 0, 0}, "···"},
		{[]int{7}, "█"},
		{[]int{1, 2, 3, 4, 5, 6, 7, 8}, "▁▂▃▄▅▆▇█"},
		{[]int{0, 1, 1000, 1000000}, "·▁▁█"},
		{[]int{3, 0, 3}, "█·█"},
		{[]int{-1, 2}, "·█"},
		{[]int{500_000_000_000_000_000, 1_000_000_000_000_000_000}, "▄█"},
	} {
		got := sparkline(c.counts)
		if got != c.want || utf8.RuneCountInString(got) != len(c.counts) {
			t.Errorf("%v: %q, want %q", c.counts, got, c.want)
		}
	}
}
