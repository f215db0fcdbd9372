package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/cmd/reverie/command"
	"reverie/internal/cli"
)

// runAt is run at an instant of the test's choice.
func (s *stage) runAt(now time.Time, args ...string) outcome {
	s.t.Helper()
	var out, errs words
	err := command.Run(s.t.Context(), cli.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: s.env, Columns: wide,
		Now: func() time.Time { return now }}, args...)
	return outcome{args, command.ExitCode(err, false), out.String(), errs.String()}
}

// shows fails the test where standard output lacks one of the words.
func (o outcome) shows(t *testing.T, words ...string) outcome {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(o.stdout, w) {
			t.Errorf("reverie %s: stdout lacks %q:\n%s", strings.Join(o.args, " "), w, o.stdout)
		}
	}
	return o
}

// park notes failures of a group's evolve; parked may be "null".
func (s *stage) park(group string, failures int, parked string) {
	s.t.Helper()
	s.exec(`insert into setbacks (group_id, job, failures, error, retry_at, parked_at, updated_at)
		values ($1, 'evolve', $2, 'the answer was no plan', '2026-01-15T21:17:00Z', `+parked+`, '2026-01-15T20:17:00Z')`, group, failures)
}

const parkedAt = `'2026-01-15T20:17:00Z'`

func TestGroupsAdd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_GROUP_TIME_ZONE=Asia/Tokyo", "REVERIE_GROUP_DAY_BOUNDARY=05:00", "REVERIE_GROUP_LANGUAGE=zh")
	s.run("groups", "list").want(t, 0).silent(t).shows(t, "no groups", "reverie import", "reverie groups add")
	made := object{"group_id": "g1", "name": "Game nights", "time_zone": "Asia/Shanghai", "language": "", "paused": false, "day_boundary": "04:00", "impressions": "", "session_silence": "", "dream_idle": "", "dream_sessions": "", "dream_interval": "", "team": "", "private": ""}
	s.run("groups", "add", "g1", "--name", "Game nights", "--time-zone", "Asia/Shanghai", "--day-boundary", "04:00", "--language", "", "--json").
		want(t, 0).silent(t).like(t, object{"success": true, "group": made})
	s.run("groups", "add", "--", "-1001234567890").want(t, 0).silent(t).shows(t, "-1001234567890: added, dates in Asia/Tokyo from 05:00")
	s.run("groups", "add", "g1").want(t, 1, "exists", "reverie groups set")
	if diff := cmp.Diff([]string{"-1001234567890||Asia/Tokyo|zh|05:00", "g1|Game nights|Asia/Shanghai||04:00"},
		s.rows(`select group_id, name, time_zone, language, day_boundary from groups order by 1`)); diff != "" {
		t.Error(diff)
	}
	s.feed("", "import", "-", "--group", "g2").want(t, 0)
	if got := s.one(`select time_zone, language, day_boundary from groups where group_id = 'g2'`); got != "Asia/Tokyo|zh|05:00" {
		t.Errorf("an import makes a group with %s", got)
	}
}

// TestGroupsList: a message of the small hours is of the date before where the
// date begins later than midnight.
func TestGroupsList(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.run("groups", "add", "a", "--name", "半格", "--time-zone", "Asia/Shanghai", "--day-boundary", "04:00").want(t, 0)
	s.feed(jsonLines(t, []chatLine{{ID: "1", Author: "Lin", Text: "note Lin drinks tea", SentAt: "2025-03-03T20:00:00+08:00"}}), "import", "-", "--group", "a").want(t, 0)
	s.run("evolve", "--group", "a").want(t, 0)
	s.feed(jsonLines(t, []chatLine{{ID: "2", Author: "Lin", Text: "hi", SentAt: "2025-03-05T03:59:00+08:00"}, {ID: "3", Author: "Lin", Text: "hi", SentAt: "2025-03-06T09:00:00+08:00"}}),
		"import", "-", "--group", "a").want(t, 0)
	s.run("groups", "add", "b", "--language", "en").want(t, 0)
	tr := &transcript{t: t, s: s, ids: map[string]string{}}
	tr.show("groups", "list")
	tr.show("groups", "list", "--group", "b")
	tr.show("groups", "list", "--limit", "1")
	tr.show("groups", "list", "--after", "a", "--limit", "1")
	tr.show("groups", "list", "--after", "b")
	tr.show("groups", "list", "--state", "paused")
	tr.show("groups", "list", "--group", "b", "--state", "paused")
	tr.show("groups", "list", "--group", "nobody")
	tr.golden("groups.txt")

	doc := s.run("groups", "list", "--limit", "1", "--json").want(t, 0).silent(t).document(t)
	run := doc["groups"].(list)[0].(object)["last_run"].(object)
	if run["status"] != "succeeded" || run["group_id"] != "a" {
		t.Errorf("the last run is %v", run)
	}
	delete(doc["groups"].(list)[0].(object), "last_run")
	if diff := cmp.Diff(object{"success": true, "next": "a", "groups": list{object{"group_id": "a", "name": "半格", "time_zone": "Asia/Shanghai", "language": "",
		"paused": false, "day_boundary": "04:00", "impressions": "", "session_silence": "", "dream_idle": "", "dream_sessions": "", "dream_interval": "", "team": "", "private": "", "state": "active", "pending": 2.0, "oldest_pending": "time", "active": 1.0}}}, shape(doc)); diff != "" {
		t.Error(diff)
	}
}

