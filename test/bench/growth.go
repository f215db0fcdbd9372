package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// series is how a figure grows with one size, everything else being the same.
type series struct {
	what, size, unit string
	points           []point
}

type point struct{ x, y float64 }

// growths finds the series of results: those that differ in one size alone, of two
// points at least, for each of the units.
func growths(results []result, units []string) (found []series) {
	index := map[string]int{}
	for _, r := range results {
		_, keys, at := r.sizes()
		for _, v := range grown(r, units) {
			for _, size := range keys {
				x, err := strconv.ParseFloat(at[size], 64)
				if err != nil || x <= 0 || v.Value <= 0 {
					continue
				}
				what := without(r.Name, size)
				id := r.Package + " " + base(r) + " " + what + " " + size + " " + v.Unit
				if _, known := index[id]; !known {
					index[id] = len(found)
					found = append(found, series{what: what, size: size, unit: v.Unit})
				}
				s := &found[index[id]]
				s.points = append(s.points, point{x, v.Value})
			}
		}
	}
	found = slices.DeleteFunc(found, func(s series) bool { return len(s.points) < 2 })
	for _, s := range found {
		slices.SortFunc(s.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	}
	return found
}

// grown are the figures of a result in these units, what go test measures of each only
// where the benchmark reports none of the others.
func grown(r result, units []string) (all []value) {
	for _, u := range units {
		if y, ok := r.value(u); ok && (u != "ns/op" || len(all) == 0) {
			all = append(all, value{u, y})
		}
	}
	return all
}

// without is a name without one of its sizes, and without the benchmark's.
func without(name, size string) string {
	parts := strings.Split(name, "/")
	kept := slices.DeleteFunc(parts[1:], func(p string) bool { return strings.HasPrefix(p, size+"=") })
	return strings.Join(kept, " ")
}

// exponent is the slope over all sizes. What is constant hides in it what grows: see
// lately.
func (s series) exponent() float64 { return slope(s.points) }

// lately is the slope over the last decade, the sizes of at least a tenth of the largest
// one: that of the last two where no other is so large.
func (s series) lately() float64 {
	from, last := len(s.points)-1, s.points[len(s.points)-1].x
	for from > 0 && (from > len(s.points)-2 || s.points[from-1].x >= 0.999*last/10) {
		from--
	}
	return slope(s.points[from:])
}

// slope is that of log y over log x, by least squares: y grows as x to the power of it.
// It is not a number where all x are the same.
func slope(points []point) float64 {
	var mx, my float64
	n := float64(len(points))
	for _, p := range points {
		mx, my = mx+math.Log(p.x)/n, my+math.Log(p.y)/n
	}
	var above, below float64
	for _, p := range points {
		dx := math.Log(p.x) - mx
		above, below = above+dx*(math.Log(p.y)-my), below+dx*dx
	}
	return above / below
}

// meaning says an exponent in words.
func meaning(e float64) string {
	switch {
	case math.IsNaN(e):
		return "-"
	case e < -0.1:
		return "shrinks"
	case e < 0.1:
		return "does not grow"
	case e < 0.9:
		return "grows less than the size"
	case e < 1.1:
		return "grows as the size"
	case e < 1.9:
		return "grows more than the size"
	default:
		return "grows with its square, or more"
	}
}

// row is a series in a table.
func (s series) row() []string {
	from, to := s.points[0], s.points[len(s.points)-1]
	what := strings.ReplaceAll(s.what, "=", " ")
	if what == "" {
		what = "all of it"
	}
	all, late := s.exponent(), s.lately()
	return []string{what, fmt.Sprintf("%s, %s to %s", s.size, figure(from.x), figure(to.x)), heading(s.unit),
		figure(from.y), figure(to.y), strconv.FormatFloat(all, 'f', 2, 64), strconv.FormatFloat(late, 'f', 2, 64), meaning(max(all, late))}
}
