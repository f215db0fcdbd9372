package e2e

import (
	"strings"
	"testing"
)

// TestScopes: what somebody said of themselves in one group is found in another, from the link on and
// no longer than that.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", impressionsOn)
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "hello", "note Mia plays chess")...)
	s.bring("g2", chat("2025-03-03", "note Lin is allergic to peanuts", "hello")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.run("evolve", "--group", "g2").want(t, 0)
	for i, group := range []string{"g1", "g2"} {
		s.exec(`delete from entity_names where group_id = $1`, group)
		s.member(group, 10*i+1, "person", "Lin", "lin")
		s.member(group, 10*i+2, "person", "Mia", "mia")
	}
	fact := s.one(`select memory_id from memories where group_id = 'g2' and statement like 'Lin %'`)
	hidden := func(o outcome) {
		t.Helper()
		if strings.Contains(o.stdout, "peanuts") {
			t.Errorf("it is shown:\n%s", o.stdout)
		}
	}
	search := func(args ...string) outcome {
		return s.run(append(append([]string{"memory", "search", "--group", "g1"}, args...), "who is allergic to peanuts")...).want(t, 0)
	}
	hidden(search())
	s.run("entity", "link", "g1/Lin", "g2/lin").want(t, 0)
	hidden(search())
	s.run("memory", "scope", fact, "everybody").want(t, 2)
	s.run("memory", "scope", fact, "person", "--reason", "she agreed").want(t, 0)
	search().shows(t, "Lin is allergic to peanuts", "g2")
	search("--json").shows(t, `"from_group_id": "g2"`)
	s.run("context", "--group", "g1", "--query", "is Lin allergic to peanuts").want(t, 0).shows(t, "from group g2")
	hidden(s.run("memory", "list", "--group", "g1").want(t, 0))
	s.run("groups", "set", "g2", "--private", "on").want(t, 0)
	hidden(search())
	s.run("groups", "set", "g2", "--private", "off").want(t, 0)
	search().shows(t, "peanuts")
	s.run("entity", "unlink", "g1/Lin", "g2/Lin").want(t, 0)
	hidden(search())
}
