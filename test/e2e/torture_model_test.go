//go:build torture

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// failingModel has three of ten calls fail, in every way that the fake server knows and
// with answers that mean harm, until all is done. Nothing is madeUp, each call is a row,
// and what is remembered is what a model that is well would have left. Where an answer that
// was cut off is taken for a whole one, it shows.
var failingModel = &ordeal{name: "a model that fails at 30 %", run: func(t *testing.T, o *ordeal) {
	groups, nights, providers := 10, 3, []string{"openai", "gemini", "anthropic"}
	if testing.Short() {
		groups, nights, providers = 3, 2, providers[:1]
	}
	c := crowdOf(groups, nights)
	calm := modelStage(t, "openai", c)
	calm.model.Respond(scribe(t))
	calm.round(c, nil)
	want, said := calm.kept(), calm.rows(statements)
	for i, provider := range providers {
		t.Run(provider, func(t *testing.T) {
			ill := newIllness(t, tortureSeed(t)+uint64(i), 0.3, ailments)
			s := modelStage(t, provider, c)
			o.recovers(t, s, c, ill)
			if diff := cmp.Diff(want, s.kept()); diff != "" {
				t.Errorf("the end differs from that with a model that is well (-want +got):\n%s\nheld: %q\nrefused: %q", diff,
					s.rows(`select group_id, chunk_no, whole, reason, plan from held_plans`),
					s.rows(`select group_id, run_id, chunk_no, status, message_ids, refusals from run_chunks where refusals::text not in ('null', '[]')`))
			}
			for _, statement := range s.rows(statements) {
				if !slices.Contains(said, statement) {
					t.Errorf("it believes what nobody said: %s", statement)
				}
			}
		})
	}
	t.Run("answers cut off, and taken for whole ones", func(t *testing.T) {
		s := modelStage(t, "openai", c)
		s.set("REVERIE_FAULT_OFF=finish")
		s.fallsIll(newIllness(t, tortureSeed(t), 0.6, []ailment{{"cut off", truncated}}))
		for range manyRounds {
			if s.round(c, nil); s.idle() {
				break
			}
			s.resume()
		}
		seen := rowsChanged(want, s.kept())
		if !s.idle() {
			seen = []string{"something waits still, and may be read yet"}
		}
		o.control(t, "telling that an answer was cut off", "- memory g", seen...) // its end is missing, and nothing waits
	})
}}

// statements are all that is or was remembered by any job; summaries tell what there was
// when they were made.
const statements = `select distinct group_id || ' ' || statement from memories where not 'summary' = any (tags)
	union select group_id || ' ' || c.name || ' ' || c.value from entity_claims c order by 1`

// kept is what lasts, without the facts of sessions: which of them has replaced another
// depends on which session was read first.
func (s *stage) kept() []string {
	return slices.DeleteFunc(s.lasting(), func(row string) bool { return strings.HasPrefix(row, "fact ") })
}

// manyRounds bound how often all jobs are done, until nothing waits.
const manyRounds = 60

// modelStage is a stage whose groups have nights, sessions and people before them.
func modelStage(t *testing.T, provider string, c crowd) *stage {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_LLM_PROVIDER="+provider, "REVERIE_LLM_BASE_URL="+s.model.URL(provider), "REVERIE_LLM_API_KEY=key", "REVERIE_LLM_TIMEOUT=1s",
		"REVERIE_LLM_BREAKER_FAILURES=1000", "REVERIE_EMBED_PROVIDER=openai", "REVERIE_EMBED_BASE_URL="+s.model.URL("openai"),
		"REVERIE_EMBED_API_KEY=key", "REVERIE_EMBED_MODEL=text-embedding-3-small", "REVERIE_EMBED_DIMENSIONS=64", "REVERIE_EMBED_TIMEOUT=1s",
		"REVERIE_EVOLVE_MAX_MESSAGES=2", "REVERIE_EVOLVE_HOLD_MIN=1000", "REVERIE_JOBS_CONCURRENCY=8", impressionsOn)
	for n, date := range c.dates {
		for _, group := range c.groups {
			s.bring(group, chat(date, append(life(group, n), "self city "+[]string{"Porto", "Lisbon", "Faro"}[n])...)...)
		}
	}
	return s
}

