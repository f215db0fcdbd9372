package entity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// TestRun takes a small chat through all steps: what is written, what is told of
// it, and that each message is used once.
func TestRun(t *testing.T) {
	s := newStage(t)
	ids := s.say(evening.Add(-time.Hour), line{"u1:Kay", "I live in Lisbon"}, line{"u2:Lin", "Kay likes tea"}, line{"bot:Helper", "Lin lives in Mars"}, line{"u1:Kay", "see you"})
	var steps []string
	var told [][2]int
	s.pipe.Phase = func(ctx context.Context, name string) (context.Context, func(error)) {
		return ctx, func(err error) { steps = append(steps, fmt.Sprint(name, err == nil)) }
	}
	s.pipe.Progress = func(answered, questions int) { told = append(told, [2]int{answered, questions}) }
	res := s.observe()
	if want := (reverie.Stats{Created: 1, Cited: 2, Considered: 2, Chunks: 1, Refused: res.Stats.Refused}); res.Stats != want || res.Status != reverie.RunSucceeded || res.NoNew || res.RunID == "" {
		t.Errorf("result %+v", res)
	}
	if got, want := s.people(), []string{"person Kay [u1] aka  | city: Lisbon; likes tea (u2)"}; !slices.Equal(got, want) {
		t.Errorf("people %q", got)
	}
	if want := []string{"gathertrue", "observetrue", "resolvetrue", "applytrue", "gathertrue"}; !slices.Equal(steps, want[:len(steps)]) || len(steps) < 4 {
		t.Errorf("steps %q", steps)
	}
	if diff := cmp.Diff([][2]int{{1, 1}}, told); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	s.want(`select job, status, attempt, model, prompt_version, window_since = '2026-03-28 19:00+00', window_until = '2026-03-28 20:00+00' from runs`,
		"impression|succeeded|1|openai/fake|1|true|true")
	s.want(`select status, cardinality(message_ids) from run_chunks`, "applied|4")
	s.want(`select purpose, outcome, run_id is null from llm_calls`, "observe|ok|false")
	s.want(`select purpose, count(*) from answers group by 1`, "observe|1")
	s.want(`select count(*) from message_uses where job = 'impression' and run_id is null`, "0")
	if q := readQuestion(t, s.model.Requests()[0]); len(q.Messages) != len(ids) || q.Messages[2].Role != "assistant" || !strings.HasPrefix(q.Messages[0].Time, "2026-03-28T19:00:00Z") {
		t.Errorf("question %+v", q)
	}
	if res = s.observe(); !res.NoNew || res.RunID != "" || s.asked() != 1 {
		t.Errorf("nothing waits: %+v, asked %d times", res, s.asked())
	}
}

// TestCountsOfMerged counts those that are read as one once.
func TestCountsOfMerged(t *testing.T) {
	s := newStage(t)
	both := []line{{"u1:Ann", "I live in Porto"}, {"u2:Ben", "I live in Rome"}}
	s.say(evening.Add(-2*day), both...)
	if res := s.observe(); res.Stats.Created != 2 || res.Stats.Updated != 0 {
		t.Errorf("%+v", res.Stats)
	}
	ids := s.rows(`select entity_id from entities order by subject`)
	must(second(s.store.MergeEntities(s.Context(), s.group, ids[0], ids[1], "one person")))(t)
	s.say(evening.Add(-day), both...)
	if res := s.observe(); res.Stats.Created != 0 || res.Stats.Updated != 1 {
		t.Errorf("%+v", res.Stats)
	}
}

// TestCountsOfWaiting counts what waits when it begins to, and not when more of the
// same comes.
func TestCountsOfWaiting(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-4*day), line{"u1:Alex", "I like jazz"}, line{"u2:Alex", "I like rock"})
	s.observe()
	for i, text := range []string{"Alex lives in Porto", "Alex likes tea", "Alex likes chess"} {
		s.say(evening.Add(time.Duration(i-3)*day), line{"u3:Bo", text})
		if res := s.observe(); res.Stats.Postponed != max(1-i, 0) {
			t.Errorf("night %d: %+v", i+1, res.Stats)
		}
	}
	s.want(`select status, count(*) from entity_observations group by 1 order by 1`, "continued|2", "waiting|1")
}

