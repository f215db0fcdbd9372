package dream

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// crashStory brings what takes a dream through two chunks, with a new item, one that is
// supported and a refusal.
func crashStory(s *stage) {
	s.talk("s0", "They met.", "likes Lin drinks tea")
	s.dream(Request{})
	s.small()
	s.pipe.Limits.MaxInputTokens += 30 // for what is known already
	s.talk("s1", "They met for one.", "likes Lin drinks tea | again")
	s.talk("s2", "They met for two.", "must Ana rents the tent")
}

// uncounted is the invariant that does not hold here: the extraction that talk tells of
// does not count what it makes.
const uncounted = "counts of changes add up"

// account is all that dreams leave to a group, without the ids that are new each time.
func (s *stage) account() (list []string) {
	s.Helper()
	for name, query := range map[string]string{
		"memory": `select m.statement, m.version, m.status, round(m.strength::numeric, 6), m.change_summary, m.last_supported_at, m.content_hash,
				m.embedding_model, m.tags, (select count(*) from memory_evidence e where e.memory_id = m.memory_id),
				(select count(*) from memory_sources e where e.memory_id = m.memory_id)
			from memories m where m.group_id = $1 and kind = 'dream'`,
		"change":  `select action, version, old_statement, new_statement, change_summary, chunk_no from memory_change_log where group_id = $1`,
		"use":     `select job, m.statement from memory_uses join memories m using (group_id, memory_id) where group_id = $1`,
		"session": `select session_id, dreamt_until = last_at from sessions where group_id = $1`,
		"run": `select session_id, window_since, window_until, r.status, r.error, r.attempt, r.stats, finished_at is null, c.status, c.refusals, cardinality(c.memory_ids)
			from runs r left join run_chunks c using (group_id, run_id) where group_id = $1 and job = 'dream'`,
		"answer": `select purpose, answer from answers where group_id = $1`,
	} {
		for _, row := range s.rows(query, s.group) {
			list = append(list, name+": "+row)
		}
	}
	slices.Sort(list)
	return list
}

// TestCrashAnywhere kills the process before the first and the last of each sort of
// call that a dream makes to the store. The next run leaves what an undisturbed one
// does, one run, and no stored answer is paid for twice. Every invariant holds of what
// is left, and at the end.
func TestCrashAnywhere(t *testing.T) {
	h := hall(t)
	s := h.on(t, "calm")
	crashStory(s)
	calm := pgtest.NewMortal(s.store, -1)
	asked := s.asked()
	if _, err := s.runWith(s.dying(calm), Request{}); err != nil {
		t.Fatal(err)
	}
	bill, want := s.asked()-asked, s.account()
	if bill != 2 {
		t.Fatalf("asked %d times: %v", bill, calm.Calls)
	}
	s.items("todo: Ana rents the tent v1", "preference: Lin drinks tea v1")
	for n, call := range calm.Ends() {
		s := h.on(t, fmt.Sprintf("crash%02d", n))
		crashStory(s)
		asked := s.asked()
		if _, err := s.runWith(s.dying(pgtest.NewMortal(s.store, n)), Request{}); !errors.Is(err, pgtest.ErrDead) {
			t.Fatalf("before call %d (%s): %v", n+1, call, err)
		}
		pgtest.Sound(t, s.store, s.group, uncounted)
		stored := len(s.rows(`select 1 from answers where group_id = $1`, s.group)) - 1 // of the story's beginning
		paid := s.asked() - asked
		if _, err := s.runWith(s.dying(pgtest.NewMortal(s.store, -1)), Request{}); err != nil {
			t.Fatalf("after a crash before call %d (%s): %v", n+1, call, err)
		}
		if again := s.asked() - asked - bill; again != paid-stored || again > 1 {
			t.Errorf("crash before call %d (%s): %d questions too many, %d paid and %d stored before", n+1, call, again, paid, stored)
		}
		if got := s.account(); !slices.Equal(got, want) {
			t.Fatalf("crash before call %d (%s):\n got %s\nwant %s", n+1, call, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
	pgtest.Sound(t, s.store, "", uncounted)
}

// dying is the stage's pipeline with everything kept by m.
func (s *stage) dying(m *pgtest.Mortal) *Pipeline {
	p := s.pipeline(m)
	p.Limits = s.pipe.Limits
	return p
}

// TestLeaseLost lets somebody else take the group at points after which a dream could
// still write.
func TestLeaseLost(t *testing.T) {
	h := hall(t)
	for _, call := range []string{"SaveAnswer", "Apply"} {
		t.Run(call, func(t *testing.T) {
			s := h.on(t, strings.ToLower(call))
			s.talk("s1", "They met for tea.", "likes Lin drinks tea")
			m := mortal(s, call, func() {
				s.rows(`update leases set expires_at = 'epoch', fence = fence + 1, holder = 'thief' where group_id = $1 returning 1`, s.group)
			})
			lease := must(s.store.AcquireLease(t.Context(), s.group, reverie.LeaseGroup, "test", 60e9))(t)
			res, err := s.dying(m).Run(t.Context(), holding{lease}, Request{GroupID: s.group})
			wantErr(t, err, reverie.ErrLeaseLost)
			if res.Status == reverie.RunSucceeded {
				t.Errorf("%+v", res)
			}
			s.rows(`delete from leases where group_id = $1 returning 1`, s.group)
			s.dream(Request{})
			s.items("preference: Lin drinks tea v1")
			s.narrative("tea. v1")
			s.want(`select status from runs where group_id = $1 and job = 'dream'`, "succeeded")
			pgtest.Sound(t, s.store, s.group, uncounted)
		})
	}
}
