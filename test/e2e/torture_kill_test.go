//go:build torture

package e2e

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/fault"
	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/store/pgtest"
)

// play is a command that is to be killed, and the past that it comes upon.
type play struct {
	name string
	past func(s *stage)
	args func(s *stage) []string
	// again is what an operator does after the kill; nil: the same once more.
	again func(s *stage) []string
	file  func(s *stage) string // that it writes, whole or not at all; nil: it writes none
	// beyond is what it leaves elsewhere than in its own database; nil: nothing.
	beyond func(s *stage) []string
	// ends is what must be the same however often it is killed; nil: every row of the database.
	ends func(s *stage) []string
	// clients ask the server that the command starts, which is told to stop when they have what they want; nil: it
	// ends by itself. Their error is one of a server that is gone.
	clients func(s *stage, base string) error
	done    int // exit code of what is done again when all was done already; 0: it says so
	control
}

// control is a guard that is taken away: killed at a step, or "" for between its statements, and done again, the play must
// then show a symptom. The zero one is none.
type control struct{ off, step, without, symptom string }

// keepsAnswers is the control of a play whose answers are all in before a step.
func keepsAnswers(step string) control {
	return control{fault.Answer, step, "keeping answers before they are used", "answers that were paid for 0 were kept"}
}

// scene is a play with its calm end, on a stage that is copied for each kill.
type scene struct {
	*play
	*ordeal
	s     *stage
	end   []string
	lines []string       // of the file that it writes
	asked int            // questions of the calm run
	kept  int            // answers that were kept before it
	bill  bill           // before it
	steps map[string]int // how often each is reached

	mu     sync.Mutex
	killed map[string]bool
}

// double is the stage once more: a copy of its database, a model of its own, and the
// binary that can be broken.
func (s *stage) double(t *testing.T) *stage {
	t.Helper()
	own := *s
	own.t, own.model, own.url = t, llmtest.New(t), pgtest.Copy(t, s.url)
	own.model.Respond(scribe(t))
	own.model.ScriptBatches(llmtest.Slow(2), llmtest.Slow(2))
	db, err := sql.Open("postgres", own.url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	own.db = db
	own.env = append(slices.Clone(s.env), "REVERIE_DATABASE_URL="+own.url, "REVERIE_LLM_BASE_URL="+own.model.URL("openai"))
	if slices.Contains(s.env, embedsOnline) {
		own.set("REVERIE_EMBED_BASE_URL=" + own.model.URL("openai"))
	}
	return &own
}

// attended runs a command in a process of its own that may be told to break, and waits until the database has forgotten it.
// A server has clients; nil: it is none.
func (s *stage) attended(args []string, clients func(*stage, string) error, env ...string) outcome {
	s.t.Helper()
	p := startBinary(s.t, toBreak(s.t), s.fork(append(env, "REVERIE_LOG_FORMAT=json")...).env, args...)
	var err error
	if clients != nil && p.serves() {
		err = clients(s, servesAt.FindStringSubmatch(p.err.String())[1])
		p.signal(syscall.SIGTERM)
	}
	o := p.end()
	s.forgotten(p)
	if err != nil && o.code >= 0 {
		s.t.Errorf("its clients: %v\n%s", err, o.stderr)
	}
	return o
}

// direct are the questions that were not asked in batches.
func (s *stage) direct() []llmtest.Request {
	return slices.DeleteFunc(s.questions(), func(r llmtest.Request) bool { return r.Tier == llm.TierBatch })
}

// serves waits until a server serves, and tells whether it does, and has not ended.
func (p *process) serves() (so bool) {
	p.t.Helper()
	until(p.t, "a server", func() bool {
		select {
		case <-p.done:
			return true
		default:
			so = servesAt.MatchString(p.err.String())
			return so
		}
	})
	return so
}

// rehearse brings a play's past, and lets it come to its end undisturbed.
func (p *play) rehearse(t *testing.T, o *ordeal) *scene {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_JOBS_CONCURRENCY=1", "REVERIE_LLM_ATTEMPTS=1")
	s.model.Respond(scribe(t))
	p.past(s)
	_ = s.db.Close() // nobody may look at what is copied
	sc := &scene{play: p, ordeal: o, s: s, killed: map[string]bool{}}
	calm := s.double(t)
	sc.kept, sc.bill = calm.answers(), calm.bill()
	trace := filepath.Join(t.TempDir(), "trace")
	calm.attended(p.args(calm), p.clients, "REVERIE_FAULT_TRACE="+trace).want(t, 0)
	sc.end, sc.asked = sc.left(calm), len(calm.direct())
	if kept := calm.answers() - sc.kept; sc.asked > 0 && kept != sc.asked {
		t.Fatalf("%s asks %d questions, and keeps %d answers: what is asked twice could not be told", p.name, sc.asked, kept)
	}
	if p.file != nil {
		if sc.lines = calm.exportLines(p.file(calm)); len(sc.lines) == 0 {
			t.Fatalf("%s writes nothing", p.name)
		}
	}
	if bill := calm.bill(); slices.Contains(s.env, embedsOnline) && len(bill.asked) == 0 {
		t.Fatalf("%s asks for no vectors: what is asked twice could not be told", p.name)
	} else if wrong := bill.wrong(sc.bill, 0); len(wrong) > 0 {
		t.Fatalf("%s, undisturbed: %s", p.name, strings.Join(wrong, "\n"))
	}
	sc.steps = traced(t, trace)
	if wrong := sc.finish(calm); len(wrong) > 0 {
		t.Fatalf("%s, done again when all was done: %s", p.name, strings.Join(wrong, "\n"))
	}
	return sc
}

// traced is how often each step was reached by a process that wrote a trace.
func traced(t *testing.T, path string) map[string]int {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "renew the lease") { // that comes with time, and not with work
			steps[strings.TrimSpace(line)]++
		}
	}
	return steps
}

