package maintain

import (
	"testing"
	"time"

	"reverie/internal/reverie"
)

var (
	noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	rule = reverie.FadeRule{Threshold: 0.3, Tentative: 60, Closed: 7 * day}
)

const day = 24 * time.Hour

// memory is one that was silent for so many active nights.
func memory(strength, weight float64, silent int) reverie.Fading {
	return reverie.Fading{Memory: reverie.Memory{Strength: strength, Weight: weight}, Silent: silent}
}

func TestFade(t *testing.T) {
	of := func(m reverie.Fading, change func(*reverie.Fading)) reverie.Fading { change(&m); return m }
	dream := func(tags ...string) func(*reverie.Fading) {
		return func(m *reverie.Fading) {
			m.Kind, m.Tags = reverie.KindDream, append([]string{reverie.TagDream}, tags...)
		}
	}
	const silent = "said once, never used in an answer, and silent for 60 of the group's active nights"
	for name, tt := range map[string]struct {
		memory reverie.Fading
		reason string
	}{
		"fresh":                      {memory(0.3, 1, 0), ""},
		"tentative, a night before":  {memory(0.3, 1, 59), ""},
		"tentative":                  {memory(0.3, 1, 60), silent},
		"tentative, and used once":   {of(memory(0.3, 1, 60), func(m *reverie.Fading) { m.Used = true }), ""},
		"established":                {memory(0.5, 1, 1000), ""},
		"core":                       {memory(0.3, reverie.CoreWeight, 1000), ""},
		"a person's":                 {of(memory(0.3, 0.1, 1000), func(m *reverie.Fading) { m.Author = "Ann" }), ""},
		"light":                      {memory(0.9, 0.29, 0), "weight 0.29 is below 0.3"},
		"hardly lighter":             {memory(0.9, 0.2999, 0), "weight 0.2999 is below 0.3"},
		"light enough":               {memory(0.9, 0.3, 0), ""},
		"a theme":                    {of(memory(0.3, 1, 60), dream("theme")), silent},
		"the narrative":              {of(memory(0.3, 0.1, 1000), dream("summary")), ""},
		"weak from the start is not": {memory(0.1, 1, 0), ""},
	} {
		if reason := fade(tt.memory, rule, noon); reason != tt.reason {
			t.Errorf("%s: %q, want %q", name, reason, tt.reason)
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
		"light, too":             {of(done, func(m *reverie.Fading) { m.Weight = 0.1 }), 7 * day, "closed on 2026-01-08"},
	} {
		r := rule
		r.Closed = tt.closed
		if reason := fade(tt.memory, r, noon); reason != tt.reason {
			t.Errorf("%s: %q; want %q", name, reason, tt.reason)
		}
	}
}