// round does all jobs of all groups once, asks for a context of some, and lets the time go by for
// which failures are left alone. Each command ends well or says why not.
func (s *stage) round(c crowd, told func(outcome)) {
	s.t.Helper()
	all := [][]string{{"evolve", "--due"}, {"extract", "--all"}, {"dream", "--due"}}
	for _, g := range c.groups[:3] {
		all = append(all, []string{"context", "--group", g, "--query", "What does " + g + " drink?"})
	}
	for _, args := range all {
		o := s.broken(args...)
		o.clean(s.t)
		if told != nil {
			told(o)
		}
	}
	s.exec(`update setbacks set retry_at = 'epoch' where retry_at is not null`)
	s.exec(`update sessions set retry_at = case when retry_at is not null then 'epoch'::timestamptz end, fold_retry_at = case when fold_retry_at is not null then 'epoch'::timestamptz end`)
}

// idle tells whether nothing waits any more.
func (s *stage) idle() bool {
	s.t.Helper()
	return s.one(`select (select count(*) from messages where run_id is null and outcome is null) + (select count(*) from message_uses where run_id is null)
		+ (select count(*) from setbacks) + (select count(*) from sessions where failures > 0)`) == "0"
}

// recovers does all jobs while the model is ill, until nothing waits, resuming groups that
// were parked. Then each call is a row.
func (o *ordeal) recovers(t *testing.T, s *stage, c crowd, ill *illness) {
	t.Helper()
	s.t = t
	s.fallsIll(ill)
	codes := map[int]int{}
	rounds, resumed := 0, 0
	for ; rounds < manyRounds && (rounds == 0 || !s.idle()); rounds++ {
		s.round(c, func(o outcome) { codes[o.code]++ })
		o.trial(t, s)
		resumed += s.resume()
	}
	if !s.idle() {
		t.Errorf("after %d rounds something waits: %q", rounds, s.rows(`select group_id, job, failures, error from setbacks`))
	}
	o.strikes(ill.count())
	if asked, rows := len(s.model.Requests()), s.one(`select count(*) from llm_calls`); rows != fmt.Sprint(asked) {
		t.Errorf("%d calls were made, %s are written down", asked, rows)
	}
	t.Logf("%d rounds, %d calls, of which failed: %v; resumed %d times; commands by exit code: %v", rounds, len(s.model.Requests()), ill, resumed, codes)
}

// resume has groups and sessions that were parked tried again, and says how many.
func (s *stage) resume() int {
	s.t.Helper()
	groups, sessions := s.rows(`select group_id from setbacks where parked_at is not null`),
		s.rows(`select group_id, session_id from sessions where parked_at is not null`)
	if len(groups) > 0 {
		s.run("groups", "resume", "--parked").want(s.t, 0)
	}
	for _, row := range sessions {
		group, session, _ := strings.Cut(row, "|")
		s.broken("extract", "--group", group, "--session", session)
	}
	return len(groups) + len(sessions)
}

// fallsIll has a model fail.
func (s *stage) fallsIll(ill *illness) {
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		return ill.answer(transcribe(ill.t, r), r)
	})
	s.model.RespondEmbeddings(func(r llmtest.Request) llmtest.Answer { return ill.vectors() })
}

// ailment is a way to fail; right is what the answer should have been.
type ailment struct {
	name string
	give func(right string, r llmtest.Request) llmtest.Answer
}

// illness decides which calls fail, and how.
type illness struct {
	t      testing.TB
	chance float64
	all    []ailment

	mu     sync.Mutex
	random *rand.Rand
	given  map[string]int
}

func newIllness(t testing.TB, seed uint64, chance float64, all []ailment) *illness {
	return &illness{t: t, chance: chance, all: all, random: rand.New(rand.NewPCG(seed, 30)), given: map[string]int{}}
}

func (i *illness) String() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return fmt.Sprint(i.given)
}

// count is how many calls failed.
func (i *illness) count() (n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, times := range i.given {
		n += times
	}
	return n
}

// pick is an ailment out of several, or none.
func (i *illness) pick(all []ailment) *ailment {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.random.Float64() >= i.chance {
		return nil
	}
	a := &all[i.random.IntN(len(all))]
	i.given[a.name]++
	return a
}

func (i *illness) answer(right string, r llmtest.Request) llmtest.Answer {
	if a := i.pick(i.all); a != nil {
		return a.give(right, r)
	}
	return llmtest.Text(right)
}

func (i *illness) vectors() llmtest.Answer {
	if len(i.all) > 1 {
		if a := i.pick(slices.Concat(failures, vectorFailures)); a != nil {
			return a.give("", llmtest.Request{})
		}
	}
	return llmtest.Answer{}
}

