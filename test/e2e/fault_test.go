package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// livingStage is a stage whose groups have three nights before them.
func livingStage(t *testing.T, c crowd) *stage {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_EVOLVE_MAX_MESSAGES=2", "REVERIE_JOBS_CONCURRENCY=3")
	s.settle(c, life)
	s.model.Respond(scribe(t))
	return s
}

// answered is how many chunks have an answer in the database.
func (s *stage) answered() int {
	s.t.Helper()
	return len(s.rows(`select 1 from run_chunks where status in ('answered', 'applied', 'held')`))
}

// goOn lets the leases of those that are gone run out and does the rest: every
// question but those whose answers are stored is asked once more at most.
func (s *stage) goOn(c crowd) {
	s.t.Helper()
	s.exec(`update leases set expires_at = 'epoch'`)
	left := s.one(`select count(*) from leases l where holder <> '' and (
		exists (select 1 from messages m where m.group_id = l.group_id and run_id is null) or
		exists (select 1 from runs r where r.group_id = l.group_id and status = 'running'))`)
	asked, stored := len(s.questions()), s.answered()
	o := s.run("evolve", "--due").want(s.t, 0)
	if n, want := len(s.questions())-asked, len(c.groups)*chunksOfLife-stored; n != want {
		s.t.Errorf("%d answers were stored; the rest took %d questions, want %d", stored, n, want)
	}
	if n := fmt.Sprint(strings.Count(o.stderr, "took over from a holder that is gone")); n != left {
		s.t.Errorf("%s leases were left behind with work to do; %s were said to be taken over:\n%s", left, n, o.stderr)
	}
}