// finish does again what was killed, and returns what is wrong with the end.
func (sc *scene) finish(s *stage, env ...string) (wrong []string) {
	s.exec(`update leases set expires_at = 'epoch' where holder <> ''`)
	s.exec(`update batches set held_until = 'epoch', sent_at = 'epoch'`)
	args := sc.again
	if args == nil {
		args = sc.args
	}
	if o := s.attended(args(s), sc.clients, env...); o.code != 0 && o.code != sc.done {
		wrong = append(wrong, fmt.Sprintf("reverie %s: exit code %d\n%s%s", strings.Join(o.args, " "), o.code, o.stdout, o.stderr))
	}
	if diff := cmp.Diff(sc.end, sc.left(s)); diff != "" {
		wrong = append(wrong, "the end differs from the undisturbed one's (-want +got):\n"+diff)
	}
	if sc.file != nil && !slices.Equal(sc.lines, s.exportLines(sc.file(s))) {
		wrong = append(wrong, "the file differs from the undisturbed one's")
	}
	return wrong
}

// left is what a play has left: every row of its database, and what is beyond that.
func (sc *scene) left(s *stage) []string {
	if sc.ends != nil {
		return sc.ends(s)
	}
	rows := s.end()
	if sc.beyond == nil {
		return rows
	}
	for i, row := range rows {
		rows[i] = portPattern.ReplaceAllString(row, "elsewhere")
	}
	return append(rows, sc.beyond(s)...)
}

