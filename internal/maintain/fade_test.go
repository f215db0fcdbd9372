package maintain

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"reverie/internal/reverie"
)

var (
	noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	rule = reverie.FadeRule{Threshold: 0.3, After: 14 * day, DreamsAfter: 90 * day, HalfLife: 90 * day, Closed: 7 * day}
)

const day = 24 * time.Hour

// memory is one whose newest evidence is so old at noon.
func memory(strength, weight float64, age time.Duration) reverie.Fading {
	return reverie.Fading{Memory: reverie.Memory{Strength: strength, Weight: weight, LastSupportedAt: noon.Add(-age)}}
}

func TestFade(t *testing.T) {
	earlier := noon.Add(-10 * day)
	later := noon.Add(-90 * day)
	of := func(m reverie.Fading, kind reverie.Kind, tag string) reverie.Fading {
		m.Kind, m.Tags = kind, []string{tag}
		return m
	}
	decayed := func(m reverie.Fading, at time.Time) reverie.Fading { m.DecayedAt = &at; return m }
	for name, tt := range map[string]struct {
		memory  reverie.Fading
		to      float64
		archive bool
		reason  string
	}{
		"fresh":                             {memory(0.3, 1, day), 0.3, false, ""},
		"tentative, at the end of its time": {memory(0.3, 1, 14*day), 0.3, false, ""},
		"tentative, a day after":            {memory(0.3, 1, 15*day), 0.3 * math.Exp2(-1./90), true, "strength 0.298 is below 0.3: last supported 2025-12-31"},
		"too little to write":               {memory(0.5, 1, 14*day+time.Hour), 0.5, false, ""},
		"one half-life":                     {memory(0.8, 1, 104*day), 0.4, false, ""},
		"two":                               {memory(0.8, 1, 194*day), 0.2, true, "strength 0.20 is below 0.3: last supported 2025-07-05"},
		"lowered before":                    {decayed(memory(0.8, 1, 300*day), earlier), 0.8 * math.Exp2(-10./90), false, ""},
		"lowered before its last support":   {decayed(memory(0.8, 1, 20*day), later), 0.8 * math.Exp2(-6./90), false, ""},
		"core":                              {memory(0.8, reverie.CoreWeight, 1000*day), 0.8, false, ""},
		"all but core":                      {memory(0.8, 1.49, 1000*day), 0.8 * math.Exp2(-986./90), true, "strength 0.00 is below 0.3: last supported 2023-04-21"},
		"core and weak":                     {memory(0.1, 2, day), 0.1, false, ""},
		"light":                             {memory(0.9, 0.29, day), 0.9, true, "weight 0.29 is below 0.3"},
		"light enough":                      {memory(0.9, 0.3, day), 0.9, false, ""},
		"weak from the start":               {memory(0.2999, 1, day), 0.2999, true, "strength 0.2999 is below 0.3: last supported 2026-01-14"},
		"a theme, at the end of its time":   {of(memory(0.3, 1, 90*day), reverie.KindDream, "theme"), 0.3, false, ""},
		"an open thread, a day after":       {of(memory(0.3, 1, 91*day), reverie.KindDream, "todo"), 0.3 * math.Exp2(-1./90), true, "strength 0.298 is below 0.3: last supported 2025-10-16"},
		"the narrative":                     {of(memory(0.3, 0.1, 1000*day), reverie.KindDream, "summary"), 0.3, false, ""},
		"a session's summary":               {of(memory(0.8, 1, 15*day), reverie.KindSession, "summary"), 0.8 * math.Exp2(-1./90), false, ""},
		"supported in days to come":         {memory(0.5, 1, -day), 0.5, false, ""},
	} {
		f, faded := fade(tt.memory, rule, noon)
		if math.Abs(f.To-tt.to) > 1e-9 || f.Archive != tt.archive || f.Reason != tt.reason || faded != (f.Decays() || f.Archive) {
			t.Errorf("%s: %v to %v, archive %v %q (faded %v); want %v, %v %q", name, tt.memory.Strength, f.To, f.Archive, f.Reason, faded, tt.to, tt.archive, tt.reason)
		}
		if f.Decays() == (f.ToAt == tt.memory.DecayedAt) {
			t.Errorf("%s: decays %v, and is lowered up to %v", name, f.Decays(), f.ToAt)
		}
	}
}

