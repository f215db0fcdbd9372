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

// nights are a first night that teaches ten memories, and a second one of four
// chunks in which everything happens: support, updates, an update of an update,
// deletes with and without a quote, a duplicate, a refused line, messages that
// are filtered, and at last changes that wait for a person.
func nights() (first, second []chatLine) {
	facts := []string{"The group meets on Fridays", "Lin drinks green tea", "Mia hosts the game nights", "Bo takes the minutes",
		"Ann waters the plants", "大家都爱吃火锅", "The cat is called Momo", "Rent is paid on the first", "Nobody parks in the yard", "Quizzes start at eight"}
	var notes []string
	for _, f := range facts {
		notes = append(notes, "note "+f)
	}
	first = chat("2025-03-03", notes...)
	second = chat("2025-03-04",
		"again "+facts[0], "change "+facts[1]+" => Lin drinks black tea", "note The printer is broken", "  ", "hello",
		"change Lin drinks black tea => Lin drinks no tea", "drop "+facts[2], "tool output", "note Chess is on Mondays", "forget "+facts[3],
		"note the printer is BROKEN", "again "+facts[0], "note The key is sk-proj-Abc123Def456Ghi789Jkl012Mno345Pqr678", "drop Chess is on Mondays", "good night",
		"change "+facts[4]+" => Bo waters the plants", "note Ann moved to Lisbon", "drop "+facts[5], "drop "+facts[6], "bye")
	second[7].Role = "tool"
	return first, second
}

const chunksOfSecond = 4

// groupTables are copied in this order: what others refer to comes first.
var groupTables = []string{"groups", "runs", "run_chunks", "messages", "memories", "memory_evidence", "memory_change_log"}

// copyGroup makes another group with the rows of one, so that many tests begin
// with the same past; more are tables that are copied besides.
func (s *stage) copyGroup(from, to string, more ...string) {
	s.t.Helper()
	for _, table := range slices.Concat(groupTables, more) {
		columns := s.plainColumns(table)
		s.exec(`insert into `+table+` (`+columns+`) overriding system value select `+columns+` from (select (jsonb_populate_record(null::`+table+`,
			to_jsonb(t) || jsonb_build_object('group_id', $2::text))).* from `+table+` t where group_id = $1 order by t::text) c`, from, to)
	}
}

// plainColumns are those of a table that are not generated from others.
func (s *stage) plainColumns(table string) string {
	s.t.Helper()
	return s.one(`select string_agg(quote_ident(column_name), ', ' order by ordinal_position) from information_schema.columns
		where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`, table)
}

// state is everything that a group has come to, without what differs between two
// runs of the same: ids, instants of the clock, and what each call cost.
func (s *stage) state(group string) []string {
	s.t.Helper()
	var out []string
	for _, part := range []struct{ name, query string }{
		{"memory", `select m.statement, m.version, m.status, p.statement, m.tags, m.strength, m.weight, m.last_supported_at, m.change_summary,
			m.embedding_model, m.ended_at is not null, m.content_hash from memories m
			left join memories p on p.group_id = m.group_id and p.memory_id = m.parent_id where m.group_id = $1 order by m.statement collate "C", m.version`},
		{"message", `select m.message_id, m.outcome, (select string_agg(c.chunk_no || c.status, ',') from run_chunks c
				where c.group_id = m.group_id and m.message_id = any (c.message_ids) and c.run_id = m.run_id)
			from messages m where m.group_id = $1 order by sent_at`},
		{"change", `select c.action, c.old_statement, c.new_statement, c.change_summary, c.version, c.chunk_no, c.evidence
			from memory_change_log c where c.group_id = $1 order by 6, 1, 2, 3`},
		{"evidence", `select m.statement, e.message_id, e.author, e.quote, e.sent_at, e.local_date, e.action
			from memory_evidence e join memories m using (group_id, memory_id) where e.group_id = $1 order by 1, 2, 7`},
		{"run", `select job, status, stats, model, prompt_sha256, error from runs where group_id = $1 order by started_at`},
		{"chunk", `select c.chunk_no, c.input_sha256, c.message_ids, c.answer, c.status, c.refusals from run_chunks c
			join runs r using (group_id, run_id) where c.group_id = $1 order by r.started_at, 1`},
		{"held", `select chunk_no, whole, reason, status, plan from held_plans where group_id = $1 order by 1`},
		{"lease", `select holder from leases where group_id = $1 and expires_at > 'epoch'`},
	} {
		for _, row := range s.rows(part.query, group) {
			out = append(out, part.name+" "+uuidPattern.ReplaceAllString(row, "id"))
		}
	}
	return out
}

// killStage is a stage with a group "template" after the first night and with the
// messages of the second, to be copied.
func killStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_EVOLVE_MAX_MESSAGES=5", "REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	first, second := nights()
	s.bring("template", first...)
	s.run("evolve", "--group", "template").want(t, 0)
	s.bring("template", second...)
	return s
}

// victim is one group whose evolve is to be killed.
type victim struct {
	*stage
	t     *testing.T
	group string
	model *llmtest.Server
	args  []string
}

