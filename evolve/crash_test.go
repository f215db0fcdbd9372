package evolve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// crashStory brings what takes an evolution through all that it can do, in three
// chunks: creates, updates, deletes, support, a refusal and a held line, and memories
// that lost evidence: one comes back, and one ends.
func crashStory(s *stage) {
	lost := s.say(evening.Add(-30*day), "note Back.", "note Gone.")
	s.say(evening.Add(-30*day), "note One.", "note Two.", "note Three.", "note Four.", "note Five.", "note Six.")
	s.evolve()
	s.say(evening.Add(-2*day), "again Back.")
	s.evolve()
	s.erase(lost...)
	s.pipe.Limits.MaxMessages = 4
	s.say(evening.Add(-day), "note Seven.", "change Two. => Two, refined.", "again Three.", "small talk",
		"note Eight is https://example.com", "drop One.", "note Seven.", "again Four.",
		"change Seven. => Seven, refined.", "forget Three.")
	s.bring(reverie.Message{ID: fmt.Sprintf("%s-tool", s.group), Author: "calc", Role: reverie.RoleTool, Text: "42", SentAt: evening.Add(-day)})
}

// takenByHand are the invariants that do not hold of messages that the story's erase takes
// away, which leaves no record of an erasure as the store does.
var takenByHand = []string{"chunks consume what they name", "counts of messages add up", "counts of sessions add up"}

// account is all that a run leaves to a group, without the ids that are new each
// time.
func (s *stage) account() []string {
	s.Helper()
	var list []string
	for name, query := range map[string]string{
		"memory": `select m.statement, m.version, m.status, p.statement, round(m.strength::numeric, 6), m.weight, m.change_summary, m.last_supported_at,
				m.content_hash, m.embedding_model, m.tags, m.ended_at is null, (select count(*) from memory_evidence e where e.memory_id = m.memory_id)
			from memories m left join memories p on p.group_id = m.group_id and p.memory_id = m.parent_id where m.group_id = $1`,
		"change":  `select action, version, old_statement, new_statement, change_summary, chunk_no, evidence->0->>'quote' from memory_change_log where group_id = $1`,
		"message": `select text, sent_at, outcome, run_id is null from messages where group_id = $1`,
		"run":     `select job, window_since, status, attempt, error, stats, finished_at is null from runs where group_id = $1`,
		"chunk": `select c.chunk_no, c.status, c.refusals, c.answer, array(select m.text from messages m where m.group_id = c.group_id
			and m.message_id = any (c.message_ids) order by m.seq) from run_chunks c where c.group_id = $1`,
		"judged": `select m.statement, q.run_id is null, q.held from rejudgements q join memories m using (group_id, memory_id) where q.group_id = $1`,
		"held":   `select chunk_no, whole, reason, status, plan->0->>'old_statement' from held_plans where group_id = $1`,
	} {
		for _, row := range s.rows(query, s.group) {
			list = append(list, name+": "+row)
		}
	}
	slices.Sort(list)
	return list
}