// TestKnown shows what is known, strongest first, and dates across the change to
// summer time in the group's zone.
func TestKnown(t *testing.T) {
	s := newStage(t)
	s.say(evening, line{"u1:Kay", "I live in Lisbon"}, line{"u1:Kay", "I like tea"}, line{"u2:Lin", "Kay lives in Faro"}, line{"u2:Lin", "Kay is my sister"})
	s.now = s.now.Add(time.Hour)
	s.observe()
	s.now = s.now.Add(day)
	s.say(time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC), line{"u1:小K", "I like tea"})
	s.say(time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC), line{"u1:小K", "good night"})
	s.observe()
	requests := s.model.Requests()
	q := readQuestion(t, requests[len(requests)-1])
	if len(q.Subjects) != 1 || q.Subjects[0].Known == nil {
		t.Fatalf("subjects %+v", q.Subjects)
	}
	one := q.Subjects[0]
	if one.Name != "小K" || !slices.Equal(one.Aliases, []string{"Kay"}) || one.Known.Features["city"] != "Lisbon" || !slices.Equal(one.Known.Impressions, []string{"likes tea"}) ||
		len(one.Known.Relations) != 1 || one.Known.Relations[0].Target != "Lin" {
		t.Errorf("subject %+v, known %+v", one, one.Known)
	}
	if q.Messages[0].Time != "2026-03-29T00:30:00Z" || q.Messages[1].Time != "2026-03-29T02:30:00+01:00" {
		t.Errorf("times %q, %q", q.Messages[0].Time, q.Messages[1].Time)
	}
	s.want(`select count(distinct local_date), min(local_date), max(local_date) from entity_evidence e join entity_claims c on c.claim_id = e.claim_id where c.value = 'likes tea'`,
		"2|2026-03-28T00:00:00Z|2026-03-29T00:00:00Z")
}

// TestLateMessages makes a window due again.
func TestLateMessages(t *testing.T) {
	s := newStage(t)
	window := Request{Since: evening.Add(-day), Until: evening}
	s.say(evening.Add(-2*time.Hour), line{"u1:Kay", "I live in Lisbon"})
	for i, want := range []string{"person Kay [u1] aka  | city: Lisbon", "person Kay [u1] aka  | city: Lisbon; likes tea"} {
		res, err := s.runWith(s.pipe, window)
		if err != nil || res.Status != reverie.RunSucceeded || !slices.Equal(s.people(), []string{want}) {
			t.Fatalf("%+v, %v, people %q", res, err, s.people())
		}
		if i == 0 {
			s.say(evening.Add(-3*time.Hour), line{"u1:Kay", "I like tea"})
			s.say(evening.Add(time.Hour), line{"u1:Kay", "I like coffee"}) // another window's
		}
	}
	s.want(`select attempt, status, (stats->>'deferred')::int from runs order by attempt`, "1|succeeded|0", "2|succeeded|0")
	s.want(`select count(*) from message_uses where job = 'impression' and run_id is null`, "1")
	if _, err := s.runWith(s.pipe, Request{Since: evening, Until: evening}); !errors.Is(err, reverie.ErrInvalid) {
		t.Errorf("an empty window: %v", err)
	}
}

// TestChunks uses what waits in several transactions, in order.
func TestChunks(t *testing.T) {
	s := newStage(t)
	s.pipe.Limits.MaxMessages = 2
	s.say(evening.Add(-time.Hour), line{"u1:Kay", "I live in Lisbon"}, line{"u1:Kay", "I like tea"}, line{"u1:Kay", "I moved to Porto"}, line{"u1:Kay", "I like tea"}, line{"u2:Lin", " "})
	if res := s.observe(); res.Stats.Chunks != 3 || res.Stats.Created != 1 || res.Stats.Updated != 1 || res.Stats.Cited != 4 || res.Stats.Filtered != 1 || s.asked() != 2 {
		t.Errorf("stats %+v, asked %d times", res.Stats, s.asked())
	}
	if got := s.people(); !slices.Equal(got, []string{"person Kay [u1] aka  | city: Porto; likes tea"}) {
		t.Errorf("people %q", got)
	}
}

