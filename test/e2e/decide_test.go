package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// TestDecideSettings: a night is one call by default; what evolve's model had
// before it is compared where that is asked for, by a model and with a prompt of
// its own; off, nothing is compared or noted.
func TestDecideSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		env   []string
		note  string   // of the second night
		calls []string // purpose and model of the second night
		bases []string // of its decisions
		want  []string
	}{
		{"by default", nil, "On Fridays the group meets", []string{"evolve|gpt-5-mini"}, []string{"ADD|shown"}, []string{"On Fridays the group meets", "The group meets on Fridays"}},
		{"compared with what was shown", []string{"REVERIE_DECIDE_COMPARE_SHOWN=true", "REVERIE_LLM_COMPARE_MODEL=light"},
			"On Fridays the group meets", []string{"compare|light", "evolve|gpt-5-mini"}, []string{"NONE|compared"}, []string{"The group meets on Fridays"}},
		{"nothing comes near enough", []string{"REVERIE_DECIDE_COMPARE_SHOWN=true", "REVERIE_DECIDE_CANDIDATE_MIN_SCORE=1"},
			"Lin waters the plants", []string{"evolve|gpt-5-mini"}, []string{"ADD|none"}, []string{"Lin waters the plants", "The group meets on Fridays"}},
		{"what comes near is a stranger", []string{"REVERIE_DECIDE_COMPARE_SHOWN=true", "REVERIE_DECIDE_CANDIDATE_MIN_SCORE=0"},
			"Lin waters the plants", []string{"compare|gpt-5-mini", "evolve|gpt-5-mini"}, []string{"ADD|compared"}, []string{"Lin waters the plants", "The group meets on Fridays"}},
		{"off", []string{"REVERIE_DECIDE_ENABLED=false", "REVERIE_DECIDE_COMPARE_SHOWN=true"},
			"On Fridays the group meets", []string{"evolve|gpt-5-mini"}, []string{}, []string{"On Fridays the group meets", "The group meets on Fridays"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := dueStage(t)
			s.set(c.env...)
			s.bring("g1", chat(night(3), "note The group meets on Fridays")...)
			s.run("evolve", "--due").want(t, 0).silent(t)
			s.bring("g1", chat(night(4), "note "+c.note)...)
			s.run("evolve", "--due").want(t, 0).silent(t)
			got := s.rows(`select purpose, c.model from llm_calls c join runs r using (group_id, run_id)
				where r.window_since > '2025-03-03' and purpose <> 'embed' order by 1`)
			if diff := cmp.Diff(c.calls, got); diff != "" {
				t.Errorf("calls: %s", diff)
			}
			bases := s.rows(`select action, basis from decisions join runs r using (group_id, run_id) where r.window_since > '2025-03-03'`)
			if diff := cmp.Diff(c.bases, bases); diff != "" {
				t.Errorf("decisions: %s", diff)
			}
			run := s.rows(`select run_id from runs where window_since > '2025-03-03'`)[0]
			page := s.run("runs", "show", run).want(t, 0).stdout
			if told := strings.Contains(page, "decision NONE") && strings.Contains(page, "duplicate"); told != slices.Contains(c.bases, "NONE|compared") {
				t.Errorf("the run's page tells of a fact that was known: %v\n%s", told, page)
			}
			if got := s.active("g1"); !slices.Equal(got, c.want) {
				t.Errorf("remembered is %q, want %q", got, c.want)
			}
		})
	}
}

// TestTwoProcessesOneFact: two processes learn one fact in other words at the same
// time. The second finds the group busy while the first waits for its model, and
// what it writes afterwards supports the one memory.
func TestTwoProcessesOneFact(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_DECIDE_COMPARE_SHOWN=true")
	s.bring("g1", chat(night(3), "note The group meets on Fridays")...)
	s.bring("g1", chat(night(4), "note On Fridays the group meets")...)
	asked, gate := make(chan struct{}, 1), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		asked <- struct{}{}
		return llmtest.Text(transcribe(t, r)).After(gate)
	})
	first := s.launch("evolve", "--group", "g1", "--since", night(3), "--until", night(4))
	await(t, "the first one's question", asked)
	second := []string{"evolve", "--group", "g1", "--since", night(4), "--until", night(5)}
	s.launch(second...).end().want(t, 11, "busy")
	s.model.Respond(scribe(t))
	close(gate)
	first.end().want(t, 0).silent(t)
	s.run(second...).want(t, 0).silent(t)
	if got := s.active("g1"); !slices.Equal(got, []string{"The group meets on Fridays"}) {
		t.Errorf("remembered is %q", got)
	}
	got := s.rows(`select d.action, d.basis, m.statement, (select count(distinct local_date) from memory_evidence e where e.memory_id = m.memory_id)
		from decisions d join memories m using (group_id, memory_id) order by d.created_at`)
	if diff := cmp.Diff([]string{"ADD|none|The group meets on Fridays|2", "NONE|compared|The group meets on Fridays|2"}, got); diff != "" {
		t.Errorf("decisions: %s", diff)
	}
}
