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
	s.bring("telegram-1", chat("2025-03-03", "hello", "note Mia plays chess")...)
	s.bring("telegram-2", chat("2025-03-03", "note Lin is allergic to peanuts", "hello")...)
	s.run("evolve", "--group", "telegram-1").want(t, 0)
	s.run("evolve", "--group", "telegram-2").want(t, 0)
	for i, group := range []string{"telegram-1", "telegram-2"} {
		s.exec(`delete from entity_names where group_id = $1`, group)
		s.member(group, 10*i+1, "person", "Lin", "lin")
		s.member(group, 10*i+2, "person", "Mia", "mia")
		s.member(group, 10*i+3, "person", "Ada", "ada")
	}
	fact := s.one(`select memory_id from memories where group_id = 'telegram-2' and statement like 'Lin %'`)
	hidden := func(o outcome) {
		t.Helper()
		if strings.Contains(o.stdout, "peanuts") {
			t.Errorf("it is shown:\n%s", o.stdout)
		}
	}
	search := func(args ...string) outcome {
		return s.run(append(append([]string{"memory", "search", "--group", "telegram-1"}, args...), "who is allergic to peanuts")...).want(t, 0)
	}
	hidden(search())
	s.run("entity", "link", "telegram-1/Lin", "telegram-2/lin").want(t, 0)
	hidden(search())
	s.run("memory", "scope", fact, "everybody").want(t, 2)
	s.run("memory", "scope", fact, "person", "--reason", "she agreed").want(t, 0).shows(t, "scope person")
	s.run("memory", "show", fact).want(t, 0).shows(t, "scope      person")
	search().shows(t, "Lin is allergic to peanuts", "telegram-2")
	search("--json").shows(t, `"from_group_id": "telegram-2"`)
	s.run("context", "--group", "telegram-1", "--query", "is Lin allergic to peanuts").want(t, 0).shows(t, "from group telegram-2")
	hidden(s.run("memory", "list", "--group", "telegram-1").want(t, 0))
	s.run("groups", "set", "telegram-2", "--private", "on").want(t, 0)
	hidden(search())
	s.run("groups", "set", "telegram-2", "--private", "off").want(t, 0)
	search().shows(t, "peanuts")
	s.run("entity", "unlink", "telegram-1/Lin", "telegram-2/Lin").want(t, 0)
	hidden(search())
}