// TestDryRun asks about the first chunk and writes nothing but calls.
func TestDryRun(t *testing.T) {
	s := newStage(t)
	s.pipe.Limits.MaxMessages = 2
	s.say(evening.Add(-time.Hour), line{"u1:Kay", "I live in Lisbon"}, line{"u2:Lin", "Kay likes tea"}, line{"u1:Kay", "I like coffee"})
	res, err := s.runWith(s.pipe, Request{DryRun: true})
	if err != nil || res.RunID != "" || !res.DryRun || res.NoNew || res.Stats.Created != 1 || res.Stats.Chunks != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	var told []string
	for _, c := range res.Changes {
		told = append(told, string(c.Action)+" "+c.NewText)
	}
	if want := []string{"create Kay", "claim city: Lisbon", "claim likes tea"}; !slices.Equal(told, want) {
		t.Errorf("changes %q", told)
	}
	s.want(`select (select count(*) from runs) + (select count(*) from answers) + (select count(*) from entities) + (select count(*) from run_chunks)`, "0")
	s.want(`select count(*) from llm_calls where run_id is null`, "1")
	s.want(`select count(*) from message_uses where job = 'impression' and run_id is null`, "3")
}

// TestCutOff divides questions whose answers do not fit, and gives up at a single
// message.
func TestCutOff(t *testing.T) {
	all := newStage(t)
	say := func(s *stage) {
		s.say(evening.Add(-time.Hour), line{"u1:Kay", "I live in Lisbon"}, line{"u2:Lin", "I live in Faro"}, line{"u3:Bo", "I live in Beja"}, line{"u1:Kay", "I like tea"})
	}
	want := []string{"person Bo [u3] aka  | city: Beja", "person Kay [u1] aka  | city: Lisbon; likes tea", "person Lin [u2] aka  | city: Faro"}
	for name, cut := range map[string]llmtest.Answer{
		"cut off":   llmtest.Truncated(`{"subject":"Kay","kind":"person","confid`),
		"too large": llmtest.Failure(http.StatusRequestEntityTooLarge, "the request is too large"),
	} {
		t.Run(name, func(t *testing.T) {
			s := all.beside(t, name)
			say(s)
			answer := observer(t)
			s.model.Respond(func(r llmtest.Request) llmtest.Answer {
				if q := readQuestion(t, r); len(q.Messages) > 1 {
					return cut
				}
				return answer(r)
			})
			s.observe()
			if got := s.people(); !slices.Equal(got, want) {
				t.Errorf("people %q", got)
			}
			s.model.Respond(func(llmtest.Request) llmtest.Answer { return cut })
			s.say(evening.Add(-time.Minute), line{"u1:Kay", "I moved to Porto"})
			res, err := s.runWith(s.pipe, Request{})
			wantErr(t, err, reverie.ErrUnusable)
			if res.Status != reverie.RunFailed || res.Stats.Deferred != 1 || !slices.Equal(s.people(), want) {
				t.Errorf("%+v, people %q", res, s.people())
			}
		})
	}
}

