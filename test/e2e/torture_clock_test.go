//go:build torture

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/fault"
	"reverie/internal/llm/llmtest"
)

// shadowedClock puts a clock of our own before the database's: what it says is as far
// ahead as a table has it. Connections that are made from here on go by it.
const shadowedClock = `create table clock_ahead (by interval not null);
	insert into clock_ahead values ('0');
	create function clock_timestamp() returns timestamptz volatile language sql as 'select pg_catalog.clock_timestamp() + by from public.clock_ahead';
	create function statement_timestamp() returns timestamptz volatile language sql as 'select pg_catalog.statement_timestamp() + by from public.clock_ahead';
	create function now() returns timestamptz volatile language sql as 'select pg_catalog.now() + by from public.clock_ahead';
	do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$`

// clocks are those of the processes and of the database, both of which jump.
type clocks struct {
	*stage
	path   string // of a file that says how far ahead the clock of processes is
	mu     sync.Mutex
	random *rand.Rand
	jumps  int
}

// jumpy is a stage with such clocks.
func (s *stage) jumpy(seed uint64) *clocks {
	s.t.Helper()
	s.run("migrate", "up").want(s.t, 0)
	s.exec(shadowedClock)
	c := &clocks{stage: s, random: seeded(seed), path: filepath.Join(s.home, "ahead")}
	c.calm()
	return c
}

// leaps are how far clocks jump: within a lease, past one, over the change to summer time,
// over dates, years back and forth.
var leaps = []time.Duration{0, 0, 0, 10 * time.Second, -10 * time.Second, time.Minute, -time.Minute, time.Hour, -time.Hour, 3 * time.Hour, -3 * time.Hour,
	24 * time.Hour, -24 * time.Hour, 40 * 24 * time.Hour, -40 * 24 * time.Hour, 10 * 365 * 24 * time.Hour, -20 * 365 * 24 * time.Hour}

// jump sets both clocks, each by itself, now and then.
func (c *clocks) jump() {
	c.mu.Lock()
	defer c.mu.Unlock()
	process, database := leaps[c.random.IntN(len(leaps))], leaps[c.random.IntN(len(leaps))]
	c.process(process)
	c.database(database)
	if process != 0 || database != 0 {
		c.jumps++
	}
}