// portPattern is where a process of these tests serves, which differs.
var portPattern = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// kill lets a copy of the stage die when it reaches a step for the n-th time, and go on.
// It returns what is wrong with what came of it, and whether it was killed.
func (sc *scene) kill(t *testing.T, step string, n int, env ...string) (wrong []string, killed bool) {
	s := sc.s.double(t)
	o := s.attended(sc.args(s), sc.clients, append(slices.Clone(env), fmt.Sprintf("REVERIE_FAULT=kill:%s#%d", step, n))...)
	if o.code != -1 {
		return nil, false
	}
	kept, asked, bill := s.answers()-sc.kept, len(s.direct()), s.bill()
	wrong = bill.wrong(sc.bill, 1)
	if sc.asked == 0 { // answers that come or go are no model's doing
		kept = 0
	}
	if lost := asked - kept; lost > 1 {
		wrong = append(wrong, fmt.Sprintf("of %d answers that were paid for %d were kept", asked, kept))
	}
	if env == nil {
		sc.strikes(1)
		sc.trial(t, s)
	}
	wrong = append(append(wrong, sc.half(s)...), sc.finish(s, env...)...)
	wrong = append(wrong, s.bill().wrong(bill, 0)...)
	if again := len(s.direct()) - asked; again != sc.asked-kept {
		wrong = append(wrong, fmt.Sprintf("%d of %d answers were kept, and then %d questions asked", kept, sc.asked, again))
	}
	if env != nil { // a control's
		return wrong, true
	}
	if n == 1 { // the end is the same at the others
		wrong = append(wrong, s.violations()...)
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.killed[step] = true
	return wrong, true
}

// half says what is wrong with a file that may be whole, or not there at all.
func (sc *scene) half(s *stage) []string {
	if sc.file == nil {
		return nil
	}
	if lines := s.exportLines(sc.file(s)); lines != nil && !slices.Equal(lines, sc.lines) {
		return []string{fmt.Sprintf("%d of %d lines are in the file", len(lines), len(sc.lines))}
	}
	return nil
}

// killReading kills a play that writes a file at random packets of what it reads for that:
// there is no step between the first row and the last.
func (sc *scene) killReading(t *testing.T, random *rand.Rand) {
	calm := sc.s.double(t)
	_, packets := calm.linked(sc.args(calm), nil, func(*process, int) verdict { return pass })
	for range 10 {
		at := 1 + random.IntN(packets)
		t.Run(fmt.Sprint("packet ", at), func(t *testing.T) {
			s := sc.s.double(t)
			o, _ := s.linked(sc.args(s), nil, func(p *process, n int) verdict {
				if n >= at {
					p.kill()
					return lose
				}
				return pass
			})
			if o.code == -1 {
				sc.strikes(1)
			}
			sc.trial(t, s)
			for _, what := range append(sc.half(s), sc.finish(s)...) {
				t.Errorf("killed at packet %d: %s", at, what)
			}
		})
	}
}

// occurrences are when to kill at a step that is reached n times: at the first, the
// last, and between.
func occurrences(n int) []int {
	return slices.Compact([]int{1, (n + 1) / 2, n})
}

// killedAtSteps kills each play at each of its steps.
func killedAtSteps(t *testing.T, o *ordeal) {
	random := rand.New(rand.NewPCG(tortureSeed(t), 1))
	var told []string
	for _, p := range plays {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			sc := p.rehearse(t, o)
			names := slices.Sorted(maps.Keys(sc.steps))
			if testing.Short() {
				random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				names = names[:min(2, len(names))]
			}
			t.Run("kill", func(t *testing.T) {
				for _, step := range names {
					t.Run(strings.ReplaceAll(step, " ", "-"), func(t *testing.T) {
						t.Parallel()
						for _, n := range occurrences(sc.steps[step]) {
							wrong, killed := sc.kill(t, step, n)
							for _, what := range wrong {
								t.Errorf("killed at %q #%d: %s", step, n, what)
							}
							if !killed && n == 1 {
								t.Errorf("%q was not reached", step)
							}
						}
					})
				}
			})
			if p.file != nil {
				t.Run("kill while it reads", func(t *testing.T) { sc.killReading(t, random) })
			}
			if c := p.control; c.off != "" && c.step == "" {
				o.control(t, c.without, c.symptom, sc.betweenStatements(t, c)...)
			} else if c.off != "" {
				wrong, killed := sc.kill(t, c.step, 1, "REVERIE_FAULT_OFF="+c.off)
				if !killed {
					t.Errorf("%q was not reached without %s", c.step, c.without)
				}
				o.control(t, c.without, c.symptom, wrong...)
			}
			told = append(told, fmt.Sprintf("%s: killed at %d of %d steps, asked %d questions", p.name, len(sc.killed), len(sc.steps), sc.asked))
		})
	}
	fmt.Println(strings.Join(told, "\n"))
}
