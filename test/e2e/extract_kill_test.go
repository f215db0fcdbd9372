package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// speaker is a victim with a session of six turns, which make three chunks and a
// fold.
func (s *stage) speaker(t *testing.T, group string) *victim {
	t.Helper()
	own := *s
	own.t, own.model = t, llmtest.New(t)
	own.env = append(slices.Clone(s.env), "REVERIE_LLM_BASE_URL="+own.model.URL("openai"))
	own.model.Respond(scribe(t))
	own.bring(group, spoken("s1", evening, "note Lin drinks tea", "note Mia hosts the game nights", "change Lin drinks tea => Lin drinks coffee", "hello",
		"note Bo takes the minutes", "good night")...)
	own.bring(group, spoken("s2", evening, "note Ann waters the plants")...) // is not due
	return &victim{stage: &own, t: t, group: group, model: own.model, args: []string{"extract", "--due", "--group", group}}
}

// remembered is everything that the sessions of a group have come to, without what
// differs between two runs of the same.
func (v *victim) remembered() []string {
	v.t.Helper()
	var out []string
	for _, part := range []struct{ name, query string }{
		{"memory", `select m.statement, m.version, m.status, p.statement, m.tags, m.session_id, m.strength, m.weight, m.last_supported_at, m.change_summary, m.embedding_model
			from memories m left join memories p on p.group_id = m.group_id and p.memory_id = m.parent_id
			where m.group_id = $1 order by m.statement collate "C", m.version`},
		{"change", `select action, old_statement, new_statement, change_summary, version, chunk_no, evidence from memory_change_log where group_id = $1 order by 6, 1, 2, 3`},
		{"use", `select u.job, u.message_id, u.session_id, (select string_agg(c.chunk_no || c.status, ',') from run_chunks c
				where c.group_id = u.group_id and c.run_id = u.run_id and u.message_id = any (c.message_ids)), u.run_id is not null
			from message_uses u where group_id = $1 order by 1, 2`},
		{"session", `select to_jsonb(s) - 'group_id' - 'created_at' - 'updated_at' from sessions s where group_id = $1 order by session_id`},
		{"rolling", `select session_id, summary, messages, turns, tokens, first_message_id, last_message_id from session_summaries where group_id = $1 order by 1`},
		{"run", `select job, session_id, status, attempt, stats, error from runs where group_id = $1 order by started_at`},
		{"chunk", `select chunk_no, input_sha256, message_ids, status, refusals from run_chunks where group_id = $1 order by 1`},
		{"answer", `select purpose, answer from answers where group_id = $1 order by 1, 2`},
		{"lease", `select holder from leases where group_id = $1 and expires_at > 'epoch'`},
		{"setback", `select job, failures from setbacks where group_id = $1`},
	} {
		for _, row := range v.rows(part.query, v.group) {
			out = append(out, part.name+" "+uuidPattern.ReplaceAllString(row, "id"))
		}
	}
	return out
}

// TestKillExtractAnywhere kills extraction at steps spread over all that it says to
// the database, before or after the database hears of it. Run again, it reads each
// turn once, asks nothing of which the answer is kept, and comes to the same.
func TestKillExtractAnywhere(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_SESSION_MAX_MESSAGES=4", "REVERIE_SHORT_TERM_MAX_ITEMS=2", "REVERIE_SHORT_TERM_COMPRESSION_THRESHOLD=4", "REVERIE_SHORT_TERM_EXPIRE_AFTER=0s")
	calm := s.speaker(t, "undisturbed")
	o, steps := calm.through(func(*process, int) verdict { return pass })
	o.want(t, 0)
	want, questions := calm.remembered(), len(calm.questions())
	for _, row := range []string{"memory Lin drinks coffee|2|active|Lin drinks tea", "rolling s1|", "use extract|s1-1200-6a|s1|3applied|true", "use extract|s2-1200-1|s2||false",
		"use summarize|s1-1200-1|", "run extract|s1|succeeded|1"} {
		if !slices.ContainsFunc(want, func(got string) bool { return strings.HasPrefix(got, row) }) {
			t.Fatalf("the undisturbed state lacks %q:\n%s", row, strings.Join(want, "\n"))
		}
	}
	if questions != 4 {
		t.Fatalf("it took %d questions, want 3 chunks and a fold", questions)
	}
	const kills = 4 // up to some way before the end: a quiet machine takes fewer steps
	for i := range kills {
		at, last := steps*(2*i+1)/(2*kills+2), []verdict{pass, lose}[i%2]
		t.Run(fmt.Sprintf("step %d of %d", at, steps), func(t *testing.T) {
			t.Parallel()
			v := s.speaker(t, fmt.Sprintf("killed-%d", i))
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
			v.expire()
			kept, asked := len(v.rows(`select 1 from answers where group_id = $1`, v.group)), len(v.questions())
			v.run(v.args...).want(t, 0)
			if n := len(v.questions()) - asked; n != questions-kept {
				t.Errorf("%d answers were kept; the rerun asked %d questions, want %d", kept, n, questions-kept)
			}
			if diff := cmp.Diff(want, v.remembered()); diff != "" {
				t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
			}
			v.run("audit", "--group", v.group).want(t, 0)
		})
	}
}

// TestTwoExtract: two processes at once, while the dialogue goes on: each turn is
// extracted once, and what comes meanwhile waits for the next time.
func TestTwoExtract(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	groups := []string{"g1", "g2", "g3"}
	for _, g := range groups {
		s.bring(g, spoken("s1", evening, "note one", "note two", "note three", "note four", "note five of "+g)...)
	}
	asked, gate := make(chan struct{}, 10), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		asked <- struct{}{}
		return llmtest.Text(transcribe(t, r)).After(gate)
	})
	first, second := s.launch("extract", "--due"), s.launch("extract", "--due")
	for range groups {
		await(t, "a question for each group", asked)
	}
	done := make(chan outcome, len(groups))
	for _, g := range groups {
		go func() {
			done <- s.feed(jsonLines(t, spoken("s1", evening.Add(time.Hour), "note six", "hello")), "import", "-", "--group", g)
		}()
	}
	for range groups {
		(<-done).want(t, 0)
	}
	close(gate)
	first.end().want(t, 0).silent(t)
	second.end().want(t, 0).silent(t)
	if diff := cmp.Diff([]string{"g1|10|4|1|2", "g2|10|4|1|2", "g3|10|4|1|2"}, s.rows(`select s.group_id,
			(select count(*) from message_uses u where u.group_id = s.group_id and u.job = 'extract' and u.run_id is not null),
			(select count(*) from message_uses u where u.group_id = s.group_id and u.job = 'extract' and u.run_id is null), extractions, new_turns
			from sessions s order by 1`)); diff != "" {
		t.Errorf("messages that were extracted and wait, extractions, turns that wait (-want +got):\n%s", diff)
	}
	if n := len(s.questions()); n != len(groups) {
		t.Errorf("%d questions were asked about %d sessions", n, len(groups))
	}
	s.run("extract", "--all").want(t, 0)
	if got := s.one(`select count(*) from message_uses where job = 'extract' and run_id is null`); got != "0" {
		t.Errorf("%s messages wait at last", got)
	}
}
