package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// fiveRuns makes a group whose runs were for a date, for two, for some hours, for
// all there was, and in vain.
func fiveRuns(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	for _, date := range []string{"2025-03-03", "2025-03-04", "2025-03-05", "2025-03-06", "2025-03-07"} {
		s.bring("g1", chat(date, "note Something happened on "+date, "hello")...)
	}
	for _, window := range [][]string{{"2025-03-03", "2025-03-04"}, {"2025-03-04", "2025-03-06"}, {"2025-03-06T08:00:00Z", "2025-03-06T20:00:00Z"}} {
		s.run("evolve", "--group", "g1", "--since", window[0], "--until", window[1]).want(t, 0)
	}
	s.run("evolve", "--group", "g1").want(t, 0)
	s.bring("g1", chat("2025-03-08", "hello")...)
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Prose() })
	s.run("evolve", "--group", "g1").want(t, 1)
	return s
}

// without drops what differs from run to run: ids, clock times and durations.
func without(text string) string {
	text = uuidPattern.ReplaceAllString(text, "RUN")
	return strings.Join(strings.Fields(text), " ")
}

func TestRunsList(t *testing.T) {
	t.Parallel()
	s := fiveRuns(t)
	s.exec(`update llm_calls set cost_usd = 0`)
	o := s.run("runs", "list").want(t, 0).silent(t)
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	if len(lines) != 7 {
		t.Fatalf("there are %d lines:\n%s", len(lines), o.stdout)
	}
	for i, want := range []struct{ window, rest string }{
		{"WINDOW", "GROUP JOB WINDOW STATUS CHANGES RUN MESSAGES TOKENS STARTED TOOK"}, {"2025-03-08 12:00..", "failed =5"}, {"why:", "unusable answer"}, {"2025-03-07 12:00..", "succeeded +1 =4"},
		{"2025-03-06 08:00..03-06 20:00", "succeeded +1 =3"}, {"2025-03-04..2025-03-05", "succeeded +2 =1"}, {"2025-03-03 ", "succeeded +1"},
	} {
		line := without(lines[i])
		if !strings.Contains(lines[i], want.window) || !strings.Contains(line, want.rest) {
			t.Errorf("line %d lacks %q or %q: %s", i, want.window, want.rest, line)
		}
	}
	for _, column := range []string{"TRY", "USD"} {
		if strings.Contains(o.stdout, column) {
			t.Errorf("column %s holds nothing and is shown:\n%s", column, o.stdout)
		}
	}
	s.run("evolve", "--group", "g1", "--since", "2025-03-08").want(t, 1)
	s.run("evolve", "--group", "g1", "--since", "2025-03-08", "--until", "2025-03-09").want(t, 1)
	s.exec(`update llm_calls set cost_usd = 0.5 where created_at = (select min(created_at) from llm_calls where run_id is not null)`)
	s.exec(`update runs set attempt = 2 where run_id = (select run_id from runs order by started_at desc limit 1)`)
	s.run("runs", "list").want(t, 0).shows(t, "TRY", "USD", "0.5000", "2025-03-08 ")
	if o := s.run("runs", "list", "--group", "g1", "--job", "evolve").want(t, 0); strings.Contains(o.stdout, "GROUP") || strings.Contains(o.stdout, "JOB") {
		t.Errorf("what was asked for is repeated in each row:\n%s", o.stdout)
	}
	s.run("runs", "list", "--limit", "2").want(t, 0).shows(t, "the newest 2; more with --limit")
}

