package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEverythingOn: what is scheduled by default costs nothing where nothing is to do. A
// session without a bot is not extracted, and a dream rests on what the night has made of
// sessions that no extraction has read.
func TestEverythingOn(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	s.set("REVERIE_SESSION_TOKENS=100", "REVERIE_SESSION_TURNS=2", "REVERIE_SESSION_IDLE=1h")
	people := spoken("p1", evening, "note Ann likes chess", strings.Repeat("we talk and talk ", 50))
	people = slices.DeleteFunc(people, func(l chatLine) bool { return l.Role == "assistant" })
	s.bring("people", people...)
	s.bring("bot", spoken("s1", evening, "note Lin likes green tea")...)
	s.bring("silent", chatLine{ID: "1", Author: "Bo", Text: "hello", SentAt: evening.Format(time.RFC3339), SessionID: "b1"})
	now, asked, runs := evening.Add(30*time.Minute), 0, "0"
	quiet := func(job, says string) {
		t.Helper()
		s.runAt(now, job, "--due").want(t, 0).silent(t).shows(t, says)
		if got := s.one(`select count(*) from runs`); len(s.questions()) != asked || got != runs {
			t.Errorf("%s --due: %d questions and %s runs, were %d and %s", job, len(s.questions()), got, asked, runs)
		}
	}
	quiet("extract", "nothing is due: no session has gathered enough")
	now = evening.Add(30 * time.Hour)
	quiet("dream", "nothing is due")
	s.runAt(now, "evolve", "--due").want(t, 0).shows(t, "people", "\n  + Ann likes chess\n", "\n  + Lin likes green tea\n")
	o := s.runAt(now, "dream", "--due").want(t, 0).shows(t, "people  up to p1  dream succeeded", "bot  up to s1  dream succeeded", "2 groups done")
	if strings.Contains(o.stdout, "silent") {
		t.Errorf("a group that left nothing dreams:\n%s", o.stdout)
	}
	o = s.runAt(now, "extract", "--due", "--quiet").want(t, 0).shows(t, "bot  s1  extract succeeded", "1 group done")
	if strings.Contains(o.stdout, "+ ") {
		t.Errorf("it is not quiet:\n%s", o.stdout)
	}
	now = now.Add(2 * time.Hour)
	s.runAt(now, "dream", "--due").want(t, 0).shows(t, "bot  up to s1", "\n  + Lin likes green tea\n") // as it was extracted
	asked, runs = len(s.questions()), s.one(`select count(*) from runs`)
	for _, later := range []time.Duration{0, 48 * time.Hour} {
		now = now.Add(later)
		quiet("extract", "nothing is due")
		quiet("dream", "nothing is due")
	}
	quiet("evolve", "nothing is due")
	s.bring("silent", chat(night(9), "note Bo takes the minutes")...)
	if o := s.run("evolve", "--group", "silent", "--quiet").want(t, 0).shows(t, "1 created"); strings.Contains(o.stdout, "Bo takes") {
		t.Errorf("it is not quiet:\n%s", o.stdout)
	}
	s.run("sessions", "show", "p1", "--group", "people").want(t, 0).shows(t, "never of itself, since no bot takes part")
	s.runAt(now, "extract", "--all").want(t, 0).shows(t, "people  p1  extract succeeded") // since somebody asks
}
