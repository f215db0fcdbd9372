package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	was := sample(t)
	moves := func(change func(now *measured)) string {
		t.Helper()
		now := sample(t).Parts[:1]
		change(&now[0])
		var out bytes.Buffer
		err := check(&out, "docs/benchmarks.md", was, now)
		if err == nil {
			return ""
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	set := func(no int, unit string, v float64) func(*measured) {
		return func(m *measured) {
			for i := range m.Results[no].Values {
				if m.Results[no].Values[i].Unit == unit {
					m.Results[no].Values[i].Value = v
				}
			}
		}
	}
	for what, change := range map[string]func(*measured){
		"nothing":             func(*measured) {},
		"time within noise":   set(0, "s", 1.3),
		"what nobody is told": set(0, "B/op", 99e6),
		"a connection more":   set(4, "trips/group", 13),
	} {
		if got := moves(change); got != "" {
			t.Errorf("%s moved: %s", what, got)
		}
	}
	for want, change := range map[string]func(*measured){
		"| nightly | Nightly/groups=100/model=0s | s | 1.10 | 2.20 | +100% |":                 set(0, "s", 2.2),
		"| nightly | Nightly/groups=100/model=0s | calls/group | 1 | 1.10 | +10% |":           set(0, "calls/group", 1.1),
		"| nightly | Nightly/groups=1000/model=300ms | %ideal | 95 | 70 | -26% |":             set(2, "%ideal", 70),
		"| nightly | Nightly/groups=200/model=0s/count | | there | gone |":                    func(m *measured) { m.Results = m.Results[:4] },
		"| nightly | Nightly/else | | - | new |":                                              func(m *measured) { m.Results[0].Name = "Nightly/else" },
		"| nightly | Nightly/groups=100/model=300ms | MiB-peak | 40 | 0 | -100% |":            set(1, "MiB-peak", 0),
		"| nightly | Nightly/groups=10000/model=300ms | ms-cpu/group | 3.90 | 39 | +900% |":   set(3, "ms-cpu/group", 39),
		"| nightly | Nightly/groups=200/model=0s/count | statements/group | 14 | 16 | +14% |": set(4, "statements/group", 16),
		"| nightly | Nightly/groups=100/model=0s | tokens/group | 3,004 | 3,100 | +3% |":      set(0, "tokens/group", 3100),
		"| nightly | Nightly/groups=100/model=0s | groups/s | 90.9 | 50 | -45% |":             set(0, "groups/s", 50),
	} {
		if got := moves(change); !strings.Contains(got, want) {
			t.Errorf("want %s in:\n%s", want, got)
		}
	}
	if err := check(&bytes.Buffer{}, "docs/benchmarks.md", document{}, was.Parts[:1]); err == nil || !strings.Contains(err.Error(), "no figures of nightly") {
		t.Errorf("of no figures: %v", err)
	}
}