func TestRunsQuery(t *testing.T) {
	t.Parallel()
	s := fiveRuns(t)
	s.bring("g2", chat("2025-03-03", "hello")...)
	s.model.Respond(scribe(t))
	s.run("evolve", "--group", "g2").want(t, 0)
	s.exec(`update runs set started_at = '2026-01-14T23:59:59Z', finished_at = '2026-01-15T00:00:01Z' where window_since = '2025-03-02T16:00:00Z'`)
	s.exec(`update runs set started_at = '2026-01-15T00:00:00Z', finished_at = '2026-01-15T01:02:03.4Z' where window_since = '2025-03-03T16:00:00Z'`)
	s.exec(`update runs set started_at = '2026-01-15T20:00:00Z', finished_at = null, status = 'running' where group_id = 'g1' and started_at > '2026-02-01' and status = 'succeeded'`)
	s.exec(`update runs set started_at = '2026-01-15T20:00:00Z', finished_at = '2026-01-15T20:00:30Z' where status = 'failed'`)
	now := time.Date(2026, 1, 16, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, 6}, {[]string{"--group", "g1"}, 5}, {[]string{"--group", "g1", "--since", "2026-01-15"}, 4}, {[]string{"--group", "g1", "--since", "2026-01-14"}, 5},
		{[]string{"--group", "g1", "--since", "2026-01-15T08:00:01+08:00"}, 3}, {[]string{"--group", "g1", "--since", "24h"}, 4},
		{[]string{"--group", "g1", "--since", "1d"}, 4}, {[]string{"--group", "g1", "--since", "4h30m"}, 3}, {[]string{"--group", "g1", "--since", "3h"}, 0},
		{[]string{"--status", "failed"}, 1}, {[]string{"--status", "failed", "--group", "g2"}, 0}, {[]string{"--job", "evolve"}, 6}, {[]string{"--limit", "3"}, 3},
	} {
		doc := s.runAt(now, append([]string{"runs", "list", "--json"}, c.args...)...).want(t, 0).silent(t).document(t)
		if more := doc["more"] == true; more != (c.want == 3 && c.args[0] == "--limit") {
			t.Errorf("%v: more is %v", c.args, more)
		}
		if got := len(doc["runs"].(list)); got != c.want || doc["success"] != true {
			t.Errorf("%v: %d runs, want %d", c.args, got, c.want)
		}
	}
	s.runAt(now, "runs", "list", "--since", "3h", "--group", "g1").want(t, 0).shows(t, "no runs")
	s.run("runs", "list", "--group", "g1").want(t, 0).shows(t, "1h2m3s", "20:00  -", "2s")
	for _, c := range []struct {
		args  []string
		code  int
		words []string
	}{
		{[]string{"--job", "push"}, 2, []string{"push", "evolve"}}, {[]string{"--since", "yesterday"}, 2, []string{"yesterday", "midnight UTC", "24h"}},
		{[]string{"--since", "-1h"}, 2, []string{"-1h"}}, {[]string{"--since", "0d"}, 2, nil}, {[]string{"--since", "99999999999999d"}, 2, nil},
		{[]string{"--since", "2026-02-30"}, 2, nil}, {[]string{"--limit", "0"}, 2, []string{"--limit"}}, {[]string{"--limit", "9223372036854775807"}, 2, []string{"--limit"}}, {[]string{"--group", "nobody"}, 1, []string{"not found", "groups list"}},
	} {
		s.run(append([]string{"runs", "list"}, c.args...)...).want(t, c.code, c.words...)
	}
}

func TestRunsListJSON(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.exec(`update llm_calls set input_tokens = 500, output_tokens = 10, cost_usd = 0.125`)
	doc := s.run("runs", "list", "--json").want(t, 0).document(t)
	run := doc["runs"].(list)[0].(object)
	if diff := cmp.Diff(object{"calls": 2.0, "input_tokens": 1000.0, "output_tokens": 20.0, "cached_tokens": 0.0, "cost_usd": 0.25}, run["spend"]); diff != "" {
		t.Errorf("spend (-want +got):\n%s", diff)
	}
	for key, want := range map[string]any{"group_id": "g1", "job": "evolve", "status": "succeeded", "attempt": 1.0, "window_since": "time", "started_at": "time", "run_id": "id"} {
		if got := shape(run[key]); got != want {
			t.Errorf("%s is %v, want %v", key, run[key], want)
		}
	}
	shown := s.run("runs", "show", run["run_id"].(string), "--json").want(t, 0).document(t)
	if diff := cmp.Diff(run["spend"], shown["spend"]); diff != "" || shown["setback"] != nil {
		t.Errorf("runs show (-list +show):\n%s\nsetback %v", diff, shown["setback"])
	}
}