// What a dream has closed is archived when its time is over, and not a moment before;
// nothing else is.
func TestFadeOfWhatIsClosed(t *testing.T) {
	item := func(age time.Duration, tags ...string) reverie.Fading {
		m := memory(0.5, 1, 0)
		m.Kind, m.Tags, m.UpdatedAt = reverie.KindDream, append([]string{reverie.TagDream, reverie.TagLongTerm}, tags...), noon.Add(-age)
		return m
	}
	of := func(m reverie.Fading, change func(*reverie.Fading)) reverie.Fading { change(&m); return m }
	done := item(7*day, "todo", "done")
	for name, tt := range map[string]struct {
		memory reverie.Fading
		closed time.Duration
		reason string
	}{
		"at the end of its time": {done, 7 * day, "closed on 2026-01-08"},
		"a microsecond before":   {item(7*day-time.Microsecond, "todo", "done"), 7 * day, ""},
		"never":                  {item(1000*day, "todo", "done"), 0, ""},
		"at once":                {item(time.Microsecond, "todo", "done"), time.Microsecond, "closed on 2026-01-15"},
		"closed in days to come": {item(-day, "todo", "done"), 7 * day, ""},
		"open":                   {item(1000*day, "todo"), 7 * day, ""},
		"a theme":                {item(1000*day, "theme", "done"), 7 * day, ""},
		"the narrative":          {item(1000*day, "summary", "todo", "done"), 7 * day, ""},
		"no dream's":             {of(done, func(m *reverie.Fading) { m.Kind = reverie.KindGroup }), 7 * day, ""},
		"core":                   {of(done, func(m *reverie.Fading) { m.Weight = reverie.CoreWeight }), 7 * day, ""},
		"weak, too":              {of(done, func(m *reverie.Fading) { m.Strength = 0.1 }), 7 * day, "closed on 2026-01-08"},
		"weak before":            {of(item(day, "todo", "done"), func(m *reverie.Fading) { m.Strength = 0.1 }), 7 * day, "strength 0.10 is below 0.3: last supported 2026-01-15"},
	} {
		r := rule
		r.Closed = tt.closed
		f, faded := fade(tt.memory, r, noon)
		if archive := tt.reason != ""; f.Archive != archive || faded != archive || f.Reason != tt.reason || f.Decays() {
			t.Errorf("%s: archive %v (faded %v) %q, strength %v; want %q", name, f.Archive, faded, f.Reason, f.To, tt.reason)
		}
	}
}

// However often maintenance runs, strength comes to the same: that of the formula,
// or, as long as too little has fallen to be written, at most that little more.
func TestFadingComposes(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 15))
	for range 300 {
		r := reverie.FadeRule{After: time.Duration(rng.IntN(30)) * day, HalfLife: time.Duration(1+rng.IntN(4000)) * time.Hour}
		m := memory(rng.Float64(), 1, time.Duration(rng.IntN(100*24))*time.Hour)
		start, runs := m, 0
		now, end := m.LastSupportedAt, m.LastSupportedAt.Add(60*day)
		for now.Before(end) {
			now = now.Add(time.Duration(1 + rng.Int64N(int64(2*day))))
			f, _ := fade(m, r, now)
			if f.Decays() {
				runs++
			}
			m.Strength, m.DecayedAt = f.To, f.ToAt
			age := max(now.Sub(start.LastSupportedAt.Add(r.After)), 0)
			exact := start.Strength * math.Exp2(-age.Hours()/r.HalfLife.Hours())
			if f.Decays() && math.Abs(m.Strength-exact) > 1e-9 || m.Strength-exact >= leastDecay+1e-9 || m.Strength < exact-1e-9 {
				t.Fatalf("%+v: after %s in %d steps strength is %v, exactly %v", r, now.Sub(start.LastSupportedAt), runs, m.Strength, exact)
			}
		}
		if f, faded := fade(m, r, now); faded {
			t.Fatalf("at the same time once more: %+v", f)
		}
	}
}

// TestFadeIsMonotone: nothing grows by time; what is older, weaker, or was supported
// longer ago is never the stronger for it; and what is archived stays archived later.
func TestFadeIsMonotone(t *testing.T) {
	const seed = 16
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 1000 {
		m := memory(rng.Float64(), rng.Float64()*reverie.CoreWeight, time.Duration(rng.Int64N(int64(400*day))))
		r := reverie.FadeRule{Threshold: rng.Float64() / 2, After: time.Duration(rng.IntN(30)) * day, HalfLife: time.Duration(1+rng.IntN(4000)) * time.Hour}
		f, _ := fade(m, r, noon)
		later, _ := fade(m, r, noon.Add(time.Duration(rng.Int64N(int64(100*day)))))
		fresher, stronger := m, m
		fresher.LastSupportedAt = m.LastSupportedAt.Add(time.Duration(rng.Int64N(int64(30 * day))))
		stronger.Strength = m.Strength + rng.Float64()*(1-m.Strength)
		a, _ := fade(fresher, r, noon)
		b, _ := fade(stronger, r, noon)
		// What is too little to be written has not fallen yet.
		if f.To < 0 || f.To > m.Strength || later.To > f.To+leastDecay || a.To < f.To-leastDecay || b.To < f.To-leastDecay || f.Archive && !later.Archive {
			t.Fatalf("seed %d: %v to %v, later %v, fresher %v, stronger %v (archived %v, later %v)", seed, m.Strength, f.To, later.To, a.To, b.To, f.Archive, later.Archive)
		}
	}
}
