//go:build torture

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"reverie/internal/fault"
)

const peanutFact = `select memory_id from memories where group_id = 'telegram-2' and statement like '% peanuts' and status = 'active'`

// oneEnd is said of a link that stands in one of its groups.
const oneEnd = "violated: links have two ends"

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

// linksComeAndGo has processes link, unlink, share and keep what somebody said, some of whom are killed in the middle,
// while others search. Between two of them nobody is shown what may not reach the group, and all are shown what may.
var linksComeAndGo = &ordeal{name: "links that come and go", run: func(t *testing.T, o *ordeal) {
	rounds := 80
	if testing.Short() {
		rounds = 8
	}
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	linkedPast(s)
	fact := s.one(peanutFact)
	base := s.searched("")
	random := seeded(tortureSeed(t))
	var even, reads atomic.Int64 // counts changes, and is odd during one
	var reach atomic.Bool
	reach.Store(true)
	var readers sync.WaitGroup
	over, end := context.WithCancel(t.Context())
	for range 3 {
		readers.Go(func() {
			for over.Err() == nil {
				at, may := even.Load(), reach.Load()
				seen, err := s.seesPeanuts(base)
				if err == nil && at%2 == 0 && at == even.Load() {
					if reads.Add(1); seen != may {
						t.Errorf("after %d changes: it is seen: %t, and may be: %t", at, seen, may)
					}
				} else if err != nil && over.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for range rounds {
		words := [][]string{acquainted("link")(s), acquainted("unlink")(s), {"memory", "scope", fact, "person", "--reason", "r"}, {"memory", "scope", fact, "group", "--reason", "r"},
			{"groups", "set", "telegram-2", "--private", "on"}, {"groups", "set", "telegram-2", "--private", "off"}, acquainted("link")(s)}[random.IntN(7)]
		even.Add(1)
		at := 1 + random.IntN(60)
		if out, _ := s.linked(words, nil, func(p *process, n int) verdict {
			if n == at {
				p.kill()
			}
			return pass
		}); out.code < 0 {
			o.strikes(1)
		}
		reach.Store(s.one(`select (select count(*) from entity_links) = 2 and exists (select 1 from memory_scopes where scope = 'person')
			and exists (select 1 from groups where group_id = 'telegram-2' and private <> 'on')`) == "true")
		even.Add(1)
		from := reads.Load()
		until(t, "searches between two changes", func() bool { return reads.Load() >= from+4 || t.Failed() })
	}
	end()
	readers.Wait()
	o.trial(t, s)

	s.exec(`delete from memory_scopes`) // as where nobody has said how far it reaches
	s.run(acquainted("link")(s)...).want(t, 0)
	s.run("groups", "set", "telegram-2", "--private", "off").want(t, 0)
	var seen []string
	for _, off := range []string{"", fault.Scope} {
		is, err := s.seesPeanuts(s.searched(off))
		if err != nil || off == "" && is {
			t.Errorf("it is seen: %t, %v", is, err)
		}
		seen = append(seen, fmt.Sprintf("it is seen elsewhere: %t", is))
	}
	o.control(t, "looking how far a fact reaches", "it is seen elsewhere: true", seen...)
}}

// searched is where a server is asked that lacks a guard, or none.
func (s *stage) searched(off string) (base string) {
	s.t.Helper()
	p := startBinary(s.t, toBreak(s.t), append(slices.Clone(s.env), "REVERIE_LOG_FORMAT=json", "REVERIE_HTTP_REQUESTS_PER_SECOND=0", "REVERIE_FAULT_OFF="+off), "serve", "--listen", "127.0.0.1:0")
	if !p.serves() {
		s.t.Fatal(p.err.String())
	}
	return servesAt.FindStringSubmatch(p.err.String())[1]
}

// seesPeanuts tells whether who searches in telegram-1 is shown what Lin said in telegram-2.
func (s *stage) seesPeanuts(base string) (bool, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	found, err := search(ctx, base, "telegram-1", "who is allergic to peanuts", nil)
	return strings.Contains(fmt.Sprintf("%+v", found.Results), "allergic to peanuts"), err
}
