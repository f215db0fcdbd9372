package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is what a reader sees: a head and rows of as many cells.
type table struct {
	name string // of the benchmark, where it is one's
	head []string
	rows [][]string
}

// write puts the table in Markdown, its columns in line.
func (t table) write(out *strings.Builder) {
	if t.name != "" {
		out.WriteString("Benchmark" + t.name + ":\n\n")
	}
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			out.WriteString("| " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + " ")
		}
		out.WriteString("|\n")
	}
	line(t.head)
	for _, w := range widths {
		out.WriteString("| " + strings.Repeat("-", w) + " ")
	}
	out.WriteString("|\n")
	for _, row := range t.rows {
		line(row)
	}
	out.WriteString("\n")
}

// tables arranges results: those of one benchmark and with the same units stand in one
// table, a column for each size and each unit.
func tables(results []result) (all []table) {
	type family struct {
		units   []string
		results []result
	}
	var families []*family
	index := map[string]*family{} // by benchmark and words
	for _, r := range results {
		words, _, _ := r.sizes()
		id := r.Package + " " + base(r) + " " + strings.Join(words, " ")
		f := index[id]
		if f == nil {
			f = &family{}
			index[id], families = f, append(families, f)
		}
		f.results = append(f.results, r)
		for _, u := range shown(r) {
			if !slices.Contains(f.units, u) {
				f.units = append(f.units, u)
			}
		}
	}
	merged := map[string]*family{}
	var order []*family
	for _, f := range families {
		slices.SortStableFunc(f.units, func(a, b string) int { return rank(a) - rank(b) })
		id := base(f.results[0]) + " " + strings.Join(f.units, " ")
		if m := merged[id]; m != nil {
			m.results = append(m.results, f.results...)
			continue
		}
		merged[id], order = f, append(order, f)
	}
	for _, f := range order {
		all = append(all, arrange(f.results, f.units))
	}
	return all
}

func base(r result) string {
	name, _, _ := strings.Cut(r.Name, "/")
	return name
}

// arrange makes the table of results that have these units.
func arrange(results []result, units []string) (t table) {
	t.name = base(results[0])
	var sizes []string
	named := false
	for _, r := range results {
		words, keys, _ := r.sizes()
		named = named || len(words) > 0 || len(keys) == 0
		for _, k := range keys {
			if !slices.Contains(sizes, k) {
				sizes = append(sizes, k)
			}
		}
	}
	if named {
		t.head = append(t.head, "what")
	}
	t.head = append(t.head, sizes...)
	for _, u := range units {
		t.head = append(t.head, heading(u))
	}
	for _, r := range results {
		var row []string
		words, _, at := r.sizes()
		if named {
			if len(words) == 0 {
				words = []string{base(r)}
			}
			row = append(row, strings.Join(words, " "))
		}
		for _, k := range sizes {
			row = append(row, orDash(number(at[k])))
		}
		for _, u := range units {
			cell := "-"
			if v, ok := r.value(u); ok {
				cell = figure(v)
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// figure writes three digits that count, or all of those before the point.
func figure(x float64) string {
	size := math.Abs(x)
	switch {
	case x == math.Trunc(x) && size < 1e15 || size >= 99.95:
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	case size >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case size >= 0.0995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	default:
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
}

func thousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
