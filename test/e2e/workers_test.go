package e2e

import (
	"fmt"
	"sync"
	"syscall"
	"testing"

	"reverie/internal/llm/llmtest"
)

const sigterm = syscall.SIGTERM

// newYear is a schedule whose time does not come during a test: what a daemon
// does, it does because it makes up for what was missed.
const newYear = "REVERIE_SCHEDULE_EVOLVE=7 3 1 1 *"

const anyPort = "REVERIE_HTTP_LISTEN=127.0.0.1:0"

// TestThreeWorkers: two daemons and a CronJob's command share one database. Each
// window is worked on once, whoever does it, and a group's dates in order.
func TestThreeWorkers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_JOBS_CONCURRENCY=4", anyPort)
	c := crowdOf(30, 3)
	s.settle(c, oneFact)
	// Nobody is answered before all three have asked: else the first would do it all.
	all := make(chan struct{})
	var mu sync.Mutex
	asked := map[string]int{}
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if asked[r.Key]++; len(asked) == 3 && asked[r.Key] == 1 {
			close(all)
		}
		return llmtest.Text(transcribe(t, r)).After(all)
	})
	first := s.fork(newYear, "REVERIE_LLM_API_KEY=first").launch("run")
	second := s.fork("REVERIE_SCHEDULE_EVOLVE=@every 1m", "REVERIE_LLM_API_KEY=second").launch("run")
	cron := s.fork("REVERIE_LLM_API_KEY=cron").launch("evolve", "--due")
	await(t, "the work of all three", all)
	cron.end().want(t, 0).silent(t)
	first.says("task done", 1)
	second.says("task done", 1)
	first.stop()
	second.stop()
	s.once(c)
	if got := s.rows(`select group_id, holder from leases where holder <> ''`); len(got) > 0 {
		t.Errorf("leases were not given back: %q", got)
	}
	if n := len(s.questions()); n != c.windows() {
		t.Errorf("%d questions were asked about %d windows", n, c.windows())
	}
	if got, want := s.one(`select count(*), count(distinct (group_id, run_id)) from llm_calls where purpose = 'evolve'`), fmt.Sprintf("%d|%d", c.windows(), c.windows()); got != want {
		t.Errorf("calls and runs with a call are %s, want %s", got, want)
	}
	if got, want := s.one(`select count(*) from memories where status = 'active' and version = 1`), fmt.Sprint(c.windows()); got != want {
		t.Errorf("%s memories, want %s", got, want)
	}
	// The same again: nothing is left to do.
	s.run("evolve", "--due").want(t, 0).silent(t).shows(t, "nothing is due")
	if n := len(s.questions()); n != c.windows() {
		t.Errorf("a second call asked %d more questions", n-c.windows())
	}
}

// TestDaemonHandsOver: a daemon that is told to go finishes the windows that it
// is at, begins none, and the next process goes on with the same groups at once.
func TestDaemonHandsOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_JOBS_CONCURRENCY=1", anyPort, newYear)
	c := crowdOf(5, 2)
	s.settle(c, oneFact)
	asked, gate := make(chan struct{}, c.windows()), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		asked <- struct{}{}
		return llmtest.Text(transcribe(t, r)).After(gate)
	})
	daemon := s.launch("run")
	await(t, "a question", asked)
	daemon.signal(sigterm)
	daemon.says("told to stop", 1)
	close(gate)
	o := daemon.end().want(t, 0, "stopped")
	done := len(s.questions())
	if done != 1 {
		t.Errorf("%d questions were asked, want the one that was under way\n%s", done, o.stderr)
	}
	if got := s.one(`select count(*) filter (where status = 'succeeded'), count(*) from runs`); got != "1|1" {
		t.Errorf("runs that succeeded and all are %s, want 1|1", got)
	}
	s.run("evolve", "--due").want(t, 0).silent(t) // no lease is in its way
	s.once(c)
}
