package maintain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
)

var (
	noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	rule = reverie.FadeRule{Forget: reverie.ForgetRule{Habit: 21, HabitGaps: 2, Plan: 21, Opinion: 120}, Threshold: 0.3, Tentative: 60, Closed: 7 * day}
)

const day = 24 * time.Hour

// talk is a calendar of so many active nights from noon on.
func talk(nights int) calendar {
	c := calendar{loc: time.UTC, now: noon.AddDate(0, 0, nights+1), asOf: noon}
	for n := range nights {
		c.nights = append(c.nights, noon.AddDate(0, 0, n+1).Format(time.DateOnly))
	}
	return c
}

// memory was said at noon.
func memory(kind reverie.Type, strength, weight float64, change ...func(*reverie.Fading)) reverie.Fading {
	m := reverie.Fading{HeadState: reverie.HeadState{SupportDates: []string{"2026-01-15"},
		Memory: reverie.Memory{Type: kind, Strength: strength, Weight: weight, LastSupportedAt: noon, UpdatedAt: noon}}}
	for _, f := range change {
		f(&m)
	}
	return m
}

// on is a date so many days after noon.
func on(days int) string { return noon.AddDate(0, 0, days).Format(time.DateOnly) }

func TestFade(t *testing.T) {
	dream := func(tags ...string) func(*reverie.Fading) {
		return func(m *reverie.Fading) {
			m.Kind, m.Tags = reverie.KindDream, append([]string{reverie.TagDream}, tags...)
		}
	}
	used := func(after int) func(*reverie.Fading) {
		return func(m *reverie.Fading) { at := noon.AddDate(0, 0, after); m.UsedAt = &at }
	}
	due := func(days int) func(*reverie.Fading) {
		return func(m *reverie.Fading) { at := noon.AddDate(0, 0, days); m.DueOn = &at }
	}
	supported := func(days ...int) func(*reverie.Fading) { // and last at noon
		return func(m *reverie.Fading) {
			for _, d := range days {
				m.SupportDates = append([]string{on(d)}, m.SupportDates...)
			}
		}
	}
	back := func(after int) func(*reverie.Fading) {
		return func(m *reverie.Fading) { at := noon.AddDate(0, 0, after); m.BackAt = &at }
	}
	ann := func(m *reverie.Fading) { m.Author = "Ann" }
	late := func(m *reverie.Fading) { m.UpdatedAt = noon.AddDate(0, 0, 30) }
	const silent, stale = "said once, never used in an answer, and silent for %d of the group's active nights",
		"nothing has supported it for %d of the group's active nights"
	for name, tt := range map[string]struct {
		memory reverie.Fading
		nights int
		reason string // with the number of nights
		since  string
	}{
		"taken back from the archive a while ago": {memory("culture", 0.3, 0.2, back(11)), 70, "", ""},
		"taken back from the archive long ago":    {memory("culture", 0.3, 0.2, back(10)), 70, "weight 0.20 is below 0.3", ""},
		"fresh":                                   {memory("culture", 0.3, 1), 0, "", ""},
		"tentative, a night before":               {memory("culture", 0.3, 1), 59, "", ""},
		"tentative":                               {memory("culture", 0.3, 1), 60, silent, on(60)},
		"tentative, looked at late":               {memory("culture", 0.3, 1), 300, silent, on(60)},
		"tentative, and used once":                {memory("culture", 0.3, 1, used(0)), 300, "", ""},
		"a fact, written at once":                 {memory("fact", 0.3, 1), 60, silent, on(60)},
		"a fact, written later":                   {memory("fact", 0.3, 1, late), 89, "", ""},
		"a rule, written later":                   {memory("rule", 0.3, 1, late), 90, "said once, never used in an answer, and silent for 60 of the group's active nights", on(90)},
		"established":                             {memory("fact", 0.5, 1), 900, "", ""},
		"a habit, a night before":                 {memory("habit", 0.9, 1), 21, "", ""},
		"a habit":                                 {memory("habit", 0.9, 1), 22, stale, on(22)},
		"a habit that is used":                    {memory("habit", 0.9, 1, used(10)), 31, "", ""},
		"an opinion":                              {memory("opinion", 0.9, 1), 121, stale, on(121)},
		"a plan":                                  {memory("plan", 0.3, 1), 22, stale, on(22)},
		"a plan on its day":                       {memory("plan", 0.3, 1, due(30)), 29, "", ""},
		"a plan after its day":                    {memory("plan", 0.3, 1, due(30)), 30, "its date has passed: " + on(30), on(30)},
		"a plan said after its day":               {memory("plan", 0.3, 1, due(-1)), 21, "", ""},
		"a plan long after its day":               {memory("plan", 0.3, 1, due(-1)), 22, stale, on(22)},
		"core":                                    {memory("habit", 0.3, reverie.CoreWeight), 900, "", ""},
		"a person's":                              {memory("habit", 0.3, 0.1, ann), 900, "", ""},
		"light":                                   {memory("fact", 0.9, 0.29), 0, "weight 0.29 is below 0.3", ""},
		"hardly lighter":                          {memory("fact", 0.9, 0.2999), 0, "weight 0.2999 is below 0.3", ""},
		"light enough":                            {memory("fact", 0.9, 0.3), 0, "", ""},
		"a theme":                                 {memory("fact", 0.3, 1, dream("theme")), 60, silent, on(60)},
		"the narrative":                           {memory("fact", 0.3, 0.1, dream("summary")), 900, "", ""},
		"weak from the start is not":              {memory("fact", 0.1, 1), 0, "", ""},
		"a habit of every second evening, long ago": {memory("habit", 0.9, 1, supported(-2, -4)), 22, stale, on(22)},
	} {
		want := tt.reason
		if strings.Contains(want, "%d") {
			want = fmt.Sprintf(want, tt.nights)
		}
		if reason, since := fade(tt.memory, rule, talk(tt.nights)); reason != want || since != tt.since {
			t.Errorf("%s: %q since %q, want %q since %q", name, reason, since, want, tt.since)
		}
	}
}

// A habit of once in thirty active nights is not gone after twenty-two.
func TestFadeOfRareHabits(t *testing.T) {
	c := talk(200)
	m := memory("habit", 0.9, 1, func(m *reverie.Fading) {
		m.SupportDates, m.LastSupportedAt = []string{on(1), on(31)}, noon.AddDate(0, 0, 31)
	})
	for nights, gone := range map[int]bool{60: false, 61: true} {
		c.now = noon.AddDate(0, 0, 31+nights)
		if reason, _ := fade(m, rule, c); (reason != "") != gone {
			t.Errorf("after %d nights: %q", nights, reason)
		}
	}
}

// What a dream has closed is archived when its time is over, and not a moment before;
// nothing else is.
func TestFadeOfWhatIsClosed(t *testing.T) {
	item := func(age time.Duration, tags ...string) reverie.Fading {
		m := memory("fact", 0.5, 1)
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
		if reason, _ := fade(tt.memory, r, talk(0)); reason != tt.reason {
			t.Errorf("%s: %q; want %q", name, reason, tt.reason)
		}
	}
}
