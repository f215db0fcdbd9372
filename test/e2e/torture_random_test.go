//go:build torture

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/fault"
)

// chronicle is a history that is lived twice: undisturbed, and by processes that are
// killed all the time. Each deed goes on from what all deeds before have left.
type chronicle struct {
	*ordeal
	random *rand.Rand
	calm   *stage
	torn   *stage
	day    int      // of the last night that was brought
	deeds  []string // done so far
	kills  atomic.Int64
	pairs  int // of two processes at once
}

// deed is something that is asked of both lives.
type deed struct {
	name string
	args func(s *stage) []string
	// done are exit codes that say that all was done before.
	done []int
	// beside is another process that does the same work at the same time.
	beside []string
}

var chronicled = []string{"g1", "g2", "g3"}

// killedAtRandom kills a thousand processes, each at a random moment of its life.
func killedAtRandom(t *testing.T, o *ordeal) {
	kills := int64(500)
	if testing.Short() {
		kills = 6
	}
	seed := tortureSeed(t)
	t.Run("control", func(t *testing.T) { withoutTransactions(t, o) })
	t.Run("histories", func(t *testing.T) {
		for i := range uint64(2) {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				c := newChronicle(t, o, seed*1000+i)
				for c.kills.Load() < kills && !t.Failed() {
					c.live(t)
				}
				c.compare(t)
				t.Logf("seed %d: %d kills in %d deeds, two processes at once %d times", seed, c.kills.Load(), len(c.deeds), c.pairs)
				if t.Failed() {
					t.Logf("the deeds were\n%s", strings.Join(c.deeds, "\n"))
				}
			})
		}
	})
}

// withoutTransactions kills an evolve whose transactions are none, until it shows.
func withoutTransactions(t *testing.T, o *ordeal) {
	c := inPieces("violated: counts of changes add up") // a change was made, and the run that made it does not know
	o.control(t, c.without, c.symptom, plays[0].rehearse(t, o).betweenStatements(t, c)...)
}

// inPieces is the control of what is done in one transaction: it is none, and the play is killed between its statements.
func inPieces(symptom string) control {
	return control{off: fault.Whole, without: "transactions that are done whole or not at all", symptom: symptom}
}

// betweenStatements kills a play that lacks a guard, each time before another statement, until it shows: in the audit of
// what is left, or when it is done again.
func (sc *scene) betweenStatements(t *testing.T, c control) (seen []string) {
	off := "REVERIE_FAULT_OFF=" + c.off
	calm, trace := sc.s.double(t), filepath.Join(t.TempDir(), "trace")
	calm.fork(off).attended(sc.args(calm), nil, "REVERIE_FAULT_TRACE="+trace)
	steps := traced(t, trace)
	maps.DeleteFunc(steps, func(step string, _ int) bool { return !strings.HasSuffix(step, ": "+fault.Between) })
	var all []string
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		for n := range steps[step] {
			all = append(all, fmt.Sprintf("REVERIE_FAULT=kill:%s#%d", step, n+1))
		}
	}
	for _, i := range seeded(tortureSeed(t)).Perm(len(all)) {
		t.Run(strings.ReplaceAll(all[i], " ", "-"), func(t *testing.T) {
			s := sc.s.double(t)
			s.fork(off).attended(sc.args(s), nil, all[i])
			seen = append(append(seen, s.violated()...), sc.finish(s)...)
		})
		if shows(seen, c.symptom) {
			break
		}
	}
	return seen
}

func newChronicle(t *testing.T, o *ordeal, seed uint64) *chronicle {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_JOBS_CONCURRENCY=1", "REVERIE_EVOLVE_MAX_MESSAGES=4", "REVERIE_DREAM_INTERVAL=0s",
		"REVERIE_FORGET_TENTATIVE_NIGHTS=3", newYear, anyPort)
	for _, g := range chronicled {
		s.bring(g, chat("2025-01-01", "hello")...)
	}
	s.run("groups", "set", "g2", "--impressions", "on").want(t, 0)
	_ = s.db.Close()
	return &chronicle{ordeal: o, random: seeded(seed), calm: s.double(t), torn: s.double(t)}
}

