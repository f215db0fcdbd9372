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

// observed is everything that a group's impressions have come to, without what
// differs between two runs of the same.
func (v *victim) observed() []string {
	v.t.Helper()
	var out []string
	for _, part := range []struct{ name, query string }{
		{"entity", `select subject, kind, status, version, run_id is not null from entities where group_id = $1 order by 1`},
		{"name", `select e.subject, n.kind, n.name, n.ended_at from entity_names n join entities e using (group_id, entity_id) where group_id = $1 order by 1, 2, 3`},
		{"claim", `select e.subject, c.aspect, c.name, c.value, c.version, c.status, c.self, c.strength, c.confidence, c.last_supported_at, p.value
			from entity_claims c join entities e using (group_id, entity_id)
			left join entity_claims p on p.group_id = c.group_id and p.claim_id = c.parent_id where c.group_id = $1 order by 1, 3, 5, 4`},
		{"evidence", `select c.value, v.message_id, v.author, v.quote, v.local_date from entity_evidence v
			join entity_claims c using (group_id, claim_id) where group_id = $1 order by 1, 2`},
		{"change", `select chunk_no, action, old_text, new_text, change_reason from entity_change_log where group_id = $1 order by 1, 2, 3, 4`},
		{"waits", `select subject, reason, status, last_at from entity_observations where group_id = $1 order by 1, 3, 4`},
		{"use", `select message_id, u.run_id is not null, (select string_agg(c.chunk_no || c.status, ',') from run_chunks c
			where c.group_id = u.group_id and c.run_id = u.run_id and u.message_id = any (c.message_ids))
			from message_uses u where group_id = $1 and job = 'impression' order by 1`},
		{"run", `select status, attempt, stats, error from runs where group_id = $1 and job = 'impression' order by started_at`},
		{"answer", `select input_sha256, answer from answers where group_id = $1 order by 1`},
	} {
		for _, row := range v.rows(part.query, v.group) {
			out = append(out, part.name+" "+uuidPattern.ReplaceAllString(row, "id"))
		}
	}
	return append(out, v.state(v.group)...)
}

// kept is how many answers the database has: those that observe, and evolve's of
// the last night.
func (v *victim) kept() int {
	return len(v.rows(`select 1 from answers where group_id = $1 and purpose = 'observe'
		union all select 1 from run_chunks c join runs r using (group_id, run_id)
		where group_id = $1 and r.job = 'evolve' and c.status in ('answered', 'applied', 'held') and r.window_since > '2025-03-05'`, v.group))
}

// observers is a stage with a group "template" whose two nights evolve has taken
// in, to be copied. Its impressions take several chunks and questions.
func observers(t *testing.T) *stage {
	t.Helper()
	s := dueStage(t)
	s.set("REVERIE_IMPRESSION_MAX_MESSAGES=4", "REVERIE_IMPRESSION_MAX_SUBJECTS=1")
	s.bring("template", chat(night(3), "self city Porto", "self city Lisbon", "about Bo pet Miso", "hello", "about Mia job nurse", "self job doctor")...)
	s.bring("template", chat(night(4), "self city Faro", "about Bo pet Miso", "good night", "about Lin city Rome")...)
	s.run("evolve", "--due").want(t, 0)
	return s
}

// watched is a victim whose command is to be killed.
func (s *stage) watched(t *testing.T, group, command string) *victim {
	t.Helper()
	v := s.victim(t, group)
	v.args = []string{command, "--group", group}
	return v
}

// wholeStory is the state that every victim must come to, how many questions it
// takes, and how many packets.
func (s *stage) wholeStory(t *testing.T, command string, words ...string) (state []string, questions, steps int) {
	t.Helper()
	v := s.watched(t, "undisturbed", command)
	o, steps := v.through(func(*process, int) verdict { return pass })
	o.want(t, 0)
	state, questions = v.observed(), len(v.questions())
	for _, want := range words {
		if !slices.ContainsFunc(state, func(row string) bool { return strings.HasPrefix(row, want) }) {
			t.Fatalf("the undisturbed state lacks %q:\n%s", want, strings.Join(state, "\n"))
		}
	}
	return state, questions, steps
}

// resumes runs a killed victim again, once its lease has run out: no answer that was
// kept is asked for again, and nothing shows that anything happened.
func (v *victim) resumes(want []string, questions int) {
	v.t.Helper()
	v.expire()
	kept, asked := v.kept(), len(v.questions())
	v.run(v.args...).want(v.t, 0)
	if n := len(v.questions()) - asked; n != questions-kept {
		v.t.Errorf("%d answers were kept; the rerun asked %d questions, want %d", kept, n, questions-kept)
	}
	if diff := cmp.Diff(want, v.observed()); diff != "" {
		v.t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
	}
}