// TestUnusable asks once more, saying what was wrong, and then fails with nothing
// consumed. The next run starts afresh.
func TestUnusable(t *testing.T) {
	all := newStage(t)
	for name, bad := range map[string]llmtest.Answer{"prose": llmtest.Prose(), "refused": llmtest.Refused(), "empty": llmtest.Text(""), "without choices": llmtest.Lines("[]")} {
		t.Run(name, func(t *testing.T) {
			s := all.beside(t, name)
			s.say(evening.Add(-time.Hour), line{"u1:Kay", "I live in Lisbon"})
			s.model.Script(bad)
			s.observe()
			q := readQuestion(t, s.model.Requests()[1])
			if s.asked() != 2 || len(q.Again) != 1 || len(s.people()) != 1 {
				t.Errorf("asked %d times, again %q, people %q", s.asked(), q.Again, s.people())
			}
			s.say(evening.Add(-time.Minute), line{"u1:Kay", "I moved to Porto"})
			s.model.Script(bad, bad)
			res, err := s.runWith(s.pipe, Request{})
			wantErr(t, err, reverie.ErrUnusable)
			if res.Status != reverie.RunFailed || res.Stats.Deferred != 1 || s.asked() != 4 {
				t.Errorf("%+v, asked %d times", res, s.asked())
			}
			s.want(`select status from run_chunks where group_id = '`+s.group+`' order by status`, "applied", "failed")
			s.observe()
			if got := s.people(); s.asked() != 5 || !slices.Equal(got, []string{"person Kay [u1] aka  | city: Porto"}) {
				t.Errorf("asked %d times, people %q", s.asked(), got)
			}
		})
	}
}

// TestNUL answers with what the database cannot keep: it is refused where it
// stands, and no night fails for it.
func TestNUL(t *testing.T) {
	all := newStage(t)
	for name, c := range map[string]struct {
		subject, rest string
		want          []string
		waits         string
	}{
		"quote":          {"Lin", `"evidence":[{"message":1,"quote":"I live\u0000 in Porto"}],"features":[{"key":"city","value":"Porto"}]`, nil, "0"},
		"waiting quote":  {"Zed", `"evidence":[{"message":2,"quote":"Zed lives\u0000 in Faro"}],"features":[{"key":"city","value":"Faro"}]`, nil, "0"},
		"key":            {"Lin", `"evidence":[{"message":1,"quote":"I live in Porto"}],"features":[{"key":"ci\u0000ty","value":"Porto"}]`, nil, "0"},
		"reason":         {"Lin", `"evidence":[{"message":1,"quote":"I live in Porto"}],"features":[{"key":"city","value":"Porto","reason":"so\u0000"}]`, []string{"person Lin [u1] aka  | city: Porto"}, "0"},
		"waiting reason": {"Zed", `"evidence":[{"message":2,"quote":"Zed lives in Faro"}],"features":[{"key":"city","value":"Faro","reason":"so\u0000"}]`, nil, "1"},
		"replaces":       {"Zed", `"evidence":[{"message":2,"quote":"Zed lives in Faro"}],"features":[{"key":"city","value":"Faro","replaces":"Lis\u0000bon"}]`, nil, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := all.beside(t, name)
			s.model.Respond(func(llmtest.Request) llmtest.Answer {
				return llmtest.Text(fmt.Sprintf(`{"subject":%q,"kind":"person","reason":"said so","confidence":0.9,%s}`, c.subject, c.rest))
			})
			s.say(evening.Add(-time.Hour), line{"u1:Lin", "I live in Porto"}, line{"u2:Bo", "Zed lives in Faro"})
			if res := s.observe(); res.Stats.Deferred != 0 || !slices.Equal(s.people(), c.want) {
				t.Errorf("%+v, people %q, want %q", res, s.people(), c.want)
			}
			s.want(`select count(*) from entity_observations where group_id = '`+s.group+`' and status = 'waiting'`, c.waits)
		})
	}
}

