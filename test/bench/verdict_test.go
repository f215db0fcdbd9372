package main

import "testing"

// At the bar is met, beyond it is not.
func TestVerdictsAtTheBar(t *testing.T) {
	for _, c := range []struct {
		bar    bar
		figure float64
		met    bool
	}{
		{bar{least: 95}, 95, true}, {bar{least: 95}, 94.999, false}, {bar{least: 95}, 100, true},
		{bar{most: 2}, 2, true}, {bar{most: 2}, 2.001, false}, {bar{most: 2}, 0.5, true},
		{bar{least: 1, tie: "as many"}, 1, true},
	} {
		v := verdict{bar: c.bar, figure: c.figure}
		if v.met() != c.met {
			t.Errorf("%s, %v: met %v", c.bar.bound(), c.figure, v.met())
		}
	}
}

func TestJudge(t *testing.T) {
	results, _, err := parse(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		part string
		no   int
		want []string // where and figure of each
		met  int
	}{
		{"nightly", 0, []string{"groups 100, model 300ms 96"}, 1},
		{"nightly", 1, []string{"groups 1,000, model 300ms 95"}, 1},
		{"nightly", 2, []string{"groups 10,000, model 300ms 95.0"}, 0},
		{"nightly", 3, []string{"groups 100, model 0s 1", "groups 100, model 300ms 1", "groups 1,000, model 300ms 1", "groups 10,000, model 300ms 1"}, 4},
		{"nightly", 4, []string{"10,000 groups over 100, model 300ms 1.25"}, 1},
		{"beside", 0, []string{"apply, memories 1,000 1.90"}, 1},
		{"beside", 1, []string{"search, memories 100,000 2.01"}, 0},
		{"beside", 2, nil, 0}, // nothing was measured
		{"peer", 0, []string{"night, model 0ms, system mem0-one-add 1"}, 1},
		{"peer", 1, []string{"night, model 0ms, system mem0-turns 2"}, 1},
		{"peer", 2, []string{"night, model 0ms, system mem0-one-add 3"}, 1},
		{"peer", 4, []string{"night, model 0ms, system mem0-one-add 0.80"}, 0},
		{"peer", 5, nil, 0}, // as are other units of the same results
	} {
		b := partNamed(c.part).bars[c.no]
		all := b.judge(results)
		met := 0
		for i, v := range all {
			if got := v.where + " " + figure(v.figure); i >= len(c.want) || got != c.want[i] {
				t.Errorf("%s, %s: %q, want %q", c.part, b.says, got, c.want)
			}
			if v.met() {
				met++
			}
		}
		if met != c.met || len(all) != len(c.want) {
			t.Errorf("%s, %s: %d of %d are met, want %d of %d", c.part, b.says, met, len(all), c.met, len(c.want))
		}
	}
}

// Who is as good is not better.
func TestTie(t *testing.T) {
	for figure, want := range map[float64]string{0.999: "**missed**", 1: "as many", 1.001: "met"} {
		if got := (verdict{bar: besidePeer("calls/group", "")[0], figure: figure}).word(); got != want {
			t.Errorf("%v: %q, want %q", figure, got, want)
		}
	}
	if got := (verdict{bar: bar{most: 2}, figure: 2}).word(); got != "met" {
		t.Errorf("at a bar of a figure: %q", got)
	}
}

// The README shows the case that is farthest from its bar, whatever the order.
func TestWorst(t *testing.T) {
	for _, b := range []bar{{least: 95}, {most: 2}} {
		all := []verdict{{b, "middle", 50}, {b, "low", 1}, {b, "high", 99}}
		want := "high"
		if b.least != 0 {
			want = "low"
		}
		if w, ok := worst(all); !ok || w.where != want {
			t.Errorf("%s: %+v", b.bound(), w)
		}
	}
	if _, ok := worst(nil); ok {
		t.Error("there is a worst of nothing")
	}
}
