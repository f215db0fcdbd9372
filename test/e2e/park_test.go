package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// stubborn is a stage of twenty groups of which g07 gets no usable answer while
// ill is set.
func stubborn(t *testing.T, nights int) (*stage, crowd, *atomic.Bool) {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", anyPort, newYear)
	c := crowdOf(20, nights)
	s.settle(c, oneFact)
	ill := &atomic.Bool{}
	ill.Store(true)
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if asker(t, r) == "g07" && ill.Load() {
			return llmtest.Prose()
		}
		return llmtest.Text(transcribe(t, r))
	})
	return s, c, ill
}

// asks is how many questions an invocation asked.
func (s *stage) asks(invoke func()) int {
	before := len(s.questions())
	invoke()
	return len(s.questions()) - before
}

func (s *stage) due(t *testing.T, code int, words ...string) func() {
	return func() {
		t.Helper()
		s.run("evolve", "--due").want(t, code).shows(t, words...)
	}
}

// TestParkedAfterFailures: a group that always fails stops no other. It is
// parked, left alone by commands and the daemon, and brought back by a person.
func TestParkedAfterFailures(t *testing.T) {
	t.Parallel()
	s, c, ill := stubborn(t, 2)
	s.set("REVERIE_JOBS_RETRY_AFTER=0s", "REVERIE_JOBS_PARK_AFTER=3")
	o := s.run("evolve", "--due").want(t, 3, `group "g07" failed`, "1 group failed, 19 groups done").
		shows(t, "19 groups done, 0 skipped, 0 deferred, 1 failed; 38 windows finished, 2 left")
	if strings.Contains(o.stderr, "parked") {
		t.Errorf("it is parked too soon:\n%s", o.stderr)
	}
	if got := s.rows(`select distinct group_id from messages where run_id is null`); !slices.Equal(got, []string{"g07"}) {
		t.Errorf("messages of %q are pending, want those of g07 alone", got)
	}
	s.run("evolve", "--due").want(t, 3).shows(t, "0 groups done, 0 skipped, 0 deferred, 1 failed")
	s.run("evolve", "--due").want(t, 3, `group "g07" is parked now`, "reverie groups resume g07")
	if got := s.rows(`select window_since, status, attempt from runs where group_id = 'g07' order by started_at`); !slices.Equal(got, []string{
		"2025-03-02T19:30:00-03:30|failed|1", "2025-03-02T19:30:00-03:30|failed|2", "2025-03-02T19:30:00-03:30|failed|3"}) {
		t.Errorf("the runs are %q: three attempts at the first night, and none at the second", got)
	}

	leftAlone := func() {
		t.Helper()
		why := "g07  skipped: parked: failed 3 times in a row, the last time with: "
		s.run("evolve", "--due").want(t, 0).silent(t).shows(t, why, "held no action in JSON Lines, twice", "reverie groups resume g07", "0 groups done, 1 skipped")
		s.run("evolve", "--all").want(t, 0).shows(t, why)
		lines := s.run("evolve", "--due", "--json").want(t, 0).silent(t).stdout
		if !strings.Contains(lines, `{"success":true,"group_id":"g07","outcome":"skipped","reason":"parked: failed 3 times`) || !strings.Contains(lines, `"parked":1`) {
			t.Errorf("the JSON lines are\n%s", lines)
		}
	}
	if n := s.asks(leftAlone); n != 0 {
		t.Errorf("a parked group was asked about %d times", n)
	}
	daemon := s.launch("run")
	daemon.says("task done", 1)
	daemon.says(`msg="group skipped" job=evolve group_id=g07 reason="parked`, 1)
	daemon.stop()
	if got := s.one(`select failures, parked_at is not null from setbacks`); got != "3|true" || len(s.rows(`select 1 from runs where group_id = 'g07'`)) != 3 {
		t.Errorf("the daemon did not leave it alone: %s", got)
	}

	s.run("groups", "resume", "g07").want(t, 0)
	if n := s.asks(s.due(t, 3, "0 groups done, 0 skipped, 0 deferred, 1 failed")); n != 2 {
		t.Errorf("once resumed it was asked about %d times, want 2", n)
	}
	if got := s.one(`select failures, parked_at from setbacks`); got != "1|" {
		t.Errorf("after a failure more its setback is %s, want 1|", got)
	}
	ill.Store(false)
	if n := s.asks(s.due(t, 0, "1 group done, 0 skipped, 0 deferred, 0 failed; 2 windows finished, 0 left")); n != 2 {
		t.Errorf("once well it was asked about %d times, want 2", n)
	}
	if got := s.active("g07"); !slices.Equal(got, []string{"g07 did thing 1", "g07 did thing 2"}) {
		t.Errorf("g07 remembers %q", got)
	}
	if got := s.rows(`select * from setbacks`); len(got) > 0 {
		t.Errorf("setbacks are left: %q", got)
	}
	if got, want := s.one(`select count(*) from runs where status = 'succeeded'`), fmt.Sprint(c.windows()); got != want {
		t.Errorf("%s runs succeeded, want %s", got, want)
	}
}

