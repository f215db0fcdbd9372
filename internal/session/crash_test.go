package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// crashStory brings what takes a run through all that it can do: two chunks with
// facts, a replaced and a supported one, a refusal, and a fold in two parts.
func crashStory(s *stage) {
	s.pipe.Rule.KeepTurns, s.pipe.Rule.FoldTurns = 2, 3
	s.chat("note One.", "note Two.")
	s.extract(Request{})
	s.pipe.Limits.MaxMessages, s.pipe.Limits.MaxInputTokens = 7, 3200
	long := strings.Repeat("word ", 1190)
	s.chat("change One. => One, refined.", "note Two.", long+"x", long+"y", "unsure Three.")
	s.say("u: note Four.", "a: ok", "u: who knows?")
}

// account is all that a run leaves to a group, without the ids that are new each
// time.
func (s *stage) account() (list []string) {
	s.Helper()
	for name, query := range map[string]string{
		"memory": `select m.statement, m.version, m.status, m.session_id, p.statement, round(m.strength::numeric, 6), m.change_summary, m.last_supported_at,
				m.content_hash, m.embedding_model, m.tags, (select count(*) from memory_evidence e where e.memory_id = m.memory_id)
			from memories m left join memories p on p.group_id = m.group_id and p.memory_id = m.parent_id where m.group_id = $1`,
		"change":  `select action, version, old_statement, new_statement, change_summary, chunk_no from memory_change_log where group_id = $1`,
		"use":     `select job, right(message_id, 3), run_id is null from message_uses where group_id = $1`,
		"session": `select messages, new_messages, new_tokens, new_turns, folded_messages, folded_tokens, folded_turns, extractions, extracted_until from sessions where group_id = $1`,
		"rolling": `select summary, messages, turns, tokens, right(first_message_id, 3), right(last_message_id, 3) from session_summaries where group_id = $1`,
		"run":     `select job, session_id, window_since, status, attempt, error, stats, finished_at is null from runs where group_id = $1`,
		"chunk":   `select chunk_no, status, refusals, cardinality(message_ids) from run_chunks where group_id = $1`,
		"answer":  `select purpose, answer from answers where group_id = $1`,
	} {
		for _, row := range s.rows(query, s.group) {
			list = append(list, name+": "+row)
		}
	}
	slices.Sort(list)
	return list
}

// TestCrashAnywhere kills the process before the first and the last of each sort of
// call that a run makes to the store. The next run ends in the state of one that
// nobody disturbed, each turn is extracted and folded once, and no stored answer is
// paid for twice. Every invariant holds of what is left, and at the end.
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
	if now := s.session(); bill != 4 || now.New.Messages != 1 || now.Unfolded().Turns != 2 {
		t.Fatalf("asked %d times, %+v: %v", bill, now, calm.Calls)
	}
	for n, call := range calm.Ends() {
		s := h.on(t, fmt.Sprintf("crash%02d", n))
		crashStory(s)
		asked := s.asked()
		if _, err := s.runWith(s.dying(pgtest.NewMortal(s.store, n)), Request{}); !errors.Is(err, pgtest.ErrDead) {
			t.Fatalf("before call %d (%s): %v", n+1, call, err)
		}
		pgtest.Sound(t, s.store, s.group)
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
	pgtest.Sound(t, s.store, "")
}

// dying is the stage's pipeline with everything kept by m.
func (s *stage) dying(m *pgtest.Mortal) *Pipeline {
	p := s.pipeline(m)
	p.Limits, p.Rule = s.pipe.Limits, s.pipe.Rule
	return p
}

// TestLeaseLost lets somebody else take the group at points after which a run could
// still write.
func TestLeaseLost(t *testing.T) {
	h := hall(t)
	for _, call := range []string{"StartRun", "SaveAnswer", "Apply", "ApplyFold", "FinishRun"} {
		t.Run(call, func(t *testing.T) {
			s := h.on(t, strings.ToLower(call))
			s.pipe.Rule.KeepTurns, s.pipe.Rule.FoldTurns = 1, 1
			s.chat("note One.", "note Two.")
			var stolen bool
			m := pgtest.NewMortal(s.store, -1, func(next string) {
				if next == call && !stolen {
					stolen = true
					s.rows(`update leases set expires_at = 'epoch', fence = fence + 1, holder = 'thief' where group_id = $1 returning 1`, s.group)
				}
			})
			lease := must(s.store.AcquireLease(t.Context(), s.group, reverie.LeaseGroup, "test", 60e9))(t)
			res, err := s.dying(m).Run(t.Context(), holding{lease}, Request{GroupID: s.group, SessionID: s.id})
			wantErr(t, err, reverie.ErrLeaseLost)
			if applied := call == "ApplyFold" || call == "FinishRun"; applied != (s.session().New.Messages == 0) || res.Status == reverie.RunSucceeded {
				t.Errorf("%+v, %+v", res, s.session())
			}
			pgtest.Sound(t, s.store, s.group)
			s.rows(`delete from leases where group_id = $1 returning 1`, s.group)
			if _, err := s.runWith(s.dying(pgtest.NewMortal(s.store, -1)), Request{}); err != nil {
				t.Fatal(err)
			}
			s.facts("One. v1", "Two. v1")
			s.recap("One. Two. v1")
			s.rolling("One.|2|1|true|" + s.group + "-s1-001|" + s.group + "-s1-002|2")
			s.want(`select status from runs where group_id = $1`, "succeeded")
			pgtest.Sound(t, s.store, s.group)
		})
	}
}
