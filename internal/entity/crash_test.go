package entity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// crashStory brings what takes a run through all that it can do, in two chunks of
// several questions: people and a thing, a nickname, hearsay, what waits, what is
// joined, what is replaced.
func crashStory(s *stage) {
	s.say(evening.Add(-2*day), line{"u1:Kay", "I live in Lisbon"}, line{"u2:Lin", "Marta likes tea"})
	s.observe()
	s.pipe.Limits.MaxMessages, s.pipe.Limits.MaxSubjects = 6, 1
	s.say(evening.Add(-day), line{"u1:小K", "I moved to Porto"}, line{"u3:Bo", "Marta likes tea"}, line{"u2:Lin", "Bo is my brother"}, line{"u3:Bo", "call me Bobby"},
		line{"u4:Bo", "I live in Beja"}, line{"u1:小K", "Bo likes chess"}, line{"u1:小K", "I like tea"}, line{"u2:Lin", "Miso eats tuna, our cat"}, line{"u2:Lin", "good night"})
}

// account is all that a run leaves to a group, without the ids that are new each
// time.
func (s *stage) account() []string {
	s.Helper()
	var list []string
	for name, query := range map[string]string{
		"entity": `select kind, subject, status, version from entities where group_id = $1`,
		"name":   `select e.subject, n.kind, n.name from entity_names n join entities e using (group_id, entity_id) where group_id = $1`,
		"claim": `select e.subject, c.aspect, c.name, c.value, t.subject, c.self, c.version, p.value, c.confidence, round(c.strength::numeric, 6), c.status, c.last_supported_at,
				(select string_agg(v.quote || v.author_id, ',' order by v.quote) from entity_evidence v where v.group_id = c.group_id and v.claim_id = c.claim_id)
			from entity_claims c join entities e using (group_id, entity_id) left join entities t on t.group_id = c.group_id and t.entity_id = c.target_id
			left join entity_claims p on p.group_id = c.group_id and p.claim_id = c.parent_id where c.group_id = $1`,
		"change":  `select e.subject, l.chunk_no, l.action, l.old_text, l.new_text from entity_change_log l join entities e using (group_id, entity_id) where group_id = $1`,
		"waits":   `select subject, reason, status, last_at, expires_at from entity_observations where group_id = $1`,
		"use":     `select right(message_id, 5), run_id is null from message_uses where group_id = $1 and job = 'impression'`,
		"run":     `select job, status, attempt, error, stats, finished_at is null from runs where group_id = $1`,
		"chunk":   `select chunk_no, status, refusals, cardinality(message_ids) from run_chunks where group_id = $1`,
		"answers": `select answer from answers where group_id = $1`,
	} {
		for _, row := range s.rows(query, s.group) {
			list = append(list, name+": "+row)
		}
	}
	slices.Sort(list)
	return list
}

// TestCrashAnywhere kills the process before the first and the last of each sort of
// call that a run makes to the store. The next run ends in the state of one that nobody disturbed: no
// entity is half-written, no observation is lost, and no answer that was kept is
// paid for twice. Every invariant holds of what is left, and at the end.
func TestCrashAnywhere(t *testing.T) {
	s := newStage(t)
	crashStory(s)
	limits := s.pipe.Limits
	with := func(m *pgtest.Mortal) *Pipeline {
		p := s.pipeline(m)
		p.Limits = limits
		return p
	}
	asked := s.asked()
	undisturbed := pgtest.NewMortal(s.store, -1)
	if _, err := s.runWith(with(undisturbed), Request{}); err != nil {
		t.Fatal(err)
	}
	bill := s.asked() - asked
	want := s.account()
	if bill < 6 || len(undisturbed.Calls) < 24 || len(s.rows(`select 1 from entity_observations where status = 'waiting'`)) == 0 {
		t.Fatalf("asked %d times in %d calls: %v\n%s", bill, len(undisturbed.Calls), undisturbed.Calls, strings.Join(want, "\n"))
	}
	for n, call := range undisturbed.Ends() {
		s.group = fmt.Sprintf("c%02d", n)
		s.told = 0
		s.addGroup(s.group)
		s.pipe.Limits = s.pipeline(nil).Limits
		crashStory(s)
		asked := s.asked()
		if _, err := s.runWith(with(pgtest.NewMortal(s.store, n)), Request{}); !errors.Is(err, pgtest.ErrDead) {
			t.Fatalf("before call %d (%s): %v", n+1, call, err)
		}
		pgtest.Sound(t, s.store, s.group)
		paid := s.asked() - asked
		kept := len(s.rows(`select 1 from answers a join runs r using (group_id, run_id) where group_id = $1 and r.attempt = 1 and r.window_since > '2026-03-27'`, s.group))
		if _, err := s.runWith(with(pgtest.NewMortal(s.store, -1)), Request{}); err != nil {
			t.Fatalf("after a crash before call %d (%s): %v", n+1, call, err)
		}
		if again := s.asked() - asked - bill; again != paid-kept || again > 1 {
			t.Errorf("crash before call %d (%s): %d questions too many; %d were asked, %d answers kept", n+1, call, again, paid, kept)
		}
		if got := s.account(); !slices.Equal(got, want) {
			t.Errorf("crash before call %d (%s): -want +got\n%s", n+1, call, cmp.Diff(want, got))
		}
		if t.Failed() {
			break
		}
	}
	pgtest.Sound(t, s.store, "")
}