// TestKillFanOut kills the work on many groups with kill -9, while the model is
// being asked and at packets spread over all that is said to the database. A
// second process comes to the very same end, and pays for no answer twice.
func TestKillFanOut(t *testing.T) {
	t.Parallel()
	c := crowdOf(5, 3)
	total := len(c.groups) * chunksOfLife
	calm := livingStage(t, c)
	packets := newLink(t, calm.url, func(int) verdict { return pass })
	start(t, append(calm.env, "REVERIE_DATABASE_URL="+packets.dsn), "evolve", "--due").end().want(t, 0).silent(t)
	want := calm.states(c)
	calm.once(c)
	if n := len(calm.questions()); n != total {
		t.Fatalf("undisturbed, %d questions were asked, want %d", n, total)
	}
	packets.mu.Lock()
	steps := packets.sent
	packets.mu.Unlock()

	for _, k := range []int{1, 8, 17, total} {
		t.Run(fmt.Sprintf("question %d of %d", k, total), func(t *testing.T) {
			t.Parallel()
			s := livingStage(t, c)
			var p *process
			var n atomic.Int32
			ready, dead := make(chan struct{}), make(chan struct{})
			s.model.Respond(func(r llmtest.Request) llmtest.Answer {
				if int(n.Add(1)) == k {
					<-ready
					p.kill()
					close(dead)
				}
				return llmtest.Text(transcribe(t, r))
			})
			p = s.launch("evolve", "--due")
			close(ready)
			await(t, "the kill", dead)
			if o := p.end(); o.code != -1 {
				t.Fatalf("exit code %d: %s", o.code, o.stderr)
			}
			s.forgotten(p)
			s.goOn(c)
			s.once(c)
			if diff := cmp.Diff(want, s.states(c)); diff != "" {
				t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
			}
		})
	}
	random := rand.New(rand.NewPCG(3, 3))
	const kills = 4
	for i := range kills {
		at, last := 1+(steps*i+random.IntN(steps))/kills, []verdict{pass, lose}[i%2]
		t.Run(fmt.Sprintf("packet %d of %d", at, steps), func(t *testing.T) {
			t.Parallel()
			s := livingStage(t, c)
			var p *process
			ready := make(chan struct{})
			l := newLink(t, s.url, func(n int) verdict {
				<-ready
				switch {
				case n == at:
					p.kill()
					return last
				case n > at:
					return lose
				}
				return pass
			})
			p = s.fork("REVERIE_DATABASE_URL="+l.dsn).launch("evolve", "--due")
			close(ready)
			if o := p.end(); o.code != -1 && o.code != 0 { // the last packets may come when all is done
				t.Fatalf("exit code %d: %s", o.code, o.stderr)
			}
			l.cut()
			s.forgotten(p)
			s.goOn(c)
			s.once(c)
			if diff := cmp.Diff(want, s.states(c)); diff != "" {
				t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLastLine: a process that dies when all is done but the run's last line
// leaves nothing due behind. The next one ends the run all the same, but not one
// that somebody is at.
func TestLastLine(t *testing.T) {
	t.Parallel()
	c := crowdOf(3, 3)
	s := livingStage(t, c)
	s.run("evolve", "--due").want(t, 0)
	want := s.states(c)
	s.exec(`update runs r set status = 'running', finished_at = null where group_id in ('g01', 'g02')
		and window_since = (select max(window_since) from runs where group_id = r.group_id)`)
	s.exec(`update leases set holder = 'gone:1', expires_at = case group_id when 'g01' then 'epoch' else statement_timestamp() + interval '1 hour' end
		where group_id in ('g01', 'g02')`)
	running := func(want ...string) {
		t.Helper()
		if got := s.rows(`select group_id from runs where status = 'running' order by 1`); !slices.Equal(got, want) {
			t.Errorf("runs of %q are running, want %q", got, want)
		}
	}
	running("g01", "g02")
	s.run("evolve", "--due", "--shard", "0/1").want(t, 0, "took over").shows(t, "nothing is due")
	running("g02")
	s.exec(`update leases set expires_at = 'epoch'`)
	s.run("evolve", "--due").want(t, 0).shows(t, "nothing is due")
	s.once(c)
	if diff := cmp.Diff(want, s.states(c)); diff != "" {
		t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
	}
}

// TestFullDisk has the database say that its disk is full, at messages and then at the night's memories: what could not
// be written is told and stays pending, and comes in when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
	s.exec(`create function full_disk() returns trigger language plpgsql as
		$$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`)
	fill := func(table string) {
		s.exec(`create trigger full_disk before insert on ` + table + ` execute function full_disk()`)
	}
	fill("messages")
	more := jsonLines(t, chat("2025-03-04", "note Mia hosts the game nights"))
	s.feed(more, "import", "-", "--group", "g1").want(t, 1, "No space left", "free some")
	s.exec(`drop trigger full_disk on messages`)
	fill("memories")
	s.run("evolve", "--due").want(t, 4, "No space left", "stays pending")
	if got := s.pending("g1"); got != "1" || len(s.active("g1")) != 0 {
		t.Errorf("%s messages are pending, and %q is remembered", got, s.active("g1"))
	}
	s.exec(`drop trigger full_disk on memories`)
	s.feed(more, "import", "-", "--group", "g1").want(t, 0)
	s.run("evolve", "--due").want(t, 0)
	if got := s.active("g1"); len(got) != 2 {
		t.Errorf("%q is remembered", got)
	}
	s.run("audit").want(t, 0)
}

// TestOverslept stops a process as a suspended machine does, lets its lease run
// out, and wakes it when another has done the work. And the control: the same
// without the fence, which the sleeper's own entry in the lease stands for, has
// to be noticed, or else the test would prove nothing.
func TestOverslept(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"while the model answers", "before applying"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			oversleep(t, moment == "before applying", true)
		})
		t.Run(moment+", without a fence", func(t *testing.T) {
			t.Parallel()
			oversleep(t, moment == "before applying", false)
		})
	}
}

func oversleep(t *testing.T, answered, fence bool) {
	c := crowdOf(2, 2)
	s := newStage(t)
	s.set("REVERIE_EMBED_BASE_URL="+s.model.URL("openai"), "REVERIE_EMBED_MODEL=text-embedding-3-small", "REVERIE_JOBS_CONCURRENCY=1")
	s.settle(c, oneFact)
	asked, gate := make(chan struct{}), make(chan struct{})
	hold := func(a llmtest.Answer) llmtest.Answer {
		close(asked)
		return a.After(gate)
	}
	s.model.Respond(scribe(t))
	if answered {
		s.model.ScriptEmbeddings(llmtest.Answer{}.After(gate))
	} else {
		s.model.Respond(func(r llmtest.Request) llmtest.Answer { return hold(llmtest.Text(transcribe(t, r))) })
	}
	sleeper := s.launch("evolve", "--due")
	if answered { // the vectors are the last thing before applying
		until(t, "the question about vectors", func() bool { return len(s.model.Requests()) == 2 })
	} else {
		await(t, "the question", asked)
	}
	sleeper.signal(syscall.SIGSTOP)
	mine := s.rows(`select group_id, holder, fence from leases`)
	if len(mine) != 1 || !strings.HasPrefix(mine[0], "g01|") || !strings.Contains(mine[0], fmt.Sprint(":", sleeper.cmd.Process.Pid)) {
		t.Fatalf("the leases are %q, want one of g01", mine)
	}
	s.exec(`create table sleeper as select * from leases`)
	s.exec(`update leases set expires_at = 'epoch'`)
	s.model.Respond(scribe(t))
	s.run("evolve", "--due").want(t, 0, "took over").shows(t, "2 groups done")
	s.once(c)
	except := []string{"llm_calls", "leases", "sleeper"}
	after := s.dump(except...)
	if !fence {
		s.exec(`update leases l set holder = s.holder, fence = s.fence, expires_at = statement_timestamp() + interval '1 hour'
			from sleeper s where s.group_id = l.group_id`)
	}
	close(gate)
	sleeper.signal(syscall.SIGCONT)
	o := sleeper.end()
	diff := cmp.Diff(after, s.dump(except...))
	if !fence {
		if diff == "" {
			t.Errorf("without a fence nothing was written either: the test would not notice; exit code %d:\n%s%s", o.code, o.stdout, o.stderr)
		}
		return
	}
	if diff != "" {
		t.Errorf("it wrote over the next holder's work:\n%s", diff)
	}
	o.want(t, 4, `group "g01" deferred`, "lease").shows(t, "0 groups done, 0 skipped, 1 deferred, 0 failed")
	s.once(c)
	want := 5
	if answered { // its answer was stored, and paid for once
		want = 4
	}
	if n := len(s.questions()); n != want {
		t.Errorf("%d questions were asked, want %d", n, want)
	}
}
