package e2e

import (
	"slices"
	"strings"
	"testing"

	"reverie/internal/cli"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// said is what g1 remembers.
func said(s *stage) []string {
	return s.rows(`select statement from memories where group_id = $1 and status = 'active'`, "g1")
}

// TestMemoryByHand: a person adds a memory, gives it other words and reads it on one page;
// what breaks a rule, says what is said, or names an old version is refused with a reason.
func TestMemoryByHand(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", chat("2025-03-03", "hello")...)
	s.set("USER=ann")
	add := func(statement string, more ...string) outcome {
		return s.run(append([]string{"memory", "add", "--group", "g1", statement, "--reason", "she said so", "--json"}, more...)...)
	}
	m := add("Lin is allergic to peanuts", "--tag", "food", "--tag", "health").want(t, 0).silent(t).document(t)
	if m["author"] != "ann" || m["origin"] != "person" || m["type"] != "fact" || m["version"] != 1.0 || m["status"] != "active" {
		t.Fatalf("added %v", m)
	}
	id := m["memory_id"].(string)
	add("lin is allergic to PEANUTS.").want(t, 1, id, "says this already")
	add("Our token is ghp_abcdefghijklmnopqrstuvwxyz0123456789").want(t, 2, "secret")
	add("It is all at https://example.com/menu").want(t, 2, "link")
	s.run("memory", "add", "--group", "g1", "Lin reads").want(t, 2, "--reason is needed")
	s.run("memory", "add", "--group", "nobody", "Lin reads", "--reason", "r").want(t, 1, "nobody")

	edit := func(id string, more ...string) outcome {
		return s.run(append([]string{"memory", "edit", id, "--reason", "precise", "--author", "Bo", "--json"}, more...)...)
	}
	e := edit(id, "Lin is allergic to peanuts and cashews").want(t, 0).silent(t).document(t)
	head := e["memory_id"].(string)
	if e["author"] != "Bo" || e["version"] != 2.0 || e["parent_id"] != id || len(e["tags"].(list)) != 2 {
		t.Errorf("edited %v", e)
	}
	edit(id, "Lin eats").want(t, 1, head, "version 2")
	edit(head).want(t, 2, "nothing is written")
	edit(head, "--tag", "food", "--tag", "health").want(t, 1, "like this already")
	if page := s.run("memory", "show", head).want(t, 0).silent(t).stdout; !strings.Contains(page, "food, health") {
		t.Errorf("the page lacks the tags:\n%s", page)
	}
	plan := edit(head, "--due", "2026-03-01", "--tag", "").want(t, 0).document(t)
	if plan["type"] != "plan" || !strings.HasPrefix(plan["due_on"].(string), "2026-03-01") || len(plan["tags"].(list)) != 0 {
		t.Errorf("the plan %v", plan)
	}
	if list := said(s); len(list) != 1 || list[0] != "Lin is allergic to peanuts and cashews" {
		t.Errorf("remembered %q", list)
	}

	shown := s.run("memory", "show", plan["memory_id"].(string), "--json").want(t, 0).silent(t).document(t)
	history := shown["history"].(list)
	if len(history) != 3 || history[0].(object)["author"] != "ann" || history[1].(object)["change_summary"] != "precise" ||
		len(shown["evidence"].(list)) != 0 || shown["memory"].(object)["memory_id"] != plan["memory_id"] {
		t.Errorf("shown %v", shown)
	}
	page := s.run("memory", "show", id).want(t, 0).silent(t).stdout
	for _, words := range []string{"Lin is allergic to peanuts and cashews", "plan, due 2026-03-01", "created by ann", "rewritten by Bo",
		"why: precise", "Bo wrote it"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page lacks %q:\n%s", words, page)
		}
	}
	for line := range strings.Lines(page) {
		if cli.Width(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("wider than 80 columns: %q", line)
		}
	}
	s.run("memory", "delete", plan["memory_id"].(string), "--reason", "over").want(t, 0)
	s.run("memory", "restore", plan["memory_id"].(string)).want(t, 0)
	if m := s.run("memory", "list", "--group", "g1", "--json").want(t, 0).document(t)["memories"].(list)[0].(object); m["origin"] != "person" {
		t.Errorf("restored %v", m)
	}
	s.run("audit").want(t, 0)
}

// TestPersonsMemoryAtNight: a model that quotes nothing does not overwrite what a person
// wrote, and one that quotes a new message does.
func TestPersonsMemoryAtNight(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", chat("2025-03-03", "The club moves to Tuesdays from now on", "See you there")...)
	s.run("memory", "add", "--group", "g1", "The club meets on Mondays", "--reason", "the poster", "--author", "Ann").want(t, 0)
	for _, fact := range []string{"Lin drinks tea", "Mia reads a lot", "Bo swims in the lake"} { // all but one stay
		s.run("memory", "add", "--group", "g1", fact, "--reason", "known").want(t, 0)
	}
	answer := func(evidence string) string {
		return `{"action":"update","old_id":"m1","statement":"The club meets on Tuesdays","change_reason":"moved","evidence":[` + evidence + `]}`
	}
	s.model.Script(llmtest.Lines(answer(`{"message":1}`), `{"action":"keep","old_id":"m2"}`))
	o := s.run("evolve", "--group", "g1", "--json").document(t)
	refusals := o["refusals"].(list)
	if r := refusals[0].(object); r["rule"] != "by_person" || !strings.Contains(r["detail"].(string), "Ann") {
		t.Errorf("refused %v", refusals)
	}
	if list := said(s); len(list) != 4 || !slices.Contains(list, "The club meets on Mondays") {
		t.Errorf("remembered %q", list)
	}
	s.bring("g1", chat("2025-03-04", "The club moves to Tuesdays from now on", "See you there")...)
	s.model.Script(llmtest.Lines(answer(`{"message":1,"quote":"The club moves to Tuesdays"}`)))
	s.run("evolve", "--group", "g1").want(t, 0)
	m := s.run("memory", "list", "--group", "g1", "--json").want(t, 0).document(t)["memories"].(list)[0].(object)
	if m["statement"] != "The club meets on Tuesdays" || m["origin"] != string(reverie.WriterModel) || m["author"] != nil {
		t.Errorf("remembered %v", m)
	}
}
