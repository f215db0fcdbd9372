package main

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// A power is found exactly, whatever its factor and however many its points.
func TestExponent(t *testing.T) {
	for _, power := range []float64{-1, 0, 0.5, 1, 2, 3} {
		for _, factor := range []float64{0.001, 1, 1234} {
			for n := 2; n <= 5; n++ {
				var s series
				for i := range n {
					x := 7 * math.Pow(10, float64(i))
					s.points = append(s.points, point{x, factor * math.Pow(x, power)})
				}
				if got := s.exponent(); math.Abs(got-power) > 1e-9 {
					t.Errorf("%g x^%g, %d points: exponent %v", factor, power, n, got)
				}
			}
		}
	}
}

// Least squares: of logarithms 0, 1, 2 and 0, 0, 3 the slope is 3/2.
func TestExponentOfScatter(t *testing.T) {
	s := series{points: []point{{1, 1}, {10, 1}, {100, 1000}}}
	if got := s.exponent(); math.Abs(got-1.5) > 1e-9 {
		t.Errorf("exponent %v", got)
	}
	same := series{points: []point{{5, 1}, {5, 2}}}
	if got := same.exponent(); !math.IsNaN(got) || meaning(got) != "-" {
		t.Errorf("of one size: %v, %q", got, meaning(got))
	}
}

// What is constant hides growth from the slope over all sizes, not from the last decade's.
func TestLastDecade(t *testing.T) {
	of := func(f func(x float64) float64, sizes ...float64) (s series) {
		for _, x := range sizes {
			s.points = append(s.points, point{x, f(x)})
		}
		return s
	}
	hidden := func(x float64) float64 { return 5 + 1e-6*x*x }
	for _, c := range []struct {
		s    series
		want []string
	}{
		{of(hidden, 100, 1000, 10_000), []string{"0.66", "1.24", "grows more than the size"}},
		{of(hidden, 100, 1000, 5000, 10_000), []string{"0.63", "1.20", "grows more than the size"}},
		{of(func(x float64) float64 { return 1 / x }, 10, 100, 1000), []string{"-1.00", "-1.00", "shrinks"}},
		{of(func(x float64) float64 { return x * x }, 10, 1000), []string{"2.00", "2.00", "grows with its square, or more"}},
		{of(func(x float64) float64 { return min(x, 100) }, 1, 10, 100, 1000), []string{"0.70", "0.00", "grows less than the size"}},
	} {
		if got := c.s.row()[5:]; !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.s.points, got, c.want)
		}
	}
}

func TestMeaning(t *testing.T) {
	for e, want := range map[float64]string{-0.5: "shrinks", -0.11: "shrinks", -0.1: "does not grow", 0: "does not grow", 0.5: "grows less than the size", 1: "grows as the size",
		1.3: "grows more than the size", 2: "grows with its square, or more"} {
		if got := meaning(e); got != want {
			t.Errorf("%g: %q, want %q", e, got, want)
		}
	}
}

// Series are found whatever the order, one for each size that varies alone.
func TestGrowths(t *testing.T) {
	var results []result
	for _, name := range []string{"G/apply/memories=1000/model=0ms", "G/apply/memories=10/model=0ms", "G/apply/memories=10/model=300ms", "G/search/memories=5", "G/all"} {
		results = append(results, result{Name: name, Values: []value{{"ns/op", 7}, {"p50-ms", 3}}})
	}
	results = append(results, result{Name: "G/all/groups=1", Values: []value{{"p50-ms", 0}}}, result{Name: "G/all/groups=2", Values: []value{{"p50-ms", 1}}})
	found := growths(results, []string{"p50-ms", "ns/op"})
	if got := fmt.Sprint(found); got != "[{apply model=0ms memories p50-ms [{10 3} {1000 3}]}]" {
		t.Error(got)
	}
}