func TestGroupsParked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("parked", chat("2025-03-03", "hi", "ho")...)
	s.bring("well")
	s.bring("failing", chat("2025-03-03", "hi")...)
	s.bring("resting")
	s.park("parked", 5, parkedAt)
	s.park("failing", 1, "null")
	tr := &transcript{t: t, s: s, ids: map[string]string{}}
	tr.show("groups", "pause", "resting")
	tr.show("groups", "list")
	tr.show("groups", "list", "--state", "parked")
	tr.show("groups", "list", "--state", "active")
	tr.show("groups", "pause", "parked")
	tr.show("groups", "list", "--state", "paused")
	tr.show("groups", "resume", "parked")
	tr.show("groups", "resume", "failing")
	tr.show("groups", "resume", "resting")
	tr.show("groups", "resume", "well")
	tr.show("groups", "resume", "nobody")
	tr.golden("groups_parked.txt")
	if got := s.rows(`select group_id from setbacks union all select group_id from groups where paused`); len(got) != 0 {
		t.Errorf("%q are held up still", got)
	}

	s.park("parked", 5, parkedAt)
	entry := s.run("groups", "list", "--state", "parked", "--json").want(t, 0).document(t)["groups"].(list)[0].(object)
	setback := object{"job": "evolve", "failures": 5.0, "error": "the answer was no plan", "retry_at": "time", "parked_at": "time", "updated_at": "time"}
	if diff := cmp.Diff(list{setback}, shape(entry["setbacks"])); diff != "" || entry["state"] != "parked" {
		t.Errorf("state %v, setbacks (-want +got):\n%s", entry["state"], diff)
	}
	group := func(paused bool) object {
		return object{"group_id": "parked", "name": "", "time_zone": "Asia/Shanghai", "language": "", "paused": paused, "day_boundary": "00:00", "impressions": "", "session_silence": "", "dream_idle": "", "dream_sessions": "", "dream_interval": "", "team": "", "private": ""}
	}
	s.run("groups", "pause", "parked", "--json").want(t, 0).silent(t).like(t, object{"success": true, "group": group(true)})
	s.run("groups", "resume", "parked", "--json").want(t, 0).silent(t).like(t, object{"success": true, "group": group(false), "setbacks": list{setback}})
}

func TestDoctorNamesParkedGroups(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1")
	s.run("doctor", "--llm", "offline").want(t, 0).shows(t, "none is parked")
	for i := range 4 {
		id := fmt.Sprint("p", i)
		s.bring(id)
		s.park(id, 5, parkedAt)
	}
	s.run("doctor", "--llm", "offline").want(t, 1, "1 check failed").shows(t, "p0, p1, p2, and more", "reverie groups list --state parked")
}