// TestLeftAloneForAWhile: between two failures a group is left alone by --due,
// longer each time, and a person who says --all does not wait.
func TestLeftAloneForAWhile(t *testing.T) {
	t.Parallel()
	s, _, ill := stubborn(t, 1)
	now := time.Now()
	at := func(later time.Duration, args ...string) outcome { return s.runAt(now.Add(later), args...) }
	at(0, "evolve", "--due").want(t, 3)
	at(29*time.Minute, "evolve", "--due").want(t, 0).silent(t).shows(t, "g07  skipped: failed before: ", "tried again from ", "0 groups done, 1 skipped")
	at(35*time.Minute, "evolve", "--due").want(t, 3)
	if got := s.one(`select failures, round(extract(epoch from retry_at - updated_at) / 60) from setbacks`); got != "2|60" {
		t.Errorf("failures and minutes to wait are %s, want 2|60", got)
	}
	at(50*time.Minute, "evolve", "--due").want(t, 0).shows(t, "0 groups done, 1 skipped")
	at(50*time.Minute, "evolve", "--all").want(t, 3).shows(t, "0 groups done, 0 skipped, 0 deferred, 1 failed")
	ill.Store(false)
	at(50*time.Minute, "evolve", "--due").want(t, 0).shows(t, "0 groups done, 1 skipped")
	at(50*time.Minute, "evolve", "--group", "g07").want(t, 0)
	if got := s.rows(`select * from setbacks`); len(got) > 0 {
		t.Errorf("setbacks are left: %q", got)
	}
	at(50*time.Minute, "evolve", "--due").want(t, 0).silent(t)
}

// TestDeferredIsNotBlamed: what passes by itself is never held against a group,
// however often it comes, even where one failure would park it.
func TestDeferredIsNotBlamed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_JOBS_PARK_AFTER=1")
	c := crowdOf(3, 2)
	s.settle(c, oneFact)
	var fault atomic.Pointer[llmtest.Answer]
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if asker(t, r) == "g02" && fault.Load() != nil {
			return *fault.Load()
		}
		return llmtest.Text(transcribe(t, r))
	})
	for i, a := range []llmtest.Answer{llmtest.RateLimited(0), llmtest.Failure(http.StatusServiceUnavailable, "later"),
		llmtest.Failure(http.StatusTooManyRequests, "slow down"), llmtest.CutOff(), llmtest.Reset()} {
		fault.Store(&a)
		done := []string{"2 groups done", "0 groups done"}[min(i, 1)]
		s.run("evolve", "--due").want(t, 4, `group "g02" deferred`).shows(t, done+", 0 skipped, 1 deferred, 0 failed")
		if got := s.rows(`select * from setbacks`); len(got) > 0 {
			t.Fatalf("after fault %d it is blamed: %q", i+1, got)
		}
	}
	if got := s.rows(`select distinct status from runs where group_id = 'g02'`); !slices.Equal(got, []string{"deferred"}) {
		t.Errorf("the runs of g02 are %q", got)
	}
	fault.Store(nil)
	s.run("evolve", "--due").want(t, 0).silent(t).shows(t, "1 group done, 0 skipped, 0 deferred, 0 failed; 2 windows finished, 0 left")
	if diff := cmp.Diff([]string{"g02 did thing 1", "g02 did thing 2"}, s.active("g02")); diff != "" {
		t.Error(diff)
	}
}