// TestFaults ends runs by what a server or a caller may do, each with its kind of
// error and its messages waiting. A deferred run's answers are not asked for again.
func TestFaults(t *testing.T) {
	all := newStage(t)
	for name, c := range map[string]struct {
		fault  llmtest.Answer
		kind   error
		status reverie.RunStatus
	}{
		"rate limited": {llmtest.RateLimited(0), reverie.ErrDeferred, reverie.RunDeferred},
		"overloaded":   {llmtest.Failure(http.StatusServiceUnavailable, "overloaded"), reverie.ErrDeferred, reverie.RunDeferred},
		"no access":    {llmtest.Failure(http.StatusUnauthorized, "no"), reverie.ErrConfiguration, reverie.RunFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s := all.beside(t, name)
			s.pipe.Limits.MaxSubjects = 1
			s.say(evening.Add(-time.Hour), line{"u1:Kay", "I live in Lisbon"}, line{"u2:Lin", "I live in Faro"}, line{"u3:Bo", "I live in Beja"})
			answer, failing := observer(t), 2
			s.model.Respond(func(r llmtest.Request) llmtest.Answer {
				if readQuestion(t, r).Subjects[0].Name == "Bo" && failing > 0 {
					failing--
					return c.fault
				}
				return answer(r)
			})
			for range 2 {
				res, err := s.runWith(s.pipe, Request{Since: evening.Add(-day), Until: evening})
				wantErr(t, err, c.kind)
				if res.Status != c.status || res.Stats.Deferred != 3 || len(s.people()) != 0 {
					t.Errorf("%+v, people %q", res, s.people())
				}
			}
			res, err := s.runWith(s.pipe, Request{Since: evening.Add(-day), Until: evening})
			if err != nil || res.Stats.Created != 3 || s.asked() != 5 { // three answers, two failures
				t.Errorf("%+v, %v, asked %d times", res, err, s.asked())
			}
			s.want(`select status, attempt from runs where group_id = '`+s.group+`' order by attempt`, string(c.status)+"|1", string(c.status)+"|2", "succeeded|3")
		})
	}
}

// TestBudget spends no more than a run may, and goes on where the last one was
// stopped.
func TestBudget(t *testing.T) {
	s := newStage(t)
	s.pipe.Limits.MaxSubjects = 1
	s.say(evening.Add(-time.Hour), line{"u1:Kay", "I live in Lisbon"}, line{"u2:Lin", "I live in Faro"}, line{"u3:Bo", "I live in Beja"})
	for i := 0; ; i++ {
		s.now = s.now.Add(time.Minute)
		budget := llm.NewBudget(llm.Limits{Calls: 1}, nil)
		res, err := s.runIn(llm.WithBudget(s.Context(), budget), s.pipe, Request{})
		if err == nil {
			if res.Stats.Created != 3 || i != 2 || s.asked() != 3 {
				t.Errorf("run %d: %+v, asked %d times", i+1, res, s.asked())
			}
			break
		}
		if wantErr(t, err, reverie.ErrDeferred); i > 2 {
			t.Fatal("no end to it")
		}
	}
}

// TestCancelled ends a run while the model is being asked: it is deferred, and
// says so in its row.
func TestCancelled(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-time.Hour), line{"u1:Kay", "I live in Lisbon"})
	ctx, cancel := context.WithCancel(t.Context())
	s.model.Respond(func(llmtest.Request) llmtest.Answer {
		cancel()
		return llmtest.Hang()
	})
	res, err := s.runIn(ctx, s.pipe, Request{})
	if !errors.Is(err, context.Canceled) || res.Status != reverie.RunDeferred || res.Stats.Deferred != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	s.want(`select status, finished_at is not null, error <> '' from runs`, "deferred|true|true")
}

// TestBudgetOfAQuestion is refused where the prompt alone exceeds it: each message
// would be a question of its own.
func TestBudgetOfAQuestion(t *testing.T) {
	s := newStage(t)
	s.pipe.Limits.MaxInputTokens = 500
	s.say(evening.Add(-time.Hour), line{"u1:Kay", "I live in Lisbon"})
	res, err := s.runWith(s.pipe, Request{})
	wantErr(t, err, reverie.ErrConfiguration)
	if !strings.Contains(err.Error(), "max_input_tokens (500)") || s.asked() != 0 || res.Stats.Deferred != 1 {
		t.Errorf("%v; %+v, asked %d times", err, res, s.asked())
	}
}
