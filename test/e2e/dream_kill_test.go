package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// dreamers brings a group "template" with two sessions that do not fit in one question:
// a dream of several chunks.
func (s *stage) dreamers() {
	s.t.Helper()
	for i, what := range []string{"Lin likes green tea", "Bo still has to send the photos"} {
		var notes []string
		for place := range 9 {
			notes = append(notes, fmt.Sprintf("note %s at place %d%s", what, place+1, strings.Repeat(", and so it was", 28)))
		}
		s.hears("template", fmt.Sprint("s", i+1), evening.Add(time.Duration(i)*2*time.Hour), notes...)
	}
}

// dreamer copies the template for a subtest, with a model server of its own.
func (s *stage) dreamer(t *testing.T, group string) *victim {
	t.Helper()
	own := *s
	own.t, own.model = t, llmtest.New(t)
	own.env = append(slices.Clone(s.env), "REVERIE_LLM_BASE_URL="+own.model.URL("openai"))
	own.model.Respond(scribe(t))
	own.copyGroup("template", group, "sessions", "message_uses")
	return &victim{stage: &own, t: t, group: group, model: own.model, args: []string{"dream", "--due", "--group", group}}
}

// dreamt is everything that the dreams of a group have come to, without what differs
// between two runs of the same.
func (v *victim) dreamt() []string {
	v.t.Helper()
	var out []string
	for _, part := range []struct{ name, query string }{
		{"memory", `select m.statement, m.version, m.status, m.kind, m.tags, m.strength, m.change_summary, m.embedding_model from memories m
			where m.group_id = $1 order by m.statement collate "C", m.kind, m.version`},
		{"source", `select m.statement, s.position, o.statement from memory_sources s join memories m on m.group_id = s.group_id and m.memory_id = s.memory_id
			join memories o on o.group_id = s.group_id and o.memory_id = s.source_id where s.group_id = $1 order by 1, 2`},
		{"change", `select action, old_statement, new_statement, change_summary, version, evidence from memory_change_log where group_id = $1 order by 1, 2, 3, 4`},
		{"use", `select u.job, m.statement, r.status from memory_uses u join memories m using (group_id, memory_id)
			join runs r on r.group_id = u.group_id and r.run_id = u.run_id where u.group_id = $1 order by 1, 2`},
		{"session", `select session_id, dreamt_until = last_at, unfinished from sessions where group_id = $1 order by 1`},
		{"run", `select job, session_id, status, attempt, stats, error from runs where group_id = $1 and job = 'dream' order by started_at`},
		{"chunk", `select c.chunk_no, c.status, cardinality(c.memory_ids), c.refusals from run_chunks c join runs r using (group_id, run_id)
			where c.group_id = $1 and r.job = 'dream' order by 1`},
		{"lease", `select holder from leases where group_id = $1 and expires_at > 'epoch'`},
		{"setback", `select job, failures from setbacks where group_id = $1`},
	} {
		for _, row := range v.rows(part.query, v.group) {
			out = append(out, part.name+" "+uuidPattern.ReplaceAllString(row, "id"))
		}
	}
	return out
}

