package e2e

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
)

// batchStage is a crowd whose provider answers batches, with their nonces.
func batchStage(t *testing.T, provider string, c crowd) *stage {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_LLM_PROVIDER="+provider, "REVERIE_LLM_BASE_URL="+s.model.URL(provider), "REVERIE_LLM_API_KEY=k",
		"REVERIE_LLM_MODEL=fake", "REVERIE_LLM_PRICES=fake=10/20/1", "REVERIE_EMBED_PROVIDER=offline",
		"REVERIE_EVOLVE_MAX_MESSAGES=2", "REVERIE_LLM_BATCH_POLL=10ms")
	s.model.Respond(scribe(t))
	s.settle(c, life)
	return s
}

var batchNonce = regexp.MustCompile(`\{"nonce":"[^"]+"\}`)

// crowdState is what all groups have come to.
func (s *stage) crowdState(c crowd) (out []string) {
	s.t.Helper()
	for _, g := range c.groups {
		for _, row := range s.state(g) {
			out = append(out, g+" "+row)
		}
	}
	return out
}

// billedOnce compares the bill with the ledger, and tells whether each question was asked
// once, in a batch.
func (s *stage) billedOnce(want int) {
	s.t.Helper()
	s.askedOnce(want)
	if tiers := s.rows(`select distinct tier from llm_calls where purpose <> 'embed'`); !slices.Equal(tiers, []string{"batch"}) {
		s.t.Errorf("tiers %q", tiers)
	}
}

// askedOnce is billedOnce of questions that may have been asked directly.
func (s *stage) askedOnce(want int) {
	s.t.Helper()
	var asked []string
	dollars := 0.0
	for _, c := range s.model.Bill() {
		asked = append(asked, c.User)
		dollars += c.Cost(llm.Price{Input: 10, Output: 20, Cached: 1})
	}
	slices.Sort(asked)
	if n := len(slices.Compact(slices.Clone(asked))); n != len(asked) || n != want {
		s.t.Errorf("%d questions are billed, %d of them different, want %d", len(asked), n, want)
	}
	if ledger := s.one(`select round(sum(cost_usd), 6) from llm_calls where purpose <> 'embed'`); ledger != fmt.Sprintf("%.6f", dollars) {
		s.t.Errorf("the ledger says %s dollars, the bill %.6f", ledger, dollars)
	}
}

// Groups that are evolved in batches come to the same end as directly, though the process
// is killed again and again: each question is paid for once, and the ledger says what the
// provider bills.
func TestBatches(t *testing.T) {
	c := crowdOf(3, 3)
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		t.Run(provider, func(t *testing.T) {
			var want []string
			t.Run("directly", func(t *testing.T) {
				s := batchStage(t, provider, c)
				s.run("evolve", "--due").want(t, 0)
				want = s.crowdState(c)
			})
			s := batchStage(t, provider, c)
			var packets atomic.Int64
			s.linkedTo([]string{"evolve", "--due", "--batch"}, func(_ *process, n int) verdict { packets.Store(int64(n)); return pass }).want(t, 0)
			if diff := cmp.Diff(want, s.crowdState(c)); diff != "" {
				t.Errorf("in batches (-directly +batches):\n%s", diff)
			}
			s.billedOnce(len(c.groups) * chunksOfLife)
			if o := s.run("batches", "list").want(t, 0); !strings.Contains(o.stdout, "ended") {
				t.Errorf("batches list:\n%s", o.stdout)
			}
			t.Run("killed", func(t *testing.T) {
				random := rand.New(rand.NewPCG(27, uint64(len(provider))))
				s := batchStage(t, provider, c)
				kills := 0
				for range 8 {
					at := 1 + random.IntN(int(packets.Load())/2)
					s.linkedTo([]string{"evolve", "--due", "--batch"}, func(p *process, n int) verdict {
						if n == at {
							kills++
							p.kill()
						}
						return pass
					})
					s.exec(`update leases set expires_at = 'epoch'`)
					s.exec(`update batches set held_until = 'epoch'`)
				}
				if kills < 4 {
					t.Errorf("killed %d times", kills)
				}
				s.run("evolve", "--due", "--batch").want(t, 0)
				if diff := cmp.Diff(want, s.crowdState(c)); diff != "" {
					t.Errorf("killed (-directly +batches):\n%s", diff)
				}
				s.billedOnce(len(c.groups) * chunksOfLife)
			})
		})
	}
}