// victim copies the template for a subtest, with a model server of its own.
func (s *stage) victim(t *testing.T, group string, args ...string) *victim {
	t.Helper()
	own := *s
	own.t, own.model = t, llmtest.New(t)
	own.env = append(slices.Clone(s.env), "REVERIE_LLM_BASE_URL="+own.model.URL("openai"))
	own.copyGroup("template", group)
	own.model.Respond(scribe(t))
	return &victim{stage: &own, t: t, group: group, model: own.model, args: append([]string{"evolve", "--group", group}, args...)}
}

// through runs the victim in a process of its own, whose every packet to
// PostgreSQL is step's to know of first.
func (v *victim) through(step func(p *process, n int) verdict) (outcome, int) {
	v.t.Helper()
	var p *process
	ready := make(chan struct{})
	l := newLink(v.t, v.url, func(n int) verdict {
		<-ready
		return step(p, n)
	})
	p = v.fork("REVERIE_DATABASE_URL=" + l.dsn).launch(v.args...)
	close(ready)
	o := p.end()
	l.cut()
	v.forgotten(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	return o, l.sent
}

// kill is kill -9, and waits until the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be dead already
	<-p.done
}

// stored is how many chunks of the second night have an answer in the database.
func (v *victim) stored() int {
	return len(v.rows(`select 1 from run_chunks c join runs r using (group_id, run_id)
		where group_id = $1 and c.status in ('answered', 'applied', 'held') and r.window_since > '2025-03-04'`, v.group))
}

// recover lets the dead holder's lease run out, as it does within 15 seconds, and
// runs again undisturbed. No answer that was stored may be asked for again.
func (v *victim) recover() {
	v.t.Helper()
	v.expire()
	stored, asked := v.stored(), len(v.questions())
	v.run(v.args...).want(v.t, 0)
	if n, want := len(v.questions())-asked, chunksOfSecond-stored; n != want {
		v.t.Errorf("%d answers were stored; the rerun asked %d questions, want %d", stored, n, want)
	}
}

func (v *victim) expire() {
	v.exec(`update leases set expires_at = 'epoch' where group_id = $1`, v.group)
}

// undisturbed is the state that every victim must come to, and how many packets
// it takes to get there.
func (s *stage) undisturbed(t *testing.T, group string, args ...string) ([]string, int) {
	t.Helper()
	v := s.victim(t, group, args...)
	o, n := v.through(func(*process, int) verdict { return pass })
	o.want(t, 0)
	if got := len(v.questions()); got != chunksOfSecond {
		t.Fatalf("the second night took %d questions, want %d", got, chunksOfSecond)
	}
	state := v.state(group)
	for _, want := range []string{`memory Lin drinks no tea|3|active|Lin drinks black tea`, `memory Mia hosts the game nights|1|deprecated`,
		`memory The printer is broken|1|active`, `memory Bo takes the minutes|1|active`, `memory Chess is on Mondays|1|deprecated`,
		`memory Ann waters the plants|1|active`, `message 2025-03-04-20|considered|4applied`, `message 2025-03-04-4|filtered|1applied`} {
		if !slices.ContainsFunc(state, func(row string) bool { return strings.HasPrefix(row, want) }) {
			t.Fatalf("the undisturbed state lacks %q:\n%s", want, strings.Join(state, "\n"))
		}
	}
	return state, n
}

// same compares the state of a victim with the undisturbed one.
func (v *victim) same(want []string) {
	v.t.Helper()
	if diff := cmp.Diff(want, v.state(v.group)); diff != "" {
		v.t.Errorf("the end differs from an undisturbed run's (-want +got):\n%s", diff)
	}
}

// TestKillAnywhere kills evolve at steps spread over all it says to the database,
// before or after the database hears of it, and some runs twice; then it runs
// again, and nothing shows that anything happened.
func TestKillAnywhere(t *testing.T) {
	t.Parallel()
	s := killStage(t)
	args := []string{"--until", "2025-03-06"}
	want, steps := s.undisturbed(t, "undisturbed", args...)
	random := rand.New(rand.NewPCG(1, uint64(steps)))
	const kills = 10
	for i := range kills {
		at, last := 1+(steps*i+random.IntN(steps))/kills, []verdict{pass, lose}[i%2]
		again := 1 + random.IntN(steps)
		t.Run(fmt.Sprintf("step %d of %d", at, steps), func(t *testing.T) {
			t.Parallel()
			v := s.victim(t, fmt.Sprintf("killed-%d", i), args...)
			killAt := func(at int) {
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
			}
			killAt(at)
			if i%3 == 0 {
				v.expire()
				killAt(again)
			}
			v.recover()
			v.same(want)
		})
	}
}

// TestKillWhileAsked kills evolve while the model is thinking about each of the
// chunks, without a window and with days of context.
func TestKillWhileAsked(t *testing.T) {
	t.Parallel()
	s := killStage(t)
	args := []string{"--days", "3"}
	want, _ := s.undisturbed(t, "undisturbed", args...)
	for chunk := 1; chunk <= chunksOfSecond; chunk++ {
		t.Run(fmt.Sprint("chunk ", chunk), func(t *testing.T) {
			t.Parallel()
			v := s.victim(t, fmt.Sprintf("asked-%d", chunk), args...)
			asked, n := make(chan struct{}), atomic.Int32{}
			v.model.Respond(func(r llmtest.Request) llmtest.Answer {
				if int(n.Add(1)) == chunk {
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
			v.run(v.args...).want(t, 11, fmt.Sprint(":", p.cmd.Process.Pid))
			v.recover()
			v.same(want)
		})
	}
}
