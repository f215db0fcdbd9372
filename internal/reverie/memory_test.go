package reverie_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
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

// near allows for the rounding of a few dozen steps.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// TestReinforce: strength lies between 0 and 1, grows with what it was and with each
// further date, and comes to the same whether dates are counted at once or one by one.
func TestReinforce(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		s, more, a, b := r.Float64()*1.4-0.2, r.Float64()*0.2, r.IntN(20)-2, r.IntN(20)
		got := reverie.Reinforce(s, a)
		switch {
		case got < 0 || got > 1:
			t.Fatalf("seed %d: strength %v after %d dates is %v", seed, s, a, got)
		case a <= 0 && got != min(max(s, 0), 1):
			t.Fatalf("seed %d: no further date made %v of %v", seed, got, s)
		case reverie.Reinforce(s, a+1) < got || reverie.Reinforce(s+more, a) < got:
			t.Fatalf("seed %d: %v after %d dates is %v: less with more", seed, s, a, got)
		case s >= 0 && s <= 1 && a >= 0 && !near(reverie.Reinforce(got, b), reverie.Reinforce(s, a+b)):
			t.Fatalf("seed %d: %v after %d dates and %d is %v, at once %v", seed, s, a, b, reverie.Reinforce(got, b), reverie.Reinforce(s, a+b))
		case s >= 0 && s <= 1 && a >= 0 && !near(got, 1-(1-s)*math.Pow(0.7, float64(a))):
			t.Fatalf("seed %d: %v after %d dates is %v", seed, s, a, got)
		}
	}
	if one, two := reverie.Reinforce(reverie.TentativeStrength, 0), reverie.Reinforce(reverie.TentativeStrength, 1); one >= reverie.EstablishedStrength || two < reverie.EstablishedStrength {
		t.Errorf("of one date %v, of two %v: a remark is a hypothesis, and repetition makes it a memory", one, two)
	}
}

// TestCalibration: scores lie between 0 and 1 and grow with the cosine, and the cosine of
// a score scores it.
func TestCalibration(t *testing.T) {
	const seed = 12
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		c := reverie.Calibration{Floor: r.Float64()*1.5 - 0.9}
		c.Ceiling = c.Floor + 0.01 + r.Float64()*(0.99-c.Floor)
		if r.IntN(2) == 0 {
			c.Related = c.Floor + (0.05+0.9*r.Float64())*(c.Ceiling-c.Floor)
		}
		cosines := []float64{-1, c.Floor, c.Ceiling, 1, r.Float64()*2 - 1, r.Float64()*2 - 1}
		slices.Sort(cosines)
		before := 0.0
		for _, cosine := range cosines {
			s := c.Score(cosine)
			if s < before || s > 1 || cosine <= c.Floor && s != 0 || cosine >= c.Ceiling && s != 1 {
				t.Fatalf("seed %d, %+v: cosine %v scores %v, after %v", seed, c, cosine, s, before)
			}
			before = s
		}
		if line := (c.Ceiling - c.Floor) * reverie.RelatedScore; c.Related == 0 && !near(c.Score(c.Floor+line/2), reverie.RelatedScore/2) ||
			!near(c.Score(c.Whole().Related), reverie.RelatedScore) {
			t.Fatalf("seed %d, %+v: related texts score %v", seed, c, c.Score(c.Whole().Related))
		}
		if s := r.Float64(); !near(c.Score(c.Cosine(s)), s) || c.Cosine(-s) != -1 {
			t.Fatalf("seed %d, %+v: a score of %v is the cosine %v", seed, c, s, c.Cosine(s))
		}
	}
}

// TestFactors: a memory's rank grows with each of its factors, and all but the similarity
// together move it by less than 0.05.
func TestFactors(t *testing.T) {
	const seed = 13
	r := rand.New(rand.NewPCG(seed, 1))
	for range 1000 {
		f := reverie.Factors{Similarity: r.Float64(), Weight: r.Float64() * reverie.MaxWeight, Strength: r.Float64(), Recency: 0.5 + r.Float64()/2}
		if s := f.Score(); s < f.Similarity || s > f.Similarity+0.05 {
			t.Fatalf("seed %d: %+v scores %v", seed, f, s)
		}
		for _, part := range []func(*reverie.Factors) *float64{
			func(f *reverie.Factors) *float64 { return &f.Similarity }, func(f *reverie.Factors) *float64 { return &f.Weight },
			func(f *reverie.Factors) *float64 { return &f.Strength }, func(f *reverie.Factors) *float64 { return &f.Recency },
		} {
			more := f
			*part(&more) += 0.01
			if more.Score() <= f.Score() {
				t.Fatalf("seed %d: %+v scores %v, more %v", seed, f, f.Score(), more.Score())
			}
		}
	}
}

// TestTally: sessions' counts add up in any order, and what is taken away again was
// never there.
func TestTally(t *testing.T) {
	const seed = 14
	r := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		list := make([]reverie.Tally, 1+r.IntN(8))
		for i := range list {
			list[i] = reverie.Tally{Messages: r.IntN(100), Tokens: r.IntN(9000), ToolCalls: r.IntN(30), Turns: r.IntN(40)}
		}
		sum := func() (total reverie.Tally) {
			for _, one := range list {
				total = total.Plus(one)
			}
			return total
		}
		want := sum()
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if got := sum(); got != want || got.Minus(list[0]).Plus(list[0]) != want {
			t.Fatalf("seed %d: %+v in one order, %+v in another", seed, want, got)
		}
	}
}

// TestLocalDateOfEachZone: an instant's date begins at or before it and ends after it, in
// zones whose clocks leave out dates, hours and halves of them.
func TestLocalDateOfEachZone(t *testing.T) {
	const seed = 15
	r := rand.New(rand.NewPCG(seed, 1))
	for _, zone := range []string{"UTC", "Pacific/Apia", "Pacific/Kwajalein", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Havana", "Africa/Cairo", "America/St_Johns", "Antarctica/Troll"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for range 400 {
			at := time.Unix(r.Int64N(4_000_000_000), r.Int64N(1e9))
			d := at.In(loc)
			start := text.StartOfDateAt(d.Year(), d.Month(), d.Day(), 0, loc)
			end := text.StartOfDateAt(d.Year(), d.Month(), d.Day()+1, 0, loc)
			if start.After(at) || !end.After(at) || text.LocalDate(start, loc) != text.LocalDate(at, loc) {
				t.Fatalf("seed %d, %s: %s lies on a date from %s to %s", seed, zone, at, start, end)
			}
		}
	}
}
