package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSessions shows what sessions hold: named ones and such as are cut by silence,
// how far they are from being due, and what has become of their turns.
func TestSessions(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_SHORT_TERM_MAX_ITEMS=2", "REVERIE_SHORT_TERM_COMPRESSION_THRESHOLD=4", "REVERIE_SHORT_TERM_EXPIRE_AFTER=0s")
	s.run("sessions", "list").want(t, 0).shows(t, "no sessions")
	s.bring("g1", spoken("s1", evening, "note Lin drinks tea", "two", "three")...)
	s.bring("g1", spoken("", evening, "hello")...)
	s.bring("g1", spoken("", evening.Add(31*time.Minute), "hello again")[:1]...)
	cut, later := s.one(`select min(session_id) from sessions where cut`), s.one(`select max(session_id) from sessions where cut`)
	if cut == later || !strings.HasPrefix(cut, "cut-20250303T120000Z-") {
		t.Fatalf("the sessions without a name are %s and %s", cut, later)
	}
	s.run("sessions", "list", "--group", "g1").want(t, 0).silent(t).shows(t, "SESSION", "3 turns", "1 message, ", cut, later)
	doc := s.run("sessions", "list", "--waiting", "--limit", "1", "--json").want(t, 0).document(t)
	first := doc["sessions"].(list)[0].(object)
	if doc["total"] != 3.0 || first["session_id"] != later || first["cut"] != true || first["due"] != false || first["asking"] != true || first["new"].(object)["messages"] != 1.0 {
		t.Errorf("the list is %v", doc)
	}
	s.run("sessions", "list", "--limit", "1").want(t, 0).shows(t, "1 to 1 of 3; go on with --offset 1")
	s.run("sessions", "show", "s1").want(t, 0).silent(t).shows(t, "s1  of g1\n", "3 of 5 turns, ", " of 12,000 tokens, 0 of 24 tool calls", "word for word", "Lin: note Lin drinks tea", "Bot (assistant): All right")
	s.run("sessions", "show", later).want(t, 0).shows(t, "cut by silence", "the newest question has no answer yet")

	s.bring("g1", spoken("s1", evening.Add(10*time.Minute), "four", "note Mia hosts the game nights")...)
	s.run("sessions", "show", "s1").want(t, 0).shows(t, "due        now: 5 of 5 turns")
	s.run("extract", "--session", "s1").want(t, 0).shows(t, "6 folded", "folded  3 turns, 6 messages, from 2025-03-03 12:00 to 2025-03-03 12:02 UTC")
	o := s.run("sessions", "show", "s1", "--group", "g1").want(t, 0).silent(t).shows(t, "waits      nothing", "due        0 of 5 turns", "extracted  1 time, up to 2025-03-03 12:11 UTC",
		"facts\n  Lin drinks tea", "rolling summary  covers 3 turns, 6 messages", "\n  note Lin drinks tea / two / three\n", "Lin: four")
	if strings.Contains(o.stdout, "Lin: two") {
		t.Errorf("what is folded stands word for word, too:\n%s", o.stdout)
	}
	four := s.one(`update messages set text = '', pruned_at = now() where text = 'four' returning message_id`)
	s.run("sessions", "show", "s1").want(t, 0).shows(t, "Lin: (text pruned, or none)")
	s.exec(`update messages set text = 'four', pruned_at = null where message_id = '` + four + `'`)
	shown := s.run("sessions", "show", "s1", "--json").want(t, 0).document(t)
	if len(shown["verbatim"].(list)) != 4 || len(shown["facts"].(list)) != 2 || shown["rolling_summary"].(object)["turns"] != 3.0 ||
		shown["summary"].(object)["version"] != 1.0 || shown["session"].(object)["extractions"] != 1.0 {
		t.Errorf("the session is %v", shown)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"show", "nobody"}, 1, "reverie sessions list"},
		{[]string{"show"}, 2, "usage is: reverie sessions show SESSION"},
		{[]string{"show", "s1", "--group", ""}, 2, "--group is empty"},
		{[]string{"list", "--limit", "0"}, 2, "--limit"},
		{[]string{"list", "--offset", "-1"}, 2, "--offset"},
		{[]string{"list", "--group", "nobody"}, 1, "reverie groups list"},
	} {
		s.run(append([]string{"sessions"}, c.args...)...).want(t, c.code, c.says)
	}
}

