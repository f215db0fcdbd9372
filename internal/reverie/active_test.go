package reverie_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
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
	tagged := a
	tagged.Tags = []string{"work"} // the same but for its tags, as two people's versions may be
	if reverie.ActiveSHA256([]reverie.Memory{a, tagged}) != reverie.ActiveSHA256([]reverie.Memory{tagged, a}) {
		t.Error("the order of two that differ in their tags counts")
	}
	if reverie.ActiveSHA256([]reverie.Memory{a, tagged}) == reverie.ActiveSHA256([]reverie.Memory{a, a}) {
		t.Error("the tags of the second of two that differ in nothing else do not count")
	}
	if reverie.ActiveSHA256([]reverie.Memory{a}) == want || reverie.ActiveSHA256(nil) == reverie.ActiveSHA256([]reverie.Memory{a}) {
		t.Error("a memory less does not count")
	}
}

// memoriesOf reads memories from lines of lineage|statement|status|tag|tag.
func memoriesOf(text string) (list []reverie.Memory) {
	for l := range strings.SplitSeq(text, "\n") {
		f := append(strings.Split(l, "|"), "", "")
		m := reverie.Memory{LineageID: f[0], Statement: f[1], Status: reverie.Status(f[2])}
		if len(f) > 5 {
			m.Tags = f[3 : len(f)-2]
		}
		list = append(list, m)
	}
	return list
}

// saidBy is what of memories counts, in an order of its own.
func saidBy(list []reverie.Memory) []string {
	var out []string
	for _, m := range list {
		out = append(out, fmt.Sprintf("%q", append([]string{m.LineageID, m.Statement, string(m.Status)}, m.Tags...)))
	}
	slices.Sort(out)
	return out
}

// FuzzActiveSHA256: two states have one hash if and only if they say the same, in
// whatever order.
func FuzzActiveSHA256(f *testing.F) {
	f.Add("a|Anna lives in Berlin.|active|home\nb|小林每周二练琴。|active", "b|小林每周二练琴。|active\na|Anna lives in Berlin.|active|home", uint64(1))
	f.Add("a|x|active|ho|me", "a|x|active|home", uint64(2))
	f.Add("a|x1:y|active", "a|x|1:yactive", uint64(3))
	f.Add("a|x\na|y", "a|y\na|x", uint64(4))
	f.Add("a|x|active|home\na|x|active|work", "a|x|active|work\na|x|active|home", uint64(5))
	f.Fuzz(func(t *testing.T, one, other string, seed uint64) {
		a, b := memoriesOf(one), memoriesOf(other)
		same := slices.Equal(saidBy(a), saidBy(b))
		if got := reverie.ActiveSHA256(a) == reverie.ActiveSHA256(b); got != same {
			t.Fatalf("one hash: %v, of\n%q\n%q", got, one, other)
		}
		want := reverie.ActiveSHA256(a)
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
		if got := reverie.ActiveSHA256(a); got != want {
			t.Fatalf("another hash in another order of %q", one)
		}
	})
}
