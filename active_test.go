package reverie_test

import (
	"testing"

	"reverie"
)

func TestActiveSHA256(t *testing.T) {
	a := reverie.Memory{LineageID: "a", Statement: "Anna lives in Berlin.", Status: reverie.StatusActive, Tags: []string{"home"}}
	b := reverie.Memory{LineageID: "b", Statement: "小林每周二练琴。", Status: reverie.StatusActive}
	want := reverie.ActiveSHA256([]reverie.Memory{a, b})
	if got := reverie.ActiveSHA256([]reverie.Memory{b, a}); got != want {
		t.Error("the order counts")
	}
	same := a
	same.ID, same.Version, same.Strength, same.Weight = "other", 7, 0.9, 2
	if got := reverie.ActiveSHA256([]reverie.Memory{same, b}); got != want {
		t.Error("version, strength or weight count")
	}
	for name, change := range map[string]func(*reverie.Memory){
		"lineage":            func(m *reverie.Memory) { m.LineageID = "c" },
		"statement":          func(m *reverie.Memory) { m.Statement += "!" },
		"status":             func(m *reverie.Memory) { m.Status = reverie.StatusHeld },
		"tags":               func(m *reverie.Memory) { m.Tags = nil },
		"tags, where cut":    func(m *reverie.Memory) { m.Tags = []string{"ho", "me"} },
		"statement into tag": func(m *reverie.Memory) { m.Statement, m.Tags = "Anna lives in", []string{"Berlin.", "home"} },
	} {
		other := a
		change(&other)
		if reverie.ActiveSHA256([]reverie.Memory{other, b}) == want {
			t.Errorf("%s: does not count", name)
		}
	}
	if reverie.ActiveSHA256([]reverie.Memory{a}) == want || reverie.ActiveSHA256(nil) == reverie.ActiveSHA256([]reverie.Memory{a}) {
		t.Error("a memory less does not count")
	}
}
