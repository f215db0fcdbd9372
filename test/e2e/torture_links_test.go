//go:build torture

package e2e

import "fmt"

const peanutFact = `select memory_id from memories where group_id = 'telegram-2' and statement like '% peanuts' and status = 'active'`

// acquaintedPast is two groups with three people each, of whom Lin has said what may reach the other.
func acquaintedPast(s *stage) {
	s.set(impressionsOn)
	for group, said := range map[string]string{"telegram-1": "note Lin plays chess", "telegram-2": "note Lin is allergic to peanuts"} {
		lines := chat("2025-03-03", "self city Porto", "self city Lisbon", said, "hello", "self city Faro")
		lines[4].Author, lines[4].AuthorID = "Ada", "ada"
		s.bring(group, lines...)
	}
	s.run("evolve", "--due").want(s.t, 0)
	s.run("memory", "scope", s.one(peanutFact), "person", "--reason", "she agreed").want(s.t, 0)
}

// linkedPast is acquaintedPast, with both Lins linked.
func linkedPast(s *stage) {
	acquaintedPast(s)
	s.run(acquainted("link")(s)...).want(s.t, 0)
}

func acquainted(verb string) func(*stage) []string {
	return invocation("entity", verb, "telegram-1/Lin", "telegram-2/Lin")
}

// peanuts is who is shown what Lin said in telegram-2.
func peanuts(s *stage) (rows []string) {
	for _, group := range []string{"telegram-1", "telegram-2"} {
		found := s.run("memory", "search", "--group", group, "--json", "who is allergic to peanuts").want(s.t, 0)
		rows = append(rows, fmt.Sprintf("%s sees it: %t", group, shows([]string{found.stdout}, "allergic to peanuts\"")))
	}
	return rows
}