// TestGroupsSet: a calendar changes from the next date on, once the group has
// nights behind it.
func TestGroupsSet(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2026-01-14", "note Lin drinks tea")...)
	now := time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC) // 18:00 in Shanghai
	set := func(args ...string) outcome {
		t.Helper()
		return s.runAt(now, append([]string{"groups", "set", "g1"}, args...)...).want(t, 0).silent(t)
	}
	set("--day-boundary", "04:00").shows(t, "g1: dates in Asia/Shanghai from 04:00, for all its dates: it had no run yet")
	set("--day-boundary", "04:00").shows(t, "nothing changed")
	set("--day-boundary", "00:00", "--json").like(t, object{"success": true, "group": object{"group_id": "g1", "name": "", "time_zone": "Asia/Shanghai",
		"language": "", "paused": false, "day_boundary": "00:00", "impressions": "", "session_silence": "", "dream_idle": "", "dream_sessions": "", "dream_interval": "", "team": "", "private": ""}})
	s.run("evolve", "--group", "g1").want(t, 0)
	set("--time-zone", "Europe/Berlin", "--name", "Tea").shows(t, `g1: name Tea`,
		"g1: dates in Europe/Berlin, applies from 2026-01-16 on; 2026-01-15 still ends at 2026-01-15 16:00 UTC")
	doc := set("--time-zone", "Asia/Tokyo", "--day-boundary", "02:30", "--json").document(t)
	if doc["applies_from"] != "2026-01-16" {
		t.Errorf("the reply is %v", doc)
	}
	set("--language", "zh").shows(t, "g1: language zh")
	set("--language", "").shows(t, "g1: language none")
	if o := s.run("groups", "list").want(t, 0); strings.Contains(o.stdout, "IMPRESSIONS") {
		t.Errorf("a column says of all groups that they are as configured:\n%s", o.stdout)
	}
	set("--impressions", "off").shows(t, "g1: impressions off\n")
	set("--impressions", "on").shows(t, "g1: impressions on\n")
	set("--impressions", "on").shows(t, "nothing changed")
	s.run("groups", "list").want(t, 0).shows(t, "IMPRESSIONS", "on")
	set("--impressions", "default").shows(t, "g1: impressions off, as configured\n")
	if o := s.run("groups", "list").want(t, 0); strings.Contains(o.stdout, "SILENCE") {
		t.Errorf("a column says of all groups that they are as configured:\n%s", o.stdout)
	}
	set("--session-silence", "45m").shows(t, "g1: session-silence 45m\n")
	set("--session-silence", "45m").shows(t, "nothing changed")
	s.run("groups", "list").want(t, 0).shows(t, "SILENCE", "45m")
	set("--session-silence", "default").shows(t, "g1: session-silence 30m, as configured\n")
	set("--dream-idle", "12h", "--dream-sessions", "5", "--dream-interval", "2h").shows(t, "g1: dream-idle 12h\n",
		"g1: dream-sessions 5\n", "g1: dream-interval 2h\n")
	set("--dream-sessions", "5").shows(t, "nothing changed")
	set("--dream-idle", "off", "--json").like(t, object{"success": true, "group": object{"group_id": "g1", "name": "Tea", "time_zone": "Asia/Tokyo", "language": "",
		"paused": false, "day_boundary": "02:30", "impressions": "", "session_silence": "", "dream_idle": "off", "dream_sessions": "5", "dream_interval": "2h", "team": "", "private": ""}})
	s.run("groups", "list").want(t, 0).shows(t, "DREAMS", "idle off, sessions 5, interval 2h")
	set("--dream-idle", "default", "--dream-sessions", "off", "--dream-interval", "default").shows(t, "g1: dream-idle 24h, as configured\n",
		"g1: dream-sessions off\n", "g1: dream-interval 1h, as configured\n")
	s.run("groups", "add", "g2", "--impressions", "off", "--session-silence", "2h", "--dream-idle", "off", "--dream-interval", "30m").want(t, 0)
	s.run("groups", "add", "g3", "--impressions", "default", "--session-silence", "default", "--dream-sessions", "default").want(t, 0)
	if diff := cmp.Diff([]string{"g1||||off|", "g2|off|2h|off||30m", "g3|||||"},
		s.rows(`select group_id, impressions, session_silence, dream_idle, dream_sessions, dream_interval from groups order by 1`)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Asia/Shanghai|00:00|2026-01-15 16:00"},
		s.rows(`select time_zone, day_boundary, to_char(valid_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI') from past_calendars`)); diff != "" {
		t.Error(diff)
	}
	s.run("groups", "list").want(t, 0).shows(t, "Asia/Tokyo from 02:30")
}

