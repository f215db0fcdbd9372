package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// TestFeedbackCommand: an answer that used a memory raises it and lowers the others
// that were offered, once; memory why tells of it.
func TestFeedbackCommand(t *testing.T) {
	t.Parallel()
	s := newReader(t)
	s.set("REVERIE_RECALL_MIN_SIMILARITY=0.01")
	s.run("feedback", "--session", "s1", "--response", "Hello.").want(t, 0).silent(t).shows(t, "no memories were offered")
	s.run("context", "--group", "g1", "--session", "s1", "--query", "What of the projector, of peanuts, of 小组开会?").want(t, 0)
	answer := []string{"feedback", "--session", "s1", "--response", "The projector lives in the cupboard."}
	table := s.run(answer...).want(t, 0).silent(t).stdout
	lines(t, regexp.MustCompile(`yes   0\.[5-9]\d`).ReplaceAllString(table, "yes   n.nn"), `
STATEMENT                            USED  SCORE  WEIGHT
小组每周五晚上七点开会               no    0.00   0.98
The projector lives in the cupboard  yes   n.nn   1.10
Lin is allergic to peanuts           no    0.00   1.00
1 of 3 memories used
`)
	doc := s.feed("The meeting is on Friday.", "feedback", "--group", "g1", "--session", "s1", "--response", "-", "--json").want(t, 0).silent(t).document(t)
	if doc["known"] != true || doc["referenced"] != 1.0 || doc["usage_id"] != s.one(`select distinct usage_id from memory_usage_log`) {
		t.Errorf("reported again: %v", doc)
	}
	s.run(answer...).want(t, 0).shows(t, "nothing has moved")
	if diff := cmp.Diff([]string{"0.98", "1", "1.1"}, s.rows(`select weight from memories order by 1`)); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	s.run("memory", "why", s.head("The projector lives in the cupboard")).want(t, 0).shows(t, "offered to readers 1 time", "1 answer used it, 0 did not")

	s.run("groups", "add", "g2").want(t, 0)
	s.exec(`insert into memory_usage_log select 'g2', usage_id, memory_id, lineage_id, session_id, query, position, score, similarity, weight, strength, recency,
		null, null, null, created_at, null from memory_usage_log where position = 1`)
	s.run(answer...).want(t, 2, "the groups are g1, g2")
	s.run(append(answer, "--group", "nobody")...).want(t, 1, "groups list")
	s.run("feedback", "--response", "Hello.").want(t, 2, "--session")
	s.run("feedback", "--session", "s1").want(t, 2, "--response")
	s.run("feedback", "--session", "s1", "--group", "g1", "--response", "  ").want(t, 2, "empty")
	s.run("feedback", "--group", "g1", "--session", "s9", "--response", "Hello.").want(t, 1, `session "s9" not found`)
	s.run("feedback", "--group", "g1", "--usage", "5e0ff7a5-0000-4000-8000-000000000000", "--response", "Hello.").want(t, 1, "not found")
	s.feed(strings.Repeat("x", reverie.MaxMessageTextLength+1), "feedback", "--group", "g1", "--session", "s1", "--response", "-").want(t, 2, "the answer on standard input has more than 1048576 bytes")
}

// lines compares what was printed with what should be, line by line.
func lines(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(strings.TrimPrefix(want, "\n"), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}
