package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// ruling is a line of an answer to how a fact stands to a memory.
type ruling struct {
	ID        string `json:"id"`
	Reason    string `json:"reason"`
	Relation  string `json:"relation"`
	Statement string `json:"statement,omitempty"`
}

// judge is the scribe, who is also asked to compare: by fact and memory, as they
// are written. What is not named is unrelated.
func judge(t testing.TB, rulings map[[2]string]ruling) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer {
		var q struct {
			Fact       struct{ Statement string }
			Candidates []struct{ ID, Statement string }
		}
		if err := json.Unmarshal([]byte(r.User[max(strings.IndexByte(r.User, '{'), 0):]), &q); err != nil || q.Fact.Statement == "" {
			return llmtest.Text(transcribe(t, r))
		}
		var lines []string
		for _, c := range q.Candidates {
			v, ok := rulings[[2]string{q.Fact.Statement, c.Statement}]
			if !ok {
				v = ruling{Reason: "another subject", Relation: "unrelated"}
			}
			v.ID = c.ID
			raw, err := json.Marshal(v)
			if err != nil {
				t.Error(err)
			}
			lines = append(lines, string(raw))
		}
		return llmtest.Lines(lines...)
	}
}

// eventful makes a group whose memories have been through a lot: what was
// decided, what supported them, and what a person did.
func eventful(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_DECIDE_COMPARE_SHOWN=true", "REVERIE_DECIDE_CANDIDATE_TOP_K=1",
		"REVERIE_DECIDE_CANDIDATE_MIN_SCORE=0.05")
	s.model.Respond(judge(t, map[[2]string]ruling{
		{"Lin drinks green tea", "Lin drinks tea"}:                                            {Reason: "the fact says which tea", Relation: "update", Statement: "Lin drinks tea, most of all green tea"},
		{"The group now meets on Saturdays", "The group meets on Fridays"}:                    {Reason: "another day", Relation: "conflict"},
		{"Green tea is what Lin drinks most of all", "Lin drinks tea, most of all green tea"}: {Reason: "the same in other words", Relation: "duplicate"},
	}))
	for _, day := range [][]string{
		{"2025-03-03", "note Lin drinks tea", "note The group meets on Fridays", "note Bo takes the minutes"},
		{"2025-03-04", "note Lin drinks green tea", "note The group now meets on Saturdays"},
		{"2025-03-05", "note Green tea is what Lin drinks most of all"},
		{"2025-03-06", "note lin drinks tea -- most of all, GREEN tea!"},
	} {
		s.bring("g1", chat(day[0], day[1:]...)...)
		s.run("evolve", "--group", "g1").want(t, 0)
	}
	head := s.head("Lin drinks tea, most of all green tea")
	s.run("memory", "strength", head, "0.9", "--reason", "everybody knows").want(t, 0)
	s.run("memory", "delete", head, "--reason", "too private").want(t, 0)
	s.run("memory", "restore", head).want(t, 0)
	return s
}

// head is the id of the newest version that says a statement.
func (s *stage) head(statement string) string {
	s.t.Helper()
	return s.one(`select memory_id from memories where statement = $1 order by version desc limit 1`, statement)
}

var scorePattern = regexp.MustCompile(`(?m)^      [01]\.[0-9][0-9]  `)

// TestMemoryWhy: the page of each kind of memory, as a person reads it. Scores
// are the embedder's, and left out.
func TestMemoryWhy(t *testing.T) {
	t.Parallel()
	s := eventful(t)
	tr := &transcript{t: t, s: s, ids: map[string]string{}}
	first := s.one(`select memory_id from memories where statement = 'Lin drinks tea'`)
	tr.show("memory", "why", first)
	tr.show("memory", "why", s.head("The group now meets on Saturdays"))
	tr.show("memory", "why", s.head("The group meets on Fridays"))
	text := scorePattern.ReplaceAllString(tr.text.String(), "      0.nn  ")
	tr.text.Reset()
	tr.text.WriteString(text)
	tr.golden("why.txt")
	s.run("memory", "why", first, "--group", "other").want(t, 1, "reverie memory list")
	s.run("memory", "why", "Lin drinks tea").want(t, 1, "reverie memory list")
	s.run("memory", "why").want(t, 2)
}

// TestMemoryWhyJSON: what a program reads names the run, the messages, the
// decision with its candidates, and what came later.
func TestMemoryWhyJSON(t *testing.T) {
	t.Parallel()
	s := eventful(t)
	doc := s.run("memory", "why", s.one(`select memory_id from memories where statement = 'Lin drinks tea'`), "--json").want(t, 0).document(t)
	if doc["success"] != true || doc["group_id"] != "g1" || doc["memory"].(object)["version"] != 3.0 {
		t.Errorf("it is %v", doc)
	}
	versions := doc["versions"].(list)
	second := versions[1].(object)
	run := second["run"].(object)
	if got := s.one(`select run_id from memories where version = 2`); run["run_id"] != got || run["model"] == "" || run["prompt_version"] == "" {
		t.Errorf("the run is %v, want %s with model and prompt", run, got)
	}
	if e := second["evidence"].(list)[0].(object); e["message_id"] != "2025-03-04-1" || e["author"] != "Lin" || e["quote"] != "Lin drinks green tea" {
		t.Errorf("the evidence is %v", e)
	}
	var decisions []string
	for _, d := range second["decisions"].(list) {
		line := d.(object)["action"].(string) + " " + d.(object)["basis"].(string)
		for _, c := range d.(object)["candidates"].(list) {
			line += " " + c.(object)["relation"].(string) + " " + c.(object)["statement"].(string)
		}
		decisions = append(decisions, line)
	}
	if diff := cmp.Diff([]string{"UPDATE compared update Lin drinks tea",
		"NONE compared duplicate Lin drinks tea, most of all green tea", "NONE hash"}, decisions); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	var later []string
	for _, l := range second["later"].(list) {
		later = append(later, l.(object)["action"].(string))
	}
	if diff := cmp.Diff([]string{"keep", "keep", "strength", "delete"}, later); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
	third := versions[2].(object)
	if _, has := third["run"]; has || third["action"] != "restore" || len(third["decisions"].(list)) != 0 {
		t.Errorf("the restored version is %v", third)
	}
}

// TestMemoryWhyIsSafe: what chats and models wrote cannot drive a terminal.
func TestMemoryWhyIsSafe(t *testing.T) {
	t.Parallel()
	s := eventful(t)
	s.exec(`update decisions set reason = E'\x1b[31mred', statement = E'a\nb', model = E'\x1bm', prompt_version = E'\x1b',
		candidates = jsonb_build_array(jsonb_build_object('memory_id', E'\x1b', 'statement', E'\x1b', 'relation', E'\x1b', 'reason', E'\x1b', 'merged', E'\x1b'))`)
	s.exec(`update memory_evidence set author = E'\x1b]0;owned', quote = E'\x1b[2J'`)
	s.exec(`update memory_change_log set change_summary = E'\x1b[1m'`)
	s.exec(`update runs set model = E'\x1b', prompt_version = E'\x1b'`)
	o := s.run("memory", "why", s.one(`select memory_id from memories where version = 2`)).want(t, 0)
	if strings.Contains(o.stdout, "\x1b") || strings.Contains(o.stdout, "a\nb") {
		t.Errorf("stdout is %q", o.stdout)
	}
}