// A process that dies while a batch is out is followed by one without batches: it asks nothing
// that is out, and pays for nothing twice.
func TestDirectlyAfterBatches(t *testing.T) {
	c := crowdOf(2, 2)
	s := batchStage(t, "anthropic", c)
	s.model.ScriptBatches(llmtest.Slow(3))
	s.linkedTo([]string{"evolve", "--due", "--batch"}, func(p *process, _ int) verdict {
		if len(s.model.Bill()) > 0 || len(s.model.Batches()) > 0 {
			p.kill()
		}
		return pass
	})
	s.exec(`update leases set expires_at = 'epoch'`)
	s.exec(`update batches set held_until = 'epoch'`)
	for range 9 {
		if o := s.run("evolve", "--due"); o.code == 0 {
			break
		} else if !strings.Contains(o.stdout+o.stderr, "reverie batches list") {
			t.Errorf("while a batch is out: %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
	s.run("evolve", "--due").want(t, 0)
	var asked []string
	for _, call := range s.model.Bill() {
		asked = append(asked, call.User)
	}
	slices.Sort(asked)
	if n := len(slices.Compact(slices.Clone(asked))); n != len(asked) || s.one(`select count(*) from llm_calls where purpose <> 'embed'`) != fmt.Sprint(n) {
		t.Errorf("%d questions are billed, %d of them different", len(asked), n)
	}
	if tiers := s.rows(`select distinct tier from llm_calls where purpose <> 'embed' order by 1`); !slices.Equal(tiers, []string{"batch", "standard"}) {
		t.Errorf("tiers %q", tiers)
	}
}

// linkedTo runs the binary in a process of its own, whose every packet to PostgreSQL is
// step's to know of first, and waits until the server has done what it was told.
func (s *stage) linkedTo(args []string, step func(p *process, n int) verdict) outcome {
	s.t.Helper()
	v := &victim{stage: s, t: s.t, group: "batches", args: args}
	o, _ := v.through(step)
	return o
}

// Impressions follow in batches, and come to what they would come to directly.
func TestBatchesOfImpressions(t *testing.T) {
	c := crowdOf(2, 2)
	impressions := func(s *stage) []string {
		return s.rows(`select group_id, (select count(*) from entities e where e.group_id = r.group_id), job, status, count(*) from runs r
			group by 1, 2, 3, 4 order by 1, 3`)
	}
	var want []string
	t.Run("directly", func(t *testing.T) {
		s := batchStage(t, "anthropic", c)
		s.set("REVERIE_IMPRESSION_ENABLED=true", "REVERIE_IMPRESSION_MAX_SUBJECTS=1")
		s.run("evolve", "--due").want(t, 0)
		want = impressions(s)
	})
	s := batchStage(t, "anthropic", c)
	s.set("REVERIE_IMPRESSION_ENABLED=true", "REVERIE_IMPRESSION_MAX_SUBJECTS=1")
	s.run("evolve", "--due", "--batch").want(t, 0)
	if got := impressions(s); !slices.Equal(got, want) || len(got) != 4 {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if jobs := s.rows(`select job, sum(questions) > 0 from batches group by 1 order by 1`); !slices.Equal(jobs, []string{"evolve|true", "impression|true"}) {
		t.Errorf("batches: %q", jobs)
	}
}

// Where the provider answers no batches, the command says what to do; and so does --batch
// for one group.
func TestBatchesAreRefused(t *testing.T) {
	s := newStage(t)
	s.set("REVERIE_LLM_PROVIDER=offline")
	s.run("evolve", "--due", "--batch").want(t, 2, "offline does not answer batches", "leave out --batch")
	s.run("evolve", "g1", "--batch").want(t, 2, "--batch is for many groups")
	s.run("batches", "cancel", "019b8a52-5c3e-7000-8000-000000000001").want(t, 1, "not found")
}

// The daemon asks in batches where [schedule] batch says so, whatever the job: sessions are
// read, dreamt of, and do not wait for each other. What is stopped meanwhile is taken up.
func TestBatchesOfTheDaemon(t *testing.T) {
	s := batchStage(t, "openai", crowdOf(1, 1))
	s.set("REVERIE_SCHEDULE_BATCH=true", "REVERIE_SCHEDULE_EXTRACT=0 0 1 1 *", "REVERIE_SESSION_TURNS=1", "REVERIE_HTTP_LISTEN=")
	for _, session := range []string{"s1", "s2", "s3"} {
		s.bring("talk", spoken(session, evening, "note "+session+" is told of")...)
	}
	s.model.ScriptBatches(llmtest.Slow(1_000_000))
	p := s.fork("REVERIE_SCHEDULE_EVOLVE=never", "REVERIE_LOG_FORMAT=json").launch("run")
	p.says("extract: batches out: 1, questions: 3", 1)
	p.stop()
	if got := s.rows(`select job, status, count(*) from runs group by 1, 2`); !slices.Equal(got, []string{"extract|running|3"}) {
		t.Errorf("runs that wait: %q", got)
	}
	s.exec(`update leases set expires_at = 'epoch'`)
	id := s.one(`select batch_id from batches`)
	s.run("batches", "cancel", id).want(t, 0)
	p = s.fork(newYear).launch("run")
	p.says("task done", 2)
	p.stop()
	if got := s.rows(`select job, status, count(*) from runs group by 1, 2 order by 1`); !slices.Equal(got, []string{"evolve|succeeded|2", "extract|succeeded|3"}) {
		t.Errorf("runs: %q", got)
	}
	if tiers := s.rows(`select distinct tier from llm_calls where purpose <> 'embed'`); !slices.Equal(tiers, []string{"batch"}) {
		t.Errorf("tiers %q", tiers)
	}
	s.run("audit").want(t, 0)
}

// Who presses Ctrl-C leaves the batch out. Its runs wait, count against the budget of
// others, and can be cancelled or taken back: the batch is, with the last of them. What was
// asked for then is asked anew.
func TestBatchesOfRunsThatAreCancelled(t *testing.T) {
	c := crowdOf(2, 1)
	s := batchStage(t, "openai", c)
	s.model.ScriptBatches(llmtest.Slow(1_000_000))
	p := s.fork("REVERIE_JOBS_CONCURRENCY=1").launch("evolve", "--due", "--batch")
	p.says("evolve: batches out: 1, questions: 2", 1)
	p.signal(syscall.SIGINT)
	p.end().want(t, 130, "the next start with batches goes on with them")
	if batch := s.model.Batches()[0]; batch.Cancelled {
		t.Error("the batch was cancelled")
	}
	s.bring("other", spoken("s1", evening, "note it is told of")...)
	s.fork("REVERIE_BUDGET_CALLS_PER_DAY=2").run("evolve", "other").want(t, 4, "2 calls")
	s.fork("REVERIE_BUDGET_CALLS_PER_DAY=3").run("evolve", "other").want(t, 0)

	runs := s.rows(`select run_id from runs where status = 'running' order by group_id`)
	s.run("runs", "undo", runs[0]).want(t, 0)
	if s.model.Batches()[0].Cancelled {
		t.Error("the batch was cancelled while a run waits")
	}
	s.run("runs", "cancel", runs[1]).want(t, 0).shows(t, "pending")
	if !s.model.Batches()[0].Cancelled {
		t.Error("the batch was not cancelled")
	}
	s.run("runs", "cancel", runs[1]).want(t, 1, "is deferred")
	if got := s.rows(`select status, undone_at is null from runs where run_id in ($1, $2) order by group_id`, runs[0], runs[1]); !slices.Equal(got, []string{"failed|false", "deferred|true"}) {
		t.Errorf("runs: %q", got)
	}
	s.run("evolve", "--due", "--batch").want(t, 0)
	s.askedOnce(5) // two chunks of each group, and the other
	s.run("audit").want(t, 0)
}

// Two shards of a backfill work in batches at once, and do each group once.
func TestBatchesOfShards(t *testing.T) {
	c := crowdOf(4, 2)
	dates := []string{"backfill", "--yes", "--from", c.dates[0], "--to", c.dates[1]}
	var want []string
	asked := 0
	t.Run("directly", func(t *testing.T) {
		s := batchStage(t, "gemini", c)
		s.run(dates...).want(t, 0)
		want, asked = s.crowdState(c), len(s.model.Bill())
	})
	s := batchStage(t, "gemini", c)
	s.model.ScriptBatches(llmtest.Slow(3), llmtest.Slow(3))
	one := s.launch(append(slices.Clone(dates), "--batch", "--shard", "0/2")...)
	s.run(append(slices.Clone(dates), "--batch", "--shard", "1/2")...).want(t, 0)
	one.end().want(t, 0)
	if diff := cmp.Diff(want, s.crowdState(c)); diff != "" {
		t.Errorf("in batches (-directly +batches):\n%s", diff)
	}
	s.billedOnce(asked)
}

// Dreams of several questions, asked in batches by a daemon that is stopped between, come to
// what they come to directly.
func TestBatchesOfDreams(t *testing.T) {
	c := crowdOf(1, 1)
	dreamt := func(s *stage) []string { return (&victim{stage: s, t: t, group: "template"}).dreamt() }
	dreaming := func(t *testing.T) *stage {
		s := batchStage(t, "anthropic", c)
		s.set("REVERIE_DECIDE_ENABLED=false", "REVERIE_DREAM_MAX_INPUT_TOKENS=4000", "REVERIE_SCHEDULE_EVOLVE=never", "REVERIE_SCHEDULE_EXTRACT=never",
			"REVERIE_SCHEDULE_DREAM=7 3 1 1 *", "REVERIE_HTTP_LISTEN=")
		s.dreamers()
		return s
	}
	var want []string
	t.Run("directly", func(t *testing.T) {
		s := dreaming(t)
		s.run("dream", "--due").want(t, 0)
		want = dreamt(s)
	})
	s := dreaming(t)
	asked := len(s.model.Bill())
	s.set("REVERIE_SCHEDULE_BATCH=true")
	s.model.ScriptBatches(llmtest.Slow(3))
	p := s.launch("run")
	p.says("dream: batches out: 1", 1)
	p.stop()
	s.exec(`update leases set expires_at = 'epoch'`)
	p = s.launch("run")
	p.says("task done", 1)
	p.stop()
	if diff := cmp.Diff(want, dreamt(s)); diff != "" {
		t.Errorf("in batches (-directly +batches):\n%s", diff)
	}
	for _, c := range s.model.Bill()[asked:] {
		if c.Batch == "" {
			t.Errorf("asked directly: %.200s", c.User)
		}
	}
	if n := len(s.model.Bill()) - asked; n < 2 || s.one(`select count(*) from llm_calls where purpose <> 'embed'`) != fmt.Sprint(n+asked) {
		t.Errorf("%d questions of dreams are billed", n)
	}
}
