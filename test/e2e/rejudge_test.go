package e2e

import (
	"strings"
	"testing"
)

// TestJudgeAgain forgets one of two who said a thing, with the offline model: the memory
// is held and says so, and the next night what is left brings it back.
func TestJudgeAgain(t *testing.T) {
	s := newStage(t)
	s.set("REVERIE_LLM_PROVIDER=offline", "REVERIE_EMBED_PROVIDER=offline")
	s.bring("g1", chat("2025-03-03", "The group plays badminton every Thursday evening at the riverside gym", "Yes, badminton every Thursday evening at the riverside gym",
		"The zine deadline is February 20, bring your photos", "right, the zine deadline is February 20")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	if n := s.one(`select count(*) from memories where status = 'active'`); n != "2" {
		t.Fatalf("the night came to %s memories: %q", n, s.rows(`select statement from memories`))
	}
	s.run("erase", "--author", "mia", "--group", "g1", "--yes").want(t, 0)
	id := s.one(`select memory_id from memories where status = 'held' and statement like '%badminton%'`)
	for _, words := range [][]string{{"memory", "list", "--group", "g1", "--status", "held"}, {"memory", "why", id}} {
		if out := s.run(words...).want(t, 0).stdout; !strings.Contains(out, "; it is judged again in the next run") {
			t.Errorf("%q does not say why it is held:\n%s", words, out)
		}
	}
	s.exec(`update messages set text = 'nothing of the kind' where text like 'The zine%'`)
	s.run("evolve", "--group", "g1").want(t, 0)
	for query, want := range map[string]string{
		`select statement || ' v' || version from memories where status = 'active'`:                                  "The group plays badminton every Thursday evening at the riverside gym v2",
		`select count(*) from memories where status = 'held'`:                                                        "0",
		`select count(*) from messages where run_id is null`:                                                         "0",
		`select change_summary like '%judged again: evidence erased' from memory_change_log where action = 'delete'`: "true",
	} {
		if got := s.one(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if out := s.run("evolve", "--group", "g1").want(t, 0).stdout; !strings.Contains(out, "no new messages") {
		t.Errorf("the night after:\n%s", out)
	}
}
