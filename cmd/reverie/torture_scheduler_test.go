//go:build torture

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/fault"
	"reverie/llm/llmtest"
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
// a group to another.
func (c *crew) rest() (lost int) {
	c.t.Helper()
	close(c.over)
	c.all.Wait()
	for _, o := range c.ended {
		n := strings.Count(o.stderr, "no longer holds group")
		if lost += n; o.code != 0 && n == 0 {
			c.t.Errorf("reverie %s: exit code %d\n%s", strings.Join(o.args, " "), o.code, o.stderr)
		}
		if strings.Contains(o.stderr, "DATA RACE") || strings.Contains(o.stderr, "panic:") {
			c.t.Errorf("reverie %s:\n%s", strings.Join(o.args, " "), o.stderr)
		}
	}
	return lost
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
	lost := crew.rest()
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
	o.control(t, "the lease", s.withoutLease(t))
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

// withoutLease has two schedulers take the same groups, and tells whether it is noticed:
// a night is asked about twice.
func (s *stage) withoutLease(t *testing.T) bool {
	s.bring("g01", chat("2025-04-01", "note the first of April is over")...)
	asked, twice := 0, make(chan struct{})
	var mu sync.Mutex
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked == 2 {
			close(twice)
		}
		return llmtest.Text(transcribe(t, r)).After(twice)
	})
	bold := s.fork("REVERIE_FAULT_OFF=" + fault.Lease)
	both := []*process{bold.launch("evolve", "--due"), bold.launch("evolve", "--due")}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	noticed := false
	select {
	case <-twice:
		noticed = true
	case <-ctx.Done():
		mu.Lock()
		close(twice)
		asked = 2
		mu.Unlock()
	}
	for _, p := range both {
		p.end()
	}
	return noticed
}
