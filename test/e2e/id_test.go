package e2e

import (
	"strings"
	"testing"

	"reverie/internal/llm/llmtest"
)

// TestIDPrefix: the beginning of an id does where the whole one would; one that several
// have lists them, and tables show that much.
func TestIDPrefix(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", chat("2025-03-03", "hello")...)
	s.bring("g2", chat("2025-03-03", "hello")...)
	const one, two, far = "0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a01", "0197f3a0-1c2d-7e40-9a4b-5c6d7e8f9a02", "0197ffff-1c2d-7e3f-8a4b-5c6d7e8f9a03"
	for id, text := range map[string]string{one: "Lin drinks tea", two: "Mia reads", far: "Bo swims"} {
		s.exec(`insert into memories (group_id, memory_id, lineage_id, kind, session_id, statement, version, status, tags, strength,
			weight, content_hash, created_at, updated_at, last_supported_at)
			values ('g1', $1, gen_random_uuid(), 'group', '', $2, 1, 'active', '{}', 0.5, 1, $2, now(), now(), now())`, id, text)
	}
	table := s.run("memory", "list", "--group", "g1").want(t, 0).stdout
	for _, c := range []struct{ shown, whole string }{{"0197f3a0-1c2d-7e3f  fact", one}, {"0197f3a0-1c2d-7e40  fact", two}, {"0197ffff-1c2d-7e3f  fact", far}} {
		if !strings.Contains(table, c.shown) || strings.Contains(table, c.whole) {
			t.Errorf("the table lacks %q, or has all of %s:\n%s", c.shown, c.whole, table)
		}
	}
	if json := s.run("memory", "list", "--group", "g1", "--json").want(t, 0).stdout; !strings.Contains(json, one) {
		t.Errorf("JSON lacks the whole id: %s", json)
	}
	for _, words := range [][]string{{"memory", "show"}, {"memory", "history"}, {"memory", "why"}, {"memory", "blame"}} {
		for _, prefix := range []string{"0197ffff", "0197FFFF-1", far} {
			if o := s.run(append(words, prefix)...).want(t, 0); !strings.Contains(o.stdout, "Bo") {
				t.Errorf("%q of %s: %s", words, prefix, o.stdout)
			}
		}
		s.run(append(words, "0197f3a0")...).want(t, 2, one, two, "Lin drinks tea", "give more")
		s.run(append(words, "0197fff")...).want(t, 2, "0197fff", "the first 8 characters") // too short to be taken for one
		s.run(append(words, "0197ffff", "--group", "g2")...).want(t, 1)
	}
	s.run("memory", "strength", "0197ffff", "0.8").want(t, 0)
	s.run("memory", "delete", "0197f3a0-1c2d-7e40").want(t, 0)
	s.run("memory", "delete", "0197f3a0").want(t, 2, one, two) // ended ones have their ids, too

	s.model.Script(llmtest.Lines(`{"action":"none"}`))
	s.run("evolve", "--group", "g1").want(t, 0)
	s.model.Script(llmtest.Lines(`{"action":"none"}`))
	s.run("evolve", "--group", "g1").want(t, 0)
	runs := s.run("runs", "list", "--group", "g1", "--json").want(t, 0).document(t)["runs"].(list)
	id := runs[0].(object)["run_id"].(string)
	if o := s.run("runs", "show", id[:8]).want(t, 0); !strings.Contains(o.stdout, id) {
		t.Errorf("the run by its beginning: %s", o.stdout)
	}
	if o := s.run("runs", "list", "--group", "g1").want(t, 0); strings.Contains(o.stdout, id) || !strings.Contains(o.stdout, id[:18]) {
		t.Errorf("the table of runs: %s", o.stdout)
	}
}

// TestNoGroup: the only group is taken where none is named, or that of REVERIE_GROUP; of
// several the error names some and says what to do.
func TestNoGroup(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run("memory", "list").want(t, 2, "a group is needed", "no group yet")
	s.bring("solo", chat("2025-03-03", "hello")...)
	s.run("memory", "add", "Lin drinks tea", "--reason", "she does").want(t, 0)
	if o := s.run("memory", "list").want(t, 0); !strings.Contains(o.stdout, "Lin drinks tea") {
		t.Errorf("listed %s", o.stdout)
	}
	exported := s.run("memory", "export").want(t, 0).stdout
	s.bring("duo", chat("2025-03-03", "hello")...)
	s.run("memory", "list").want(t, 2, "a group is needed", "duo, solo", "REVERIE_GROUP")
	s.run("evolve").want(t, 2, "a group is needed, or --due, or --all", "duo, solo")
	s.set("REVERIE_GROUP=solo")
	if o := s.run("memory", "list").want(t, 0); !strings.Contains(o.stdout, "Lin drinks tea") || o.stderr != "" {
		t.Errorf("listed %s%s", o.stdout, o.stderr)
	}
	if o := s.run("memory", "list", "--group", "duo").want(t, 0); strings.Contains(o.stdout, "Lin drinks tea") {
		t.Errorf("--group does not win: %s", o.stdout)
	}
	t.Run("elsewhere", func(t *testing.T) {
		there := newStage(t)
		there.feed(exported, "memory", "import").want(t, 0)
		m := there.run("memory", "list", "--json").want(t, 0).document(t)["memories"].(list)[0].(object)
		if m["statement"] != "Lin drinks tea" || m["origin"] != "person" {
			t.Errorf("imported %v", m)
		}
	})
}