func TestGroupsUsage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1")
	before := s.dump()
	for _, c := range []struct {
		args  []string
		code  int
		words []string
	}{
		{[]string{"add"}, 2, []string{"id of a group is needed", "groups add --help"}},
		{[]string{"add", ""}, 2, []string{"empty"}},
		{[]string{"add", " "}, 2, []string{"empty"}},
		{[]string{"add", "my", "group"}, 2, []string{"one group is needed, not 2 arguments", "quote"}},
		{[]string{"add", strings.Repeat("g", 201)}, 2, []string{"1 to 200 bytes"}},
		{[]string{"add", "g\x00"}, 2, []string{"bytes of text"}},
		{[]string{"add", "-1001234"}, 2, []string{"unknown shorthand", "'reverie groups add -- -1001234'"}},
		{[]string{"pause", "-1001234"}, 2, []string{"'reverie groups pause -- -1001234'"}},
		{[]string{"add", "--jsn", "g2"}, 2, []string{"unknown flag: --jsn", "groups add --help"}},
		{[]string{"add", "g2", "--time-zone", "Mars/Olympus"}, 2, []string{"Mars/Olympus", "Asia/Shanghai"}},
		{[]string{"add", "g2", "--time-zone", "Local"}, 2, []string{"Local"}},
		{[]string{"add", "g2", "--day-boundary", "4am"}, 2, []string{"4am", "04:00"}},
		{[]string{"add", "g2", "--language", "fr"}, 2, []string{"fr", "zh"}},
		{[]string{"set", "g1"}, 2, []string{"there is nothing to set", "--time-zone"}},
		{[]string{"set", "g1", "--time-zone", ""}, 2, []string{"--time-zone is empty"}},
		{[]string{"set", "g1", "--day-boundary", "24:00"}, 2, []string{"24:00", "23:59"}},
		{[]string{"set", "g1", "--impressions", "yes"}, 2, []string{`impressions "yes"`, "write on or off"}},
		{[]string{"set", "g1", "--impressions", ""}, 2, []string{"--impressions is empty"}},
		{[]string{"add", "g2", "--impressions", "maybe"}, 2, []string{"write on or off"}},
		{[]string{"set", "g1", "--session-silence", "10s"}, 2, []string{`session silence "10s"`, "1m to 720h"}},
		{[]string{"set", "g1", "--session-silence", ""}, 2, []string{"--session-silence is empty"}},
		{[]string{"add", "g2", "--session-silence", "soon"}, 2, []string{"1m to 720h"}},
		{[]string{"set", "g1", "--dream-idle", "59s"}, 2, []string{`dream idle "59s"`, "write a duration from 1m to 8760h, such as 12h, or off"}},
		{[]string{"set", "g1", "--dream-idle", ""}, 2, []string{"--dream-idle is empty"}},
		{[]string{"set", "g1", "--dream-sessions", "0"}, 2, []string{`dream sessions "0"`, "write a number from 1 to 10000, or off"}},
		{[]string{"set", "g1", "--dream-sessions", "5h"}, 2, []string{"from 1 to 10000"}},
		{[]string{"set", "g1", "--dream-interval", "off"}, 2, []string{`dream interval "off"`, "write a duration from 1m to 8760h, such as 12h"}},
		{[]string{"add", "g2", "--dream-interval", "9000h"}, 2, []string{"1m to 8760h"}},
		{[]string{"set", "nobody", "--name", "x"}, 1, []string{"not found", "reverie groups list"}},
		{[]string{"pause", "nobody"}, 1, []string{"not found", "reverie groups add"}},
		{[]string{"resume", "nobody"}, 1, []string{"not found"}},
		{[]string{"list", "--state", "dead"}, 2, []string{"active, paused or parked"}},
		{[]string{"list", "--limit", "0"}, 2, []string{"--limit"}},
		{[]string{"list", "--group", ""}, 2, []string{"--group"}},
		{[]string{"list", "g1", "g2"}, 2, []string{"2 arguments given"}},
		{[]string{"list", "--group", "nobody"}, 1, []string{"not found"}},
		{[]string{"park", "g1"}, 2, []string{`unknown command "park"`}},
	} {
		if o := s.run(append([]string{"groups"}, c.args...)...).want(t, c.code, c.words...); o.stdout != "" {
			t.Errorf("%v: stdout is %q", c.args, o.stdout)
		}
	}
	if diff := cmp.Diff(before, s.dump()); diff != "" {
		t.Errorf("what was refused changed something:\n%s", diff)
	}
}

// TestResumeParked takes up all that are parked, and nothing else.
func TestResumeParked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, g := range []string{"g1", "g2", "g3", "g4"} {
		s.bring(g, chat("2025-03-03", "hello")...)
	}
	s.park("g1", 5, parkedAt)
	s.park("g2", 6, parkedAt)
	s.park("g3", 2, "null")
	s.run("groups", "pause", "g2").want(t, 0)
	s.run("groups", "resume", "g1", "--parked").want(t, 2)
	s.run("groups", "resume", "--parked").want(t, 0).shows(t, "2 parked groups resumed")
	if diff := cmp.Diff([]string{"g3|2"}, s.rows(`select group_id, failures from setbacks`)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"g2"}, s.rows(`select group_id from groups where paused`)); diff != "" {
		t.Error(diff)
	}
	doc := s.run("groups", "resume", "--parked", "--json").want(t, 0).document(t)
	if doc["success"] != true || doc["resumed"] != 0.0 {
		t.Errorf("the reply is %v", doc)
	}
}