// live does one deed in both lives.
func (c *chronicle) live(t *testing.T) {
	d := c.draw(t)
	if d == nil {
		return
	}
	c.deeds = append(c.deeds, d.name)
	t.Run(fmt.Sprint(len(c.deeds), " ", d.name), func(t *testing.T) {
		calm, torn := c.calm.lent(t), c.torn.lent(t)
		asked, kept := len(calm.questions()), calm.answers()
		words := d.args(calm)
		o, packets := calm.linked(words, nil, func(*process, int) verdict { return pass })
		if o.code != 0 {
			t.Fatalf("reverie %s: exit code %d, undisturbed\n%s%s", strings.Join(words, " "), o.code, o.stdout, o.stderr)
		}
		asked, kept = len(calm.questions())-asked, calm.answers()-kept
		if asked != kept {
			t.Errorf("%d questions were asked, and %d answers kept", asked, kept)
		}
		words = d.args(torn)
		before, had := len(torn.questions()), torn.answers()
		for range 1 + c.random.IntN(3)*c.random.IntN(2) {
			c.kill(t, torn, words, d.beside, packets)
		}
		sofar, stored := len(torn.questions())-before, torn.answers()-had
		o, _ = torn.linked(words, nil, func(*process, int) verdict { return pass })
		if o.code != 0 && !slices.Contains(d.done, o.code) {
			t.Errorf("reverie %s: exit code %d, after kills\n%s%s", strings.Join(words, " "), o.code, o.stdout, o.stderr)
		}
		if n := len(torn.questions()) - before - sofar; n != asked-stored {
			t.Errorf("of %d answers %d were kept, and then %d questions asked", asked, stored, n)
		}
	})
	if len(c.deeds)%25 == 0 {
		c.compare(t)
	}
}

// kill lets the torn life's command, and what is done beside it, die at a random packet
// of as many as the calm one sent.
func (c *chronicle) kill(t *testing.T, s *stage, words, beside []string, packets int) {
	t.Helper()
	lasts := []verdict{pass, lose}
	dying := func(at int, last verdict) func(p *process, n int) verdict {
		return func(p *process, n int) verdict {
			switch {
			case n == at:
				c.kills.Add(1)
				c.strikes(1)
				p.kill()
				return last
			case n > at:
				return lose
			}
			return pass
		}
	}
	before, had := len(s.questions()), s.answers()
	first, second, at, other := lasts[c.random.IntN(2)], lasts[c.random.IntN(2)], 1+c.random.IntN(packets), 1+c.random.IntN(packets)
	processes, over, ended := 1, make(chan struct{}), make(chan struct{})
	if beside == nil {
		close(ended)
	} else {
		processes, c.pairs = 2, c.pairs+1
		go func() {
			defer close(ended)
			s.linked(beside, over, dying(other, second))
		}()
	}
	s.linked(words, nil, dying(at, first))
	close(over)
	<-ended
	if lost := len(s.questions()) - before - (s.answers() - had); lost > processes {
		t.Errorf("%d answers that were paid for were not kept", lost)
	}
	c.trial(t, s)
	s.exec(`update leases set expires_at = 'epoch' where holder <> ''`)
}

// compare holds the two lives against each other.
func (c *chronicle) compare(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(c.calm.end(), c.torn.end()); diff != "" {
		t.Fatalf("after %d deeds the lives differ (-calm +torn):\n%s", len(c.deeds), diff)
	}
	if twice := c.torn.rows(`select m.group_id, m.message_id, count(*) from messages m join run_chunks k on k.group_id = m.group_id and m.message_id = any (k.message_ids)
			join runs r on r.group_id = k.group_id and r.run_id = k.run_id
			where r.job = 'evolve' and r.undone_at is null and k.status in ('applied', 'held') group by 1, 2 having count(*) > 1`); len(twice) > 0 {
		t.Errorf("messages were consumed more than once: %q", twice)
	}
}

// lent is the stage for a part of a test.
func (s *stage) lent(t *testing.T) *stage {
	own := *s
	own.t = t
	return &own
}

// linked runs a command in a process of its own, whose every packet to PostgreSQL is
// step's to know of first, and tells how many there were. What has not ended when it is
// over is killed; over may be nil.
func (s *stage) linked(words []string, over <-chan struct{}, step func(p *process, n int) verdict) (outcome, int) {
	s.t.Helper()
	var p *process
	ready := make(chan struct{})
	l := newLink(s.t, s.url, func(n int) verdict {
		<-ready
		return step(p, n)
	})
	p = startBinary(s.t, toBreak(s.t), s.fork("REVERIE_DATABASE_URL="+l.dsn).env, words...)
	close(ready)
	select {
	case <-p.done:
	case <-over:
		p.kill()
	case <-time.After(patience): // it is told of below
	}
	o := p.end()
	l.cut()
	s.forgotten(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	return o, l.sent
}