// TestBrokenTimeZone: a group whose dates cannot be told fails alone, says so,
// and can be mended.
func TestBrokenTimeZone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_JOBS_PARK_AFTER=2", "REVERIE_JOBS_RETRY_AFTER=0s")
	c := crowdOf(4, 2)
	s.settle(c, oneFact)
	s.model.Respond(scribe(t))
	s.run("backfill", "--group", "g02", "--from", "2025-03-03", "--to", "2025-03-03", "--yes").want(t, 0)
	s.exec(`update groups set time_zone = 'Mars/Olympus_Mons' where group_id = 'g02'`)
	s.run("evolve", "--due", "--dry-run").want(t, 3, "Mars/Olympus_Mons", "1 group failed").shows(t, "g01 did thing 2", "g03 did thing 2")
	s.run("evolve", "--all", "--since", "2025-03-04", "--until", "2025-03-05").want(t, 3, "Mars/Olympus_Mons").
		shows(t, "3 groups done, 0 skipped, 0 deferred, 1 failed; 3 windows finished")
	s.run("groups", "resume", "g02").want(t, 0)
	s.run("evolve", "--due").want(t, 3, `group "g02" failed`, "Mars/Olympus_Mons").shows(t, "3 groups done, 0 skipped, 0 deferred, 1 failed")
	if got := s.rows(`select distinct group_id from messages where run_id is null`); !slices.Equal(got, []string{"g02"}) {
		t.Errorf("messages of %q are pending, want those of g02 alone", got)
	}
	s.run("evolve", "--due").want(t, 3, `group "g02" is parked now`)
	s.run("evolve", "--due").want(t, 0).silent(t).shows(t, "g02  skipped: parked")
	s.run("groups", "resume", "g02").want(t, 0)
	more := crowd{[]string{"g09"}, []string{"2025-03-04"}}
	s.settle(more, oneFact)
	s.run("backfill", "--from", "2025-03-03", "--to", "2025-03-04", "--dry-run").want(t, 0, "left out of the estimate", "Mars/Olympus_Mons").shows(t, "2 messages in 1 window of 1 group")
	s.run("backfill", "--from", "2025-03-03", "--to", "2025-03-04", "--yes").want(t, 3, "Mars/Olympus_Mons").shows(t, "1 group done, 0 skipped, 0 deferred, 1 failed")
	s.run("groups", "list").want(t, 0).shows(t, "g02")
	s.run("groups", "pause", "g02").want(t, 0)
	s.run("groups", "set", "g02", "--name", "Martians").want(t, 2, "Mars/Olympus_Mons")
	s.run("groups", "set", "g02", "--time-zone", "America/New_York").want(t, 0).shows(t, "dates in America/New_York", "instead of those in Mars/Olympus_Mons")
	if got := s.rows(`select * from past_calendars`); len(got) > 0 {
		t.Errorf("a calendar that cannot be read is kept: %q", got)
	}
	s.run("groups", "resume", "g02").want(t, 0)
	s.run("evolve", "--due").want(t, 0).shows(t, "1 group done")
	if diff := cmp.Diff([]string{"g02 did thing 1", "g02 did thing 2"}, s.active("g02")); diff != "" {
		t.Error(diff)
	}
}

// TestEmptyWindowBlamesNobody: a window without any time in it is a slip of who
// typed it.
func TestEmptyWindowBlamesNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.settle(crowdOf(2, 1), oneFact)
	for _, window := range [][]string{{"--since", "2025-03-05", "--until", "2025-03-04"}, {"--since", "2099-01-01"}} {
		for _, whom := range [][]string{{"--all"}, {"--group", "g01"}, {"--all", "--dry-run"}, {"--group", "g01", "--dry-run"}} {
			s.run(slices.Concat([]string{"evolve"}, whom, window)...).want(t, 2, "--since "+window[1])
		}
	}
	for _, table := range []string{"setbacks", "runs"} {
		if got := s.rows(`select * from ` + table); len(got) > 0 {
			t.Errorf("%s: %q", table, got)
		}
	}
}