// always is an ailment that does not look at the question.
func always(name string, a llmtest.Answer) ailment {
	return ailment{name, func(string, llmtest.Request) llmtest.Answer { return a }}
}

func status(code int) ailment {
	return always(fmt.Sprint(code), llmtest.Failure(code, "failed on purpose"))
}

// failures are those of any call.
var failures = []ailment{
	status(400), status(401), status(403), status(404), status(408), status(409), status(413), status(422), status(500), status(502), status(503), status(504), status(529),
	always("429", llmtest.RateLimited(0)), always("429, 1 s", llmtest.RateLimited(time.Second)), always("429, 1 h", llmtest.RateLimited(time.Hour)),
	always("a page", llmtest.Page()), always("half a body", llmtest.Body(200, "application/json", "{")), always("no body", llmtest.Body(200, "application/json", "")),
	always("a redirect", llmtest.Redirect("http://127.0.0.1:1/")), always("hangs", llmtest.Hang()), always("breaks off", llmtest.CutOff()), always("reset", llmtest.Reset()),
}

var vectorFailures = []ailment{always("wrong count", llmtest.WrongCount()), always("other width", llmtest.Answer{Vectors: func(texts []string) (list [][]float32) {
	for range texts {
		list = append(list, []float32{1, 0, 0, 0, 0, 0, 0})
	}
	return list
}})}

// ailments are those of questions: failures, answers that are none, and right ones among
// lines that mean harm.
var ailments = slices.Concat(failures, []ailment{
	{"cut off", truncated},
	always("refused", llmtest.Refused()), always("prose", llmtest.Prose()), always("no choices", llmtest.NoChoices()), always("empty", llmtest.Text("")),
	{"fenced, with a broken line", among("```jsonl\n", "\n{\"action\":\"create\",\"statement\":\n```")},
	{"huge", among("", "\n"+strings.Repeat("And so on and so forth. ", 20000))},
	{"slow", func(right string, _ llmtest.Request) llmtest.Answer {
		gate := make(chan struct{})
		time.AfterFunc(200*time.Millisecond, func() { close(gate) })
		return llmtest.Text(right).After(gate)
	}},
	{"unknown ids", harm(`{"action":"update","old_id":"m99","statement":"` + madeUp + `","evidence":[{"message":1}]}`)},
	{"another's id", harm(`{"action":"delete","old_id":"018f2c3e-7b1a-7c3d-9e4f-0123456789ab","evidence":[{"message":1}]}`)},
	{"forged quotes", harm(`{"action":"create","statement":"` + madeUp + `","evidence":[{"message":1,"quote":"words that nobody ever wrote"}]}`)},
	{"messages that are not there", harm(`{"action":"create","statement":"` + madeUp + `","evidence":[{"message":999}]}`)},
	{"doubled", func(right string, r llmtest.Request) llmtest.Answer { return llmtest.Text(right + "\n" + right) }},
})

// madeUp stands in all that a model makes up here.
const madeUp = "The moon is made of cheese"

// truncated is the first half of an answer.
func truncated(right string, _ llmtest.Request) llmtest.Answer {
	runes := []rune(right)
	return llmtest.Truncated(string(runes[:len(runes)/2]))
}

func among(before, after string) func(string, llmtest.Request) llmtest.Answer {
	return func(right string, _ llmtest.Request) llmtest.Answer { return llmtest.Text(before + right + after) }
}

// harm is a right answer with a line that means harm, in the form that is asked for.
func harm(line string) func(string, llmtest.Request) llmtest.Answer {
	return func(right string, _ llmtest.Request) llmtest.Answer {
		line := line
		switch {
		case strings.Contains(right, `"relation"`):
			line = `{"id":"x9","reason":"so I say","relation":"duplicate"}`
		case strings.Contains(right, `"confidence"`) && strings.Contains(right, `"subject"`):
			line = `{"subject":"Lin","kind":"person","reason":"so I say","confidence":0.9,"evidence":[{"message":1,"quote":"words that nobody ever wrote"}],"features":[{"key":"belief","value":"` + madeUp + `"}]}`
		case strings.Contains(right, `"summary"`):
			line = `{"content":"` + madeUp + `","type":"fact","tags":[],"confidence":0.9,"evidence":[{"message":999,"quote":"words that nobody ever wrote"}],"sources":["f999"]}`
		}
		return llmtest.Text(right + "\n" + line)
	}
}