// TestDaemonOfThreeJobs: each job of [schedule] is started, with its own counts, and
// on one group they wait for each other.
func TestDaemonOfThreeJobs(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.bring("g1", spoken("s1", evening, "note Lin drinks tea", "two", "three", "four", "five")...)
	p, address := s.daemon("REVERIE_SCHEDULE_EXTRACT=8 3 1 1 *", "REVERIE_SCHEDULE_MAINTAIN=9 3 1 1 *")
	p.says(`"msg":"task done"`, 3)
	_, metrics := get(t, address+"/metrics")
	for _, want := range []string{`reverie_runs_total{job="evolve",outcome="succeeded"} 1`, `reverie_runs_total{job="extract",outcome="succeeded"} 1`,
		`reverie_groups_total{job="evolve",outcome="skipped"} 0`, `reverie_groups_total{job="extract",outcome="skipped"} 0`, `reverie_windows_behind{job="extract"} 0`,
		`reverie_phase_seconds_count{job="extract",phase="propose"} 1`, `reverie_changes_total{action="archive",job="maintain"} `} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	o := p.stop()
	var ended []string
	for _, line := range o.logOf(t) {
		if line["msg"] == "run ended" && line["job"] == "extract" {
			ended = append(ended, line["group_id"].(string)+" "+line["session_id"].(string))
		}
	}
	if diff := cmp.Diff([]string{"g1 s1"}, ended); diff != "" {
		t.Errorf("runs of extraction in the log (-want +got):\n%s\n%s", diff, o.stderr)
	}
}

// TestSessionsClear: after it a session's context begins anew, also after an erasure of
// somebody else's words; messages, memories and what waits for extraction are there still.
func TestSessionsClear(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_SHORT_TERM_MAX_ITEMS=2", "REVERIE_SHORT_TERM_COMPRESSION_THRESHOLD=4", "REVERIE_SHORT_TERM_EXPIRE_AFTER=0s")
	s.bring("g1", spoken("s1", evening, "note Lin drinks tea", "two", "three", "four", "five")...)
	s.run("extract", "--session", "s1").want(t, 0).shows(t, "6 folded")
	s.bring("g1", spoken("s1", evening.Add(10*time.Minute), "six")...)
	talk := func() string {
		return s.run("context", "--group", "g1", "--session", "s1", "--query", "What does Lin drink?").want(t, 0).stdout
	}
	if told := talk(); !strings.Contains(told, "six") || !strings.Contains(told, "two / three") {
		t.Fatalf("before it is cleared, the context is\n%s", told)
	}
	rows := func() []string {
		return s.rows(`select (select count(*) from messages), (select count(*) from memories where status = 'active'), new_messages from sessions`)
	}
	before := rows()
	s.run("sessions", "clear", "s1", "--group", "g1").want(t, 0).silent(t).shows(t, "g1  s1: cleared of 12 messages")
	_, base := s.serve(nil, "serve")
	reply, err := ask[map[string]any](t.Context(), "DELETE", base+"/v1/groups/g1/sessions/s1/buffer", nil)
	if diff := cmp.Diff(map[string]any{"success": true, "group_id": "g1", "session_id": "s1", "cleared": 0.0}, reply); err != nil || diff != "" {
		t.Errorf("cleared again: %v, %s", err, diff)
	}
	if diff := cmp.Diff(before, rows()); diff != "" {
		t.Error(diff)
	}
	if told := talk(); strings.Contains(told, "reverie_session>") || !strings.Contains(told, "Lin drinks tea") {
		t.Errorf("once it is cleared, the context is\n%s", told)
	}
	s.bring("g1", spoken("s1", evening.Add(20*time.Minute), "seven")...)
	s.bring("g1", chatLine{ID: "mia", AuthorID: "mia", Author: "Mia", Text: "I only look in", SentAt: "2025-03-03T20:40:00+08:00", SessionID: "s1"})
	s.run("erase", "--author", "mia", "--group", "g1", "--yes").want(t, 0)
	if told := talk(); !strings.Contains(told, "seven") || strings.Contains(told, "six") || strings.Contains(told, "two") {
		t.Errorf("after an erasure, the context is\n%s", told)
	}
	s.run("audit").want(t, 0)
	s.run("sessions", "clear", "s9", "--group", "g1").want(t, 1, `session "s9" of group "g1" not found`, "reverie sessions list")
	if _, err := ask[any](t.Context(), "DELETE", base+"/v1/groups/g1/sessions/s9/buffer", nil); err != statusError(404) {
		t.Errorf("an unknown session is %v", err)
	}
}