// TestLeaseLost lets somebody else take the group, at each point after which a
// run could still write.
func TestLeaseLost(t *testing.T) {
	all := newStage(t)
	for _, call := range []string{"OpenRun", "SaveAnswer", "ApplyEntities", "FinishRun"} {
		t.Run("before "+call, func(t *testing.T) {
			s := all.beside(t, call)
			s.say(evening.Add(-day), line{"u1:Kay", "I live in Lisbon"})
			stolen := false
			p := s.pipeline(pgtest.NewMortal(s.store, -1, func(next string) {
				if next == call && !stolen {
					stolen = true
					s.rows(`update leases set fence = fence + 1, holder = 'somebody else' where group_id = $1 returning 1`, s.group)
				}
			}))
			_, err := s.runWith(p, Request{})
			wantErr(t, err, reverie.ErrLeaseLost)
			pgtest.Sound(t, s.store, s.group)
			if applied := call == "FinishRun"; (len(s.people()) == 1) != applied {
				t.Errorf("people %q", s.people())
			}
			s.rows(`delete from leases where group_id = $1 returning 1`, s.group)
			if _, err := s.runWith(s.pipe, Request{}); err != nil {
				t.Fatalf("the next holder: %v", err)
			}
			if got := s.people(); !slices.Equal(got, []string{"person Kay [u1] aka  | city: Lisbon"}) {
				t.Errorf("people %q", got)
			}
			s.want(`select count(*) from runs where group_id = '`+s.group+`' and status = 'running'`, "0")
			pgtest.Sound(t, s.store, s.group)
		})
	}
}

// TestMergedWhileAsking has a person join two entities while the model is
// thinking: the chunk is refused whole, and done afresh by the next run.
func TestMergedWhileAsking(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-2*day), line{"u1:Kay", "I live in Lisbon"}, line{"u2:小K", "I like tea"})
	s.observe()
	ids := s.rows(`select entity_id from entities order by subject collate "C"`)
	s.say(evening.Add(-day), line{"u1:Kay", "I moved to Porto"}, line{"u2:小K", "I like coffee"})
	answer := observer(t)
	s.model.Respond(func(r llmtest.Request) llmtest.Answer { return answer(r) })
	p := s.pipeline(pgtest.NewMortal(s.store, -1, func(call string) {
		if call == "ApplyEntities" {
			if _, _, err := s.store.MergeEntities(s.Context(), s.group, ids[0], ids[1], "the same person"); err != nil {
				t.Error(err)
			}
		}
	}))
	before := s.asked()
	res, err := s.runWith(p, Request{})
	wantErr(t, err, reverie.ErrConflict)
	if res.Status != reverie.RunFailed || res.Stats.Deferred != 2 {
		t.Errorf("%+v", res)
	}
	s.observe()
	if got := s.people(); !slices.Equal(got, []string{"person Kay [u1 u2] aka 小K | city: Porto; likes coffee; likes tea"}) {
		t.Errorf("people %q", got)
	}
	if n := s.asked() - before; n > 2 {
		t.Errorf("asked %d times", n)
	}
	pgtest.Sound(t, s.store, "")
}

// TestJoinedWhileAsking has a person merge two entities, or take them apart, at
// each point between a run's reading who is who and its writing: nobody's words go
// to the other, and none are lost.
func TestJoinedWhileAsking(t *testing.T) {
	merge := func(s *stage, a, b string) {
		must(second(s.store.MergeEntities(s.Context(), s.group, a, b, "one person")))(s)
	}
	unmerge := func(s *stage, _, b string) {
		must(second(s.store.UnmergeEntity(s.Context(), s.group, b, "two people")))(s)
	}
	all := newStage(t)
	for name, c := range map[string]struct {
		before, during func(s *stage, a, b string)
		says           string
		want           []string
	}{
		"merge":   {nil, merge, "I like tea", []string{"person Ann [u1 u2] aka Ben | city: Porto; city: Rome; likes tea"}},
		"unmerge": {merge, unmerge, "I moved to Oslo", []string{"person Ann [u1] aka  | city: Porto", "person Ben [u2] aka  | city: Oslo"}},
	} {
		for _, at := range []string{"OpenRun", "SaveAnswer", "ApplyEntities"} {
			t.Run(name+" before "+at, func(t *testing.T) {
				s := all.beside(t, name+at)
				s.say(evening.Add(-2*day), line{"u1:Ann", "I live in Porto"}, line{"u2:Ben", "I live in Rome"})
				s.observe()
				ids := s.rows(`select entity_id from entities where group_id = $1 order by subject`, s.group)
				if c.before != nil {
					c.before(s, ids[0], ids[1])
				}
				s.say(evening.Add(-day), line{"u2:Ben", c.says})
				done := false
				p := s.pipeline(pgtest.NewMortal(s.store, -1, func(call string) {
					if call == at && !done {
						done = true
						c.during(s, ids[0], ids[1])
					}
				}))
				res, err := s.runWith(p, Request{})
				wantErr(t, err, reverie.ErrConflict)
				if res.Status != reverie.RunFailed || res.Stats.Deferred != 1 {
					t.Errorf("%+v", res)
				}
				s.observe()
				if got := s.people(); !slices.Equal(got, c.want) {
					t.Errorf("people %q, want %q", got, c.want)
				}
				pgtest.Sound(t, s.store, s.group)
			})
		}
	}
}

func second[A, B any](_ A, b B, err error) (B, error) { return b, err }