func (c *clocks) process(ahead time.Duration) {
	whole := c.path + ".new" // nobody reads half of it
	if err := os.WriteFile(whole, []byte(ahead.String()), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(whole, c.path); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clocks) database(ahead time.Duration) {
	c.exec(`update clock_ahead set by = make_interval(secs => $1)`, ahead.Seconds())
}

// calm sets both clocks right.
func (c *clocks) calm() {
	c.process(0)
	c.database(0)
}

// nightsOfLife are what a group lives through, in zones whose dates begin at other times,
// over a change to summer time.
var nightsOfLife = []string{"2025-03-07", "2025-03-08", "2025-03-09"}

// lives brings each group a night of its life, counted from 0.
func (s *stage) lives(c crowd, n int) {
	s.t.Helper()
	for i, g := range c.groups {
		s.feed(jsonLines(s.t, chat(nightsOfLife[n], life(g, n)...)), "import", "-", "--group", g, "--time-zone", crowdZones[i%len(crowdZones)]).want(s.t, 0)
	}
}

// statements are what all groups have come to say, and how: without times.
func (s *stage) statements() []string {
	return s.rows(`select m.group_id, m.statement, m.version, m.status, p.statement, m.change_summary, m.last_supported_at, m.strength,
			(select string_agg(e.message_id || e.local_date || e.action, ',' order by e.message_id, e.action) from memory_evidence e
				where e.group_id = m.group_id and e.memory_id = m.memory_id)
		from memories m left join memories p on p.group_id = m.group_id and p.memory_id = m.parent_id order by 1, 2, 3`)
}

// nightsDone are the runs of evolve that ended well, by group and window.
func (s *stage) nightsDone() []string {
	return s.rows(`select group_id, window_since, window_until, count(*) filter (where status = 'succeeded') from runs where job = 'evolve' group by 1, 2, 3 order by 1, 2`)
}

// clocksJump lets the clocks of processes and of the database jump, between runs and while
// a model is asked, with two processes on the same groups. In the end each night of each
// group was worked on once, the memories are those of a calm run, and their times run
// forward.
func clocksJump(t *testing.T, o *ordeal) {
	trials, crowd := 40, crowdOf(8, 3)
	if testing.Short() {
		trials, crowd = 2, crowdOf(4, 3)
	}
	calm := newStage(t)
	calm.set("REVERIE_EMBED_PROVIDER=offline")
	calm.model.Respond(scribe(t))
	for n := range nightsOfLife {
		calm.lives(crowd, n)
	}
	calm.run("evolve", "--due").want(t, 0)
	said, done := calm.statements(), calm.nightsDone()
	for trial := range trials {
		t.Run(fmt.Sprint("seed ", trial), func(t *testing.T) {
			c := newStage(t).jumpy(tortureSeed(t) + uint64(trial))
			c.jumpThrough(t, crowd)
			if diff := cmp.Diff(said, c.statements()); diff != "" {
				t.Errorf("after %d jumps the memories are not those of a calm run (-want +got):\n%s", c.jumps, diff)
			}
			if diff := cmp.Diff(done, c.nightsDone()); diff != "" {
				t.Errorf("after %d jumps the nights are not those of a calm run (-want +got):\n%s", c.jumps, diff)
			}
			o.strikes(c.jumps)
			o.trial(t, c.stage)
		})
	}
	t.Run("a holder that dies in the future", func(t *testing.T) { diesInFuture(t, o) })
	o.control(t, "the order of times", "violated: times in order", backInTime(t)...)
}

func (c *clocks) jumpThrough(t *testing.T, crowd crowd) {
	c.set("REVERIE_EMBED_PROVIDER=offline")
	c.model.Respond(func(r llmtest.Request) llmtest.Answer {
		c.jump()
		return llmtest.Text(transcribe(t, r))
	})
	wild := c.fork("REVERIE_FAULT_CLOCK=" + c.path)
	for n := range nightsOfLife {
		c.calm()
		c.lives(crowd, n)
		c.jump()
		for _, p := range []*process{wild.launch("evolve", "--due"), wild.launch("evolve", "--due")} {
			if o := p.end(); strings.Contains(o.stderr, "panic") || strings.Contains(o.stderr, "DATA RACE") {
				t.Errorf("exit code %d\n%s", o.code, o.stderr)
			}
		}
	}
	c.calm()
	c.model.Respond(scribe(t))
	for range 2 { // what was lost to the other is taken up, in order
		c.exec(`update setbacks set retry_at = pg_catalog.now()`) // the wait is not what is tried here
		c.run("evolve", "--due").want(t, 0)
	}
}

// diesInFuture kills a holder while the database's clock is years ahead. Once it is set
// right, the group waits for nobody.
func diesInFuture(t *testing.T, o *ordeal) {
	c := newStage(t).jumpy(0)
	c.set("REVERIE_EMBED_PROVIDER=offline")
	c.bring("g1", chat("2025-03-03", "note the clock is right")...)
	asked := make(chan struct{})
	c.model.Respond(func(llmtest.Request) llmtest.Answer {
		close(asked)
		return llmtest.Hang()
	})
	c.database(10 * 365 * 24 * time.Hour)
	p := c.launch("evolve", "--due")
	await(t, "the question", asked)
	p.kill()
	c.forgotten(p)
	c.calm()
	c.model.Respond(scribe(t))
	c.run("evolve", "--due").want(t, 0)
	if got := c.active("g1"); len(got) != 1 {
		t.Errorf("the group remembers %q\n%v", got, c.rows(`select * from leases`))
	}
	o.trial(t, c.stage)
}

// backInTime writes one night with a clock that is ahead and the next with one that is
// right, and nothing that keeps times in their order; it returns what the audit finds.
func backInTime(t *testing.T) []string {
	s := newStage(t).jumpy(0)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note the meeting is on Monday", "note rent is due")...)
	s.process(365 * 24 * time.Hour)
	s.fork("REVERIE_FAULT_CLOCK="+s.path).launch("evolve", "--group", "g1").end().want(t, 0)
	s.bring("g1", chat("2025-03-04", "change the meeting is on Monday => the meeting is on Friday")...)
	s.fork("REVERIE_FAULT_OFF="+fault.Moment).launch("evolve", "--group", "g1").end().want(t, 0)
	return s.violated()
}