// TestCrashAnywhere kills the process before the first and the last of each sort of
// call that a run makes to the store. The next run ends in the state of one that nobody disturbed, and
// no stored answer is paid for twice. Every invariant holds of what is left, and at the end.
func TestCrashAnywhere(t *testing.T) {
	s := newStage(t)
	crashStory(s)
	undisturbed := pgtest.NewMortal(s.store, -1)
	asked := len(s.questions())
	if _, err := s.runWith(t.Context(), s.pipelineOf(undisturbed, s.pipe.Limits), Request{}); err != nil {
		t.Fatal(err)
	}
	bill := len(s.questions()) - asked
	want := s.account()
	if bill != 3 || len(undisturbed.Calls) < 19 {
		t.Fatalf("asked %d times in %d calls: %v", bill, len(undisturbed.Calls), undisturbed.Calls)
	}
	if runs := s.rows(`select status, stats->>'chunks', stats->>'held', stats->>'refused' from runs order by started_at desc, run_id desc limit 1`); !slices.Equal(runs, []string{"held|3|1|1"}) {
		t.Fatalf("the story ends as %q", runs)
	}
	for n, call := range undisturbed.Ends() {
		s.group, s.pipe.Limits = fmt.Sprintf("crash%d", n), limits()
		s.addGroup(s.group)
		crashStory(s)
		asked := len(s.questions())
		dying := pgtest.NewMortal(s.store, n)
		if _, err := s.runWith(t.Context(), s.pipelineOf(dying, s.pipe.Limits), Request{}); !errors.Is(err, pgtest.ErrDead) {
			t.Fatalf("before call %d (%s): %v", n+1, call, err)
		}
		pgtest.Sound(t, s.store, s.group, takenByHand...)
		stored := len(s.rows(`select 1 from run_chunks where group_id = $1 and status = 'answered'`, s.group))
		paid := len(s.questions()) - asked
		limits := s.pipe.Limits
		if _, err := s.runWith(t.Context(), s.pipelineOf(pgtest.NewMortal(s.store, -1), limits), Request{}); err != nil {
			t.Fatalf("after a crash before call %d (%s): %v", n+1, call, err)
		}
		// What was asked and stored, or applied, is not asked again.
		done := len(s.rows(`select 1 from messages where group_id = $1 and run_id is null`, s.group))
		again := len(s.questions()) - asked - bill
		if again > 1 || stored > 0 && again > 0 || again > paid || done > 0 {
			t.Errorf("crash before call %d (%s): %d questions too many, %d messages left", n+1, call, again, done)
		}
		if got := s.account(); !slices.Equal(got, want) {
			t.Errorf("crash before call %d (%s):\n got %s\nwant %s", n+1, call, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
		if t.Failed() {
			break
		}
	}
	pgtest.Sound(t, s.store, "", takenByHand...)
}

// TestInterruptedByTheCaller ends a run while the model is being asked: it is
// deferred, and says so in its row.
func TestInterruptedByTheCaller(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-day), "note One.")
	ctx, cancel := context.WithCancel(t.Context())
	s.model.Respond(func(llmtest.Request) llmtest.Answer {
		cancel()
		return llmtest.Hang()
	})
	res, err := s.runWith(ctx, s.pipe, Request{})
	if !errors.Is(err, context.Canceled) || res.Status != reverie.RunDeferred || res.Stats.Deferred != 1 {
		t.Errorf("status %s, stats %+v, error %v", res.Status, res.Stats, err)
	}
	s.want(`select status, finished_at is not null, error <> '' from runs`, "deferred|true|true")
	s.want(`select outcome from llm_calls`, "canceled")
	s.model.Respond(scribe(t))
	s.evolve()
	s.want(`select status, attempt from runs order by started_at, run_id`, "deferred|1", "succeeded|2")
	pgtest.Sound(t, s.store, "")
}

// TestLeaseLost lets somebody else take the group, at each point after which a
// run could still write.
func TestLeaseLost(t *testing.T) {
	all := newStage(t)
	for _, call := range []string{"OpenRun", "RecordCall", "SaveEmbeddings", "Apply"} {
		t.Run("before "+call, func(t *testing.T) {
			s := all.beside(t, call)
			s.say(evening.Add(-2*day), "note One.", "note Two.", "note Three.")
			s.evolve()
			s.say(evening.Add(-day), "note Four.", "change One. => One, refined.")
			m := pgtest.NewMortal(s.store, -1)
			var thief holding
			m.Before = func(next string) {
				if next == call && thief.lease.Fence == 0 {
					s.rows(`update leases set expires_at = 'epoch' where group_id = $1 returning 1`, s.group)
					thief = s.hold()
				}
			}
			h := s.hold()
			p := s.pipelineOf(m, s.pipe.Limits)
			before := s.active()
			res, err := p.Run(t.Context(), h, Request{GroupID: s.group})
			wantErr(t, err, reverie.ErrLeaseLost)
			pgtest.Sound(t, s.store, s.group)
			if got := s.active(); !slices.Equal(got, before) {
				t.Errorf("active: %q", got)
			}
			if n := s.pending(); n == 0 {
				t.Error("no message is pending")
			}
			if call != "OpenRun" {
				s.want(`select status from runs where group_id = '`+s.group+`' and finished_at is null`, "running") // the next holder's to settle
			}
			// The next holder goes on where this one was stopped.
			res, err = s.pipe.Run(t.Context(), thief, Request{GroupID: s.group})
			if err != nil || res.Status != reverie.RunSucceeded {
				t.Fatalf("the next holder: %s, %v", res.Status, err)
			}
			if got := s.active(); !slices.Equal(got, []string{"Four. v1", "One, refined. v2", "Three. v1", "Two. v1"}) {
				t.Errorf("active: %q", got)
			}
			s.want(`select status, attempt from runs where group_id = '`+s.group+`' order by started_at, run_id`, "succeeded|1", "succeeded|1")
			s.want(`select count(*) from memory_change_log where group_id = '`+s.group+`'`, "5")
			pgtest.Sound(t, s.store, s.group)
		})
	}
}