// TestRunsShowNext: what a run could not do comes with what to do about it, as
// things stand when somebody looks.
func TestRunsShowNext(t *testing.T) {
	t.Parallel()
	s := fiveRuns(t)
	s.exec(`delete from setbacks`)
	failed := s.one(`select run_id from runs where status = 'failed'`)
	first := s.one(`select run_id from runs where window_since = '2025-03-02T16:00:00Z'`)
	if n := s.one(`select count(*) from embedding_cache`); n != "0" {
		t.Errorf("%s vectors are cached that this process makes itself", n)
	}
	s.run("runs", "show", first).want(t, 0).shows(t, "2025-03-03 (2025-03-02 16:00 to 2025-03-03 16:00 UTC), attempt 1", "spend     1 call, ", " tokens in, ", "<0.0001 USD")
	show := func(words ...string) {
		t.Helper()
		s.run("runs", "show", failed).want(t, 0).silent(t).shows(t, append(words, "2025-03-08 12:00 to ", "unusable answer")...)
	}
	show("to do     1 message of the group pending", "`reverie evolve --group g1` at once")
	s.park("g1", 2, "null")
	show("next try after 2026-01-15 21:17 UTC", "`reverie groups resume g1`")
	s.exec(`update setbacks set failures = 5, parked_at = ` + parkedAt)
	show("fix the cause, then run `reverie groups resume g1`")
	doc := s.run("runs", "show", failed, "--json").want(t, 0).document(t)
	if setback, _ := doc["setback"].(object); setback["failures"] != 5.0 || setback["parked_at"] != "2026-01-15T20:17:00Z" {
		t.Errorf("the setback is %v", doc["setback"])
	}
	s.run("groups", "resume", "g1").want(t, 0)
	s.run("groups", "pause", "g1").want(t, 0)
	show("the group is paused: `reverie groups resume g1`")
	s.model.Respond(scribe(t))
	s.run("evolve", "--group", "g1").want(t, 0)
	show("nothing: no message of the group is pending any more")
	if o := s.run("runs", "show", first); strings.Contains(o.stdout, "to do") {
		t.Errorf("a run that succeeded leaves something to do:\n%s", o.stdout)
	}
	s.exec(`update runs set status = 'running', finished_at = null where run_id = $1`, first)
	s.run("runs", "show", first).want(t, 0).shows(t, "took -", "under way")
	s.exec(`update runs set undone_at = '2026-01-15T20:17:00Z' where run_id = $1`, failed)
	if o := s.run("runs", "show", failed).want(t, 0).shows(t, "undone    2026-01-15 20:17 UTC"); strings.Contains(o.stdout, "to do") {
		t.Errorf("an undone run leaves something to do:\n%s", o.stdout)
	}
	s.run("runs", "list").want(t, 0).shows(t, "failed, undone")
	s.run("runs", "show", "x").want(t, 1, "not found", "reverie runs list")
}

func TestRunsShowHeld(t *testing.T) {
	t.Parallel()
	s, run := held(t)
	s.run("runs", "show", run).want(t, 0).shows(t, "`reverie runs approve "+run+"`, or `reverie runs reject "+run+"`")
	s.run("runs", "reject", run).want(t, 0)
	if o := s.run("runs", "show", run).want(t, 0); strings.Contains(o.stdout, "runs approve") {
		t.Errorf("there is nothing to approve any more:\n%s", o.stdout)
	}
}