// TestKillDreamAnywhere kills a dream at steps spread over all that it says to the
// database, before or after the database hears of it, and while the model thinks. Run
// again, it makes the one dream, asks nothing of which the answer is kept, and comes to
// the same.
func TestKillDreamAnywhere(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	s.set("REVERIE_DREAM_MAX_INPUT_TOKENS=4000", "REVERIE_DREAM_MAX_ITEMS=30")
	s.dreamers()
	calm := s.dreamer(t, "undisturbed")
	o, steps := calm.through(func(*process, int) verdict { return pass })
	o.want(t, 0)
	want, questions := calm.dreamt(), calm.dreamQuestions()
	for _, row := range []string{"memory Lin likes green tea at place 1", "memory The group looked back on 1 sessions", "source Lin likes green tea at place 1",
		"use dream|Lin likes green tea at place 1", "session s2|true", "run dream|s2|succeeded|1"} {
		if !slices.ContainsFunc(want, func(got string) bool { return strings.HasPrefix(got, row) }) {
			t.Fatalf("the undisturbed state lacks %q:\n%s", row, strings.Join(want, "\n"))
		}
	}
	if questions < 2 {
		t.Fatalf("it took %d questions, want two chunks at least", questions)
	}
	rerun := func(v *victim) {
		v.t.Helper()
		v.expire()
		kept, asked := len(v.rows(`select 1 from answers where group_id = $1 and purpose = 'dream'`, v.group)), v.dreamQuestions()
		v.run(v.args...).want(v.t, 0)
		if n := v.dreamQuestions() - asked; n != questions-kept {
			v.t.Errorf("%d answers were kept; the rerun asked %d questions, want %d", kept, n, questions-kept)
		}
		if diff := cmp.Diff(want, v.dreamt()); diff != "" {
			v.t.Errorf("the end differs from an undisturbed dream's (-want +got):\n%s", diff)
		}
		v.run("audit", "--group", v.group).want(v.t, 0)
	}
	const kills = 5 // up to some way before the end: a quiet machine takes fewer steps
	for i := range kills {
		at, last := steps*(2*i+1)/(2*kills+2), []verdict{pass, lose}[i%2]
		t.Run(fmt.Sprintf("step %d of %d", at, steps), func(t *testing.T) {
			t.Parallel()
			v := s.dreamer(t, fmt.Sprintf("killed-%d", i))
			o, _ := v.through(func(p *process, n int) verdict {
				switch {
				case n == at:
					p.kill()
					return last
				case n > at:
					return lose
				}
				return pass
			})
			if o.code != -1 {
				t.Fatalf("exit code %d\n%s", o.code, o.stderr)
			}
			rerun(v)
		})
	}
	t.Run("in the second chunk", func(t *testing.T) {
		t.Parallel()
		v := s.dreamer(t, "second")
		reached := make(chan struct{}, 1)
		v.model.Respond(func(r llmtest.Request) llmtest.Answer {
			if last := readQuestion(t, r).LastDream; last != nil && *last != "" {
				reached <- struct{}{}
				return llmtest.Hang()
			}
			return llmtest.Text(transcribe(t, r))
		})
		p := v.launch(v.args...)
		await(t, "the second question", reached)
		p.signal(syscall.SIGKILL)
		if o := p.end(); o.code != -1 {
			t.Fatalf("exit code %d", o.code)
		}
		v.forgotten(p)
		v.model.Respond(scribe(t))
		rerun(v)
	})
}

// TestTwoDream: two schedulers at once make one dream for each group.
func TestTwoDream(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	groups := []string{"g1", "g2", "g3"}
	for _, g := range groups {
		s.hears(g, "s1", evening, "note Lin likes green tea")
	}
	asked, gate := make(chan struct{}, 10), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		asked <- struct{}{}
		return llmtest.Text(transcribe(t, r)).After(gate)
	})
	before := s.dreamQuestions()
	first, second := s.launch("dream", "--due"), s.launch("dream", "--due")
	for range groups {
		await(t, "a question for each group", asked)
	}
	close(gate)
	first.end().want(t, 0).silent(t)
	second.end().want(t, 0).silent(t)
	s.run("dream", "--due").want(t, 0).shows(t, "nothing is due")
	if diff := cmp.Diff([]string{"g1|s1|succeeded|1", "g2|s1|succeeded|1", "g3|s1|succeeded|1"},
		s.rows(`select group_id, session_id, status, attempt from runs where job = 'dream' order by 1`)); diff != "" {
		t.Errorf("dreams (-want +got):\n%s", diff)
	}
	if n := s.dreamQuestions() - before; n != len(groups) {
		t.Errorf("%d questions were asked about %d groups", n, len(groups))
	}
	if got := s.one(`select count(*), count(distinct (group_id, memory_id)) from memory_uses where job = 'dream'`); got != "6|6" {
		t.Errorf("memories taken in: %s", got)
	}
}
