package cli

import (
	"fmt"
	"slices"
	"strings"
)

// bars are the heights of a sparkline, from the lowest that is more than nothing.
var bars = []rune("▁▂▃▄▅▆▇█")

// sparkline draws counts as one line, a character each, the highest of them full
// height. Nothing is a dot, so that a little can be told from it.
func sparkline(counts []int) string {
	if len(counts) == 0 {
		return ""
	}
	most := slices.Max(counts)
	var b strings.Builder
	for _, n := range counts {
		if n <= 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune(bars[(n*len(bars)-1)/most])
	}
	return b.String()
}

// series is counts as a sparkline on a terminal, else as plain numbers.
func (con *Console) series(counts []int) string {
	if Terminal(con.Stdout) {
		return sparkline(counts)
	}
	return strings.Trim(fmt.Sprint(counts), "[]")
}

// spread is a series over a range that begins at 0, with its ends where it is drawn.
func (con *Console) spread(counts []int, end string) string {
	if Terminal(con.Stdout) {
		return "0 " + sparkline(counts) + " " + end
	}
	return con.series(counts)
}