// TestEditWhileAsking moves a memory's head while the model is thinking: the
// chunk is refused whole, and done afresh by the next run.
func TestEditWhileAsking(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-2*day), "note One.", "note Two.", "note Three.")
	s.evolve()
	s.say(evening.Add(-day), "note Four.", "change One. => One, refined.")
	m := pgtest.NewMortal(s.store, -1, func(call string) {
		if call != "Apply" {
			return
		}
		id := s.rows(`select memory_id from memories where statement = 'One.' and status = 'active'`)
		if len(id) == 1 {
			must(s.store.Edit(t.Context(), reverie.Edit{GroupID: s.group, MemoryID: id[0], Action: reverie.ActionDelete}))(t)
		}
	})
	res, err := s.runWith(t.Context(), s.pipelineOf(m, s.pipe.Limits), Request{})
	wantErr(t, err, reverie.ErrConflict)
	if res.Status != reverie.RunFailed || s.pending() != 2 {
		t.Errorf("status %s, %d pending", res.Status, s.pending())
	}
	if got := s.active(); !slices.Equal(got, []string{"Three. v1", "Two. v1"}) {
		t.Errorf("active: %q", got)
	}
	res = s.evolve() // the stored answer is about a group that is no more
	if res.Stats.Created != 1 || res.Stats.Refused != 1 {
		t.Errorf("stats %+v", res.Stats)
	}
	if n := len(s.questions()); n != 3 {
		t.Errorf("asked %d times", n)
	}
	pgtest.Sound(t, s.store, "")
}

// TestTakenUpInAnotherWindow leaves an answer whose messages lie outside the
// window that is asked for.
func TestTakenUpInAnotherWindow(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-3*day), "note One.", "note Two.")
	dying := pgtest.NewMortal(s.store, -1)
	dying.Before = func(call string) {
		if call == "Apply" {
			dying.Left = 0
		}
	}
	window := Request{Since: evening.Add(-4 * day), Until: evening.Add(-2 * day)}
	if _, err := s.runWith(t.Context(), s.pipelineOf(dying, s.pipe.Limits), window); !errors.Is(err, pgtest.ErrDead) {
		t.Fatal(err)
	}
	s.say(evening.Add(-day), "note Three.")
	res, err := s.run(Request{Since: evening.Add(-2 * day), Until: evening})
	if err != nil || res.Stats.Created != 1 || s.pending() != 2 {
		t.Fatalf("the other window: %+v, %v, %d pending", res.Stats, err, s.pending())
	}
	res, err = s.run(window)
	if err != nil || res.Stats.Created != 2 || s.pending() != 0 {
		t.Fatalf("the interrupted window: %+v, %v", res.Stats, err)
	}
	s.want(`select status, attempt, window_until from runs order by started_at, run_id`,
		"failed|1|"+s.local(window.Until), "succeeded|1|"+s.local(evening), "succeeded|2|"+s.local(window.Until))
	if n := len(s.questions()); n != 3 {
		t.Logf("asked %d times", n)
	}
	pgtest.Sound(t, s.store, "")
}

// local is a time as the test database's zone prints it.
func (s *stage) local(at time.Time) string {
	s.Helper()
	return s.rows(`select $1::timestamptz`, at)[0]
}