// TestKillImpressionAnywhere kills the impression job at steps spread over all it
// says to the database, before or after the database hears of it.
func TestKillImpressionAnywhere(t *testing.T) {
	t.Parallel()
	s := observers(t)
	s.killAnywhere(t, "impression", 16, "claim Lin|feature|city|Faro|2|active|true", "claim Bo|feature|pet|Miso|1|active|false", "entity Mia|person|active",
		"change 3|", "run succeeded|1")
}

// TestKillBetweenJobs kills an evolve that impressions follow.
func TestKillBetweenJobs(t *testing.T) {
	t.Parallel()
	s := observers(t)
	s.set(impressionsOn)
	s.bring("template", chat("2025-03-06", "self city Braga", "note The group meets on Fridays", "about Bo pet Rex", "  ")...)
	s.killAnywhere(t, "evolve", 16, "claim Lin|feature|city|Braga|1|active|true", "memory The group meets on Fridays|1|active",
		"use 2025-03-06-3|true|1applied", "run succeeded|1")
}

// TestLastLineOfImpressions: a process that died when all was done but the last
// line of its run leaves nothing that waits; the next evolve of the group ends it.
func TestLastLineOfImpressions(t *testing.T) {
	t.Parallel()
	s := observers(t)
	s.set(impressionsOn)
	s.bring("template", chat("2025-03-06", "self city Braga")...)
	s.run("evolve", "--group", "template").want(t, 0)
	const runs = `select job, status, stats from runs where job = 'impression' order by started_at`
	want := s.rows(runs)
	s.exec(`update runs set status = 'running', finished_at = null where job = 'impression'`)
	s.run("evolve", "--group", "template").want(t, 0).shows(t, "no new messages")
	if diff := cmp.Diff(want, s.rows(runs)); diff != "" || len(want) != 1 {
		t.Errorf("runs of impressions: %s", diff)
	}
}

// killAnywhere kills a command at steps spread over all it says to the database.
func (s *stage) killAnywhere(t *testing.T, command string, kills int, words ...string) {
	t.Helper()
	want, questions, steps := s.wholeStory(t, command, words...)
	random := rand.New(rand.NewPCG(2, uint64(steps)))
	for i := range kills {
		at, last := 1+(steps*i+random.IntN(steps))/kills, []verdict{pass, lose}[i%2]
		t.Run(fmt.Sprintf("step %d of %d", at, steps), func(t *testing.T) {
			t.Parallel()
			v := s.watched(t, fmt.Sprintf("killed-%d", i), command)
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
			if o.code != -1 && o.code != 0 { // the last packets may come when all is done
				t.Fatalf("exit code %d\n%s", o.code, o.stderr)
			}
			v.resumes(want, questions)
		})
	}
}

// TestKillImpressionWhileAsked kills the impression job while the model is thinking
// about each of the questions: what it said before is kept.
func TestKillImpressionWhileAsked(t *testing.T) {
	t.Parallel()
	s := observers(t)
	want, questions, _ := s.wholeStory(t, "impression")
	if questions < 5 {
		t.Fatalf("there are %d questions only", questions)
	}
	for nth := 1; nth <= questions; nth++ {
		t.Run(fmt.Sprint("question ", nth), func(t *testing.T) {
			t.Parallel()
			v := s.watched(t, fmt.Sprintf("asked-%d", nth), "impression")
			asked, n := make(chan struct{}), atomic.Int32{}
			v.model.Respond(func(r llmtest.Request) llmtest.Answer {
				if int(n.Add(1)) == nth {
					close(asked)
					return llmtest.Hang()
				}
				return llmtest.Text(transcribe(t, r))
			})
			p := v.launch(v.args...)
			await(t, "the question", asked)
			p.signal(syscall.SIGKILL)
			if o := p.end(); o.code != -1 {
				t.Fatalf("exit code %d", o.code)
			}
			v.forgotten(p)
			v.model.Respond(scribe(t))
			if kept := v.kept(); kept != nth-1 {
				t.Errorf("%d answers are kept of %d", kept, nth-1)
			}
			v.run(v.args...).want(t, 11, fmt.Sprint(":", p.cmd.Process.Pid))
			v.resumes(want, questions)
		})
	}
}
