//go:build torture

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"reverie/internal/fault"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// peopleBesideNight has people edit and delete memories and messages while a night is worked on, in any order, all in
// processes that are killed now and then and go on. What people said last stands, and of what they deleted nothing is left.
var peopleBesideNight = &ordeal{name: "people beside a night", run: func(t *testing.T, o *ordeal) {
	trials := 40
	if testing.Short() {
		trials = 2
	}
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_DECIDE_ENABLED=false", "REVERIE_EVOLVE_HOLD_MIN=1000")
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note Ann drinks tea", "note The rent is due on Monday", "note Bo parks in the yard", "hello")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.bring("g1", chat("2025-03-04", "again Ann drinks tea", "change The rent is due on Monday => The rent is due on Friday", "note The cat is called Momo",
		"note Zyx keeps a ferret", "again Bo parks in the yard")...)
	_ = s.db.Close() // it is copied
	t.Run("trials", func(t *testing.T) {
		for i := range trials {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				d := s.double(t)
				for _, what := range d.besideNight(o, tortureSeed(t)*1000+uint64(i), "") {
					t.Error(what)
				}
				o.trial(t, d)
			})
		}
	})
	o.control(t, "the lease and its fence", "is remembered: The cat is called Momo", s.double(t).besideNight(o, 0, fault.Lease+","+fault.Fence)...)
}}

// besideNight is one such night, with nobody killed where guards are off; it returns what is wrong with its end.
func (s *stage) besideNight(o *ordeal, seed uint64, off string) (wrong []string) {
	s.t.Helper()
	random := seeded(seed)
	asked, gate := make(chan struct{}, 100), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		asked <- struct{}{}
		return llmtest.Text(transcribe(s.t, r)).After(gate)
	})
	bold := s.fork("REVERIE_FAULT_OFF=" + off)
	base := bold.searched(off)
	night := startBinary(s.t, toBreak(s.t), bold.env, "evolve", "--group", "g1")
	until(s.t, "the question", func() bool { return len(asked) > 0 })
	by := func(words ...string) {
		for tries := 0; ; tries++ {
			at := 1 + random.IntN(40)
			out, _ := s.linked(words, nil, func(p *process, n int) verdict {
				if n == at && tries < 2 && off == "" {
					p.kill()
				}
				return pass
			})
			if out.code >= 0 { // 0, or 1 where it was done before the kill
				return
			}
			o.strikes(1)
		}
	}
	id := func(statement string) string {
		return s.one(`select memory_id from memories where statement = $1`, statement)
	}
	message := func(method, id, body string) {
		if _, err := ask[reverie.MessageChanged](s.t.Context(), method, base+"/v1/groups/g1/messages/2025-03-04-"+id, strings.NewReader(body)); err != nil {
			s.t.Errorf("%s of message %s: %v", method, id, err)
		}
	}
	deeds := []func(){
		func() {
			by("memory", "edit", id("Ann drinks tea"), "Ann drinks cocoa", "--reason", "r", "--author", "Bo")
		},
		func() { by("memory", "delete", id("Bo parks in the yard"), "--reason", "r") },
		func() { message(http.MethodPatch, "3", `{"text":"note The cat is called Tofu"}`) },
		func() { message(http.MethodDelete, "4", "") },
	}
	if off != "" { // one edit shows it
		deeds = deeds[2:3]
	}
	random.Shuffle(len(deeds), func(i, j int) { deeds[i], deeds[j] = deeds[j], deeds[i] })
	dies := random.IntN(3) == 0 && off == ""
	for i, deed := range deeds {
		if deed(); dies && i == 1 {
			night.kill()
			o.strikes(1)
		}
	}
	close(gate)
	night.end()
	if off == "" {
		s.exec(`update leases set expires_at = 'epoch' where holder <> ''`)
		for range 3 { // what was deferred by a change beside it is worked on by the next
			s.exec(`update setbacks set retry_at = 'epoch'`)
			s.broken("evolve", "--due").clean(s.t)
		}
	}
	active := s.active("g1")
	for _, want := range []string{"Ann drinks cocoa", "The cat is called Tofu", "The rent is due on Friday"} {
		if !slices.Contains(active, want) {
			wrong = append(wrong, fmt.Sprintf("is not remembered: %s, but %q", want, active))
		}
	}
	for _, not := range []string{"Ann drinks tea", "Bo parks in the yard", "The cat is called Momo", "The rent is due on Monday"} {
		if slices.Contains(active, not) {
			wrong = append(wrong, "is remembered: "+not)
		}
	}
	if strings.Contains(fmt.Sprint(s.dump()), "ferret") {
		wrong = append(wrong, "something is left of the message that was deleted")
	}
	return wrong
}
