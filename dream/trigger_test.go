package dream

import (
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestDue tries the rule on both sides of each of its limits.
func TestDue(t *testing.T) {
	now := time.Date(2026, 3, 5, 4, 29, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	const day, second = 24 * time.Hour, time.Second
	rule := reverie.DreamRule{Idle: day, Sessions: 10, Interval: time.Hour, Silence: 30 * time.Minute}
	with := func(change func(*reverie.DreamRule)) reverie.DreamRule { r := rule; change(&r); return r }
	noIdle := with(func(r *reverie.DreamRule) { r.Idle = 0 })
	noCount := with(func(r *reverie.DreamRule) { r.Sessions = 0 })
	const (
		waits  = "no new session has been quiet for long enough"
		early  = "the last dream was less than 1h0m0s ago"
		idle   = "a session has been quiet since 2026-03-0"
		counts = "sessions have ended since the last dream"
		same   = "nothing is remembered that is new since the last dream"
	)
	for name, c := range map[string]struct {
		signs reverie.DreamSigns
		rule  reverie.DreamRule
		due   bool
		why   string
	}{
		"nothing at all":                  {reverie.DreamSigns{}, rule, false, waits},
		"quiet for 24 h":                  {reverie.DreamSigns{Fresh: 1, New: 1, QuietSince: ago(day)}, rule, true, idle},
		"quiet for just under 24 h":       {reverie.DreamSigns{Fresh: 1, New: 1, QuietSince: ago(day - second)}, rule, false, waits},
		"quiet for just over 24 h":        {reverie.DreamSigns{Fresh: 1, New: 1, QuietSince: ago(day + second)}, rule, true, idle},
		"9 sessions":                      {reverie.DreamSigns{Fresh: 9, New: 9, QuietSince: ago(time.Hour)}, rule, false, waits},
		"10 sessions":                     {reverie.DreamSigns{Fresh: 10, New: 1, QuietSince: ago(time.Hour)}, rule, true, "10 " + counts},
		"11 sessions":                     {reverie.DreamSigns{Fresh: 11, New: 1, QuietSince: ago(time.Hour)}, rule, true, "11 " + counts},
		"59m59s after a dream":            {reverie.DreamSigns{Fresh: 10, New: 1, LastAt: ago(time.Hour - second)}, rule, false, early},
		"1 h after a dream":               {reverie.DreamSigns{Fresh: 10, New: 1, LastAt: ago(time.Hour)}, rule, true, "10 " + counts},
		"idle, and 59m59s after":          {reverie.DreamSigns{Fresh: 1, New: 1, QuietSince: ago(day), LastAt: ago(time.Hour - second)}, rule, false, early},
		"idle, and 1 h after":             {reverie.DreamSigns{Fresh: 1, New: 1, QuietSince: ago(day), LastAt: ago(time.Hour)}, rule, true, idle},
		"a dream that ended in future":    {reverie.DreamSigns{Fresh: 10, New: 1, LastAt: ago(-second)}, rule, false, early},
		"one that ended years ahead":      {reverie.DreamSigns{Fresh: 10, New: 1, LastAt: ago(-3 * 365 * day)}, rule, true, "10 " + counts},
		"no interval":                     {reverie.DreamSigns{Fresh: 10, New: 1, LastAt: ago(0)}, with(func(r *reverie.DreamRule) { r.Interval = 0 }), true, "10 " + counts},
		"idle is off":                     {reverie.DreamSigns{Fresh: 9, New: 1, QuietSince: ago(30 * day)}, noIdle, false, waits},
		"idle is off, 10 sessions":        {reverie.DreamSigns{Fresh: 10, New: 1, QuietSince: ago(30 * day)}, noIdle, true, "10 " + counts},
		"the count is off":                {reverie.DreamSigns{Fresh: 100, New: 1, QuietSince: ago(day - second)}, noCount, false, waits},
		"the count is off, 24 h":          {reverie.DreamSigns{Fresh: 100, New: 1, QuietSince: ago(day)}, noCount, true, idle},
		"all is off":                      {reverie.DreamSigns{Fresh: 100, New: 1, QuietSince: ago(30 * day)}, reverie.DreamRule{}, false, waits},
		"one session is enough":           {reverie.DreamSigns{Fresh: 1, New: 1, QuietSince: ago(0)}, with(func(r *reverie.DreamRule) { r.Sessions = 1 }), true, "1 session has ended"},
		"nothing new":                     {reverie.DreamSigns{Fresh: 10, QuietSince: ago(day), LastAt: ago(day)}, rule, false, same},
		"only dreams are new":             {reverie.DreamSigns{Fresh: 10, QuietSince: ago(day), LastAt: ago(2 * time.Hour), Unread: 0}, rule, false, same},
		"nothing yet":                     {reverie.DreamSigns{Fresh: 10, QuietSince: ago(day)}, rule, false, "nothing is remembered yet to dream of"},
		"nothing new, turns unread":       {reverie.DreamSigns{Fresh: 10, QuietSince: ago(day), LastAt: ago(day), Unread: 3}, rule, false, same + "; 3 sessions have turns that reverie extract has not read"},
		"nothing new, one unread":         {reverie.DreamSigns{Fresh: 10, QuietSince: ago(day), LastAt: ago(day), Unread: 1}, rule, false, same + "; 1 session has turns that"},
		"new, and no session fresh":       {reverie.DreamSigns{New: 5, LastAt: ago(30 * day)}, rule, false, waits},
		"interrupted":                     {reverie.DreamSigns{Interrupted: true}, rule, true, "the last dream was interrupted"},
		"failed on the way":               {reverie.DreamSigns{CutShort: true, New: 2, LastAt: ago(second)}, rule, true, "the last dream failed before"},
		"failed, and nothing is left":     {reverie.DreamSigns{CutShort: true, Fresh: 10, LastAt: ago(day)}, rule, false, same},
		"interrupted, just after another": {reverie.DreamSigns{Interrupted: true, LastAt: ago(second)}, rule, true, "the last dream was interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			if due, why := Due(c.signs, c.rule, now); due != c.due || !strings.HasPrefix(why, c.why) {
				t.Errorf("%v, %q; want %v, %q", due, why, c.due, c.why)
			}
		})
	}
}

// TestEnded: a session has ended after the shorter of the two silences.
func TestEnded(t *testing.T) {
	now := time.Date(2026, 3, 5, 4, 29, 0, 0, time.UTC)
	for _, c := range []struct{ idle, silence, want time.Duration }{
		{24 * time.Hour, 30 * time.Minute, 30 * time.Minute},
		{10 * time.Minute, 30 * time.Minute, 10 * time.Minute},
		{0, 30 * time.Minute, 30 * time.Minute},
	} {
		if got := now.Sub(Ended(reverie.DreamRule{Idle: c.idle, Silence: c.silence}, now)); got != c.want {
			t.Errorf("idle %s, silence %s: ended after %s, want %s", c.idle, c.silence, got, c.want)
		}
	}
}
