//go:build torture

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/fault"
	"reverie/internal/llm/llmtest"
)

// duties are what schedulers do, one after the other, each beginning with another one.
var duties = [][]string{{"evolve", "--due"}, {"extract", "--due"}, {"evolve", "--due"}, {"dream", "--due"}, {"maintain"}}

// crew is schedulers that work on one database, each a process after the other.
type crew struct {
	*stage
	size int
	over chan struct{}
	all  sync.WaitGroup

	mu    sync.Mutex
	ended []outcome
}

// hire has schedulers begin; from there on they look for work until the crew rests.
func (s *stage) hire(size int) *crew {
	c := &crew{stage: s, size: size, over: make(chan struct{})}
	for i := range size {
		c.all.Go(func() {
			for n := i; ; n++ {
				select {
				case <-c.over:
					return
				default:
				}
				o := s.launch(duties[n%len(duties)]...).end()
				c.mu.Lock()
				c.ended = append(c.ended, o)
				c.mu.Unlock()
			}
		})
	}
	return c
}

// rest lets them finish what they are at, and wants each of their processes to have
// ended well, without a word of the race detector. It says how often one of them had lost
// a group to another, and how often one met with a group that another was at.
func (c *crew) rest() (lost, met int) {
	c.t.Helper()
	close(c.over)
	c.all.Wait()
	for _, o := range c.ended {
		met += strings.Count(o.stdout+o.stderr, "is busy: ")
		n := strings.Count(o.stderr, "no longer holds group")
		if lost += n; o.code != 0 && n == 0 {
			c.t.Errorf("reverie %s: exit code %d\n%s", strings.Join(o.args, " "), o.code, o.stderr)
		}
		if strings.Contains(o.stderr, "DATA RACE") || strings.Contains(o.stderr, "panic:") {
			c.t.Errorf("reverie %s:\n%s", strings.Join(o.args, " "), o.stderr)
		}
	}
	return lost, met
}

// manySchedulers has processes with the race detector work on groups whose messages keep
// coming in: evolve, extract, dream and maintain, all beside each other. In the end each
// night of each group was worked on once, and each of its questions asked once.
func manySchedulers(t *testing.T, o *ordeal) {
	size, crowd := 16, crowdOf(100, 4)
	if testing.Short() {
		size, crowd = 4, crowdOf(12, 2)
	}
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_DECIDE_ENABLED=false", "REVERIE_SESSION_TURNS=1")
	s.model.Respond(scribe(t))
	crew := s.hire(size)
	for _, date := range crowd.dates {
		for _, g := range crowd.groups {
			lines := spoken("s-"+date, instantOf(t, date+"T20:00:00+08:00"), "note "+g+" was there on "+date, "hello")
			for i := range lines {
				lines[i].ID = date + lines[i].ID
			}
			s.bring(g, lines...)
		}
	}
	until(t, "all nights are worked on", func() bool {
		return s.one(`select count(*) from messages where run_id is null and outcome is null`) == "0"
	})
	lost, met := crew.rest()
	o.strikes(lost + met)
	t.Logf("a group was at work with another %d times, and was lost to another %d times", met, lost)
	for _, duty := range [][]string{{"evolve", "--due"}, {"extract", "--all"}, {"dream", "--due"}} { // what the last of them has left
		s.run(duty...).want(t, 0)
	}

	var want []string
	for _, g := range crowd.groups {
		for _, d := range crowd.dates {
			want = append(want, g+"|"+d+"|succeeded|1")
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, s.rows(`select r.group_id || '|' || (window_since at time zone g.time_zone)::date || '|' || status || '|' || attempt
			from runs r join groups g using (group_id) where job = 'evolve' order by 1`)); diff != "" {
		t.Errorf("the nights that were worked on (-want +got):\n%s", diff)
	}
	if n := s.one(`select count(*) from message_uses where job = 'extract' and run_id is null`); n != "0" {
		t.Errorf("%s messages wait for extraction", n)
	}
	if twice := s.askedTwice(); twice > lost {
		t.Errorf("%d questions of evolve were asked twice, and %d times a group was lost to another", twice, lost)
	}
	o.trial(t, s)
	o.control(t, "the lease", askedAtOnce, s.withoutLease(t)...)
}

// askedTwice is how many calls of evolve there were beyond the first for each night.
func (s *stage) askedTwice() (n int) {
	asked := map[string]bool{}
	for _, r := range s.questions() {
		if q := readQuestion(s.t, r); q.Messages != nil {
			key := fmt.Sprint(q.WindowUntil, q.Messages)
			if asked[key] {
				n++
			}
			asked[key] = true
		}
	}
	return n
}

// askedAtOnce is what shows where two hold a group.
const askedAtOnce = "two processes ask about one night at a time"

// withoutLease has a scheduler take a group that another is at, and returns what it asks
// about while the other's question waits for its answer.
func (s *stage) withoutLease(t *testing.T) (seen []string) {
	const said = "note the first of April is over"
	s.bring("g01", chat("2025-04-01", said)...)
	asked, answer := make(chan struct{}, 100), make(chan struct{}) // there is a question for each process, or some more
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if slices.ContainsFunc(readQuestion(t, r).Messages, func(m questionMessage) bool { return m.Text == said }) {
			asked <- struct{}{}
		}
		return llmtest.Text(transcribe(t, r)).After(answer)
	})
	bold := s.fork("REVERIE_FAULT_OFF=" + fault.Lease)
	first := bold.launch("evolve", "--due")
	await(t, "the first question", asked)
	second := bold.launch("evolve", "--due")
	select {
	case <-asked:
		seen = append(seen, askedAtOnce)
	case <-second.done:
		seen = append(seen, second.out.String()+second.err.String())
	case <-time.After(30 * time.Second): // it asks about something else
	}
	close(answer)
	first.end()
	second.end()
	return seen
}
