package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/cmd/reverie/command"
	"reverie/internal/llm/llmtest"
)

// untouched calls f, and fails the test where a row is another after it. Calls of models are
// rows that a replay may add.
func (s *stage) untouched(f func()) {
	s.t.Helper()
	before := s.dump("llm_calls")
	f()
	if diff := cmp.Diff(before, s.dump("llm_calls")); diff != "" {
		s.t.Errorf("the tables are not as they were:\n%s", diff)
	}
}

// eventfulNights gives a group nights with all that may come between them: edits, a dream, a
// held plan that a person approves, a run that is taken back, one that failed, facts that
// are compared, chunks that are halved.
func eventfulNights(t *testing.T) *stage {
	t.Helper()
	s := dueStage(t)
	s.set("REVERIE_DECIDE_COMPARE_SHOWN=true", "REVERIE_DECIDE_CANDIDATE_MIN_SCORE=0.3", "REVERIE_EVOLVE_MAX_MESSAGES=4")
	evening := func(day int, texts ...string) string {
		s.bring("g1", chat(night(day), texts...)...)
		s.run("evolve", "--due").want(t, 0)
		return s.one(`select run_id from runs where job = 'evolve' order by started_at desc, run_id desc limit 1`)
	}
	s.feed(jsonLines(t, chat(night(2), "hi")), "import", "-", "--group", "g1").want(t, 0)
	s.run("groups", "set", "g1", "--time-zone", "Asia/Kathmandu").want(t, 0)
	evening(3, "note Lin drinks tea", "note Mia hosts the game nights", "note Bo takes the minutes", "note Rent is paid on the first", "note 周会改到每周五晚上八点", "hello")
	s.run("memory", "delete", s.head("Bo takes the minutes")).want(t, 0)
	s.run("memory", "strength", s.head("Lin drinks tea"), "0.9").want(t, 0)
	evening(4, "again Mia hosts the game nights", "change Rent is paid on the first => Rent is paid on the third", "note tea Lin drinks", "hi")
	bad := evening(5, "note A mistake of the model", "drop Lin drinks tea")
	s.run("runs", "undo", bad).want(t, 0)
	s.run("memory", "restore", s.one(`select memory_id from memories where statement = 'Bo takes the minutes'`)).want(t, 0)
	s.hears("g1", "talk", time.Date(2025, 3, 5, 12, 0, 0, 0, time.UTC), "note The dog is called Rex", "note 我们在图书馆见面")
	s.run("dream", "--group", "g1").want(t, 0)
	held := evening(6, "drop Mia hosts the game nights", "drop Bo takes the minutes", "drop Rent is paid on the third", "drop 周会改到每周五晚上八点")
	if got := s.one(`select status from runs where run_id = $1`, held); got != "held" {
		t.Fatalf("the run is %s: nothing is held", got)
	}
	evening(7, "note The zine is printed in March", "note 大家周日去爬山", "again Lin drinks tea")
	s.run("runs", "approve", held).want(t, 0)
	s.model.Respond(first(t, llmtest.Truncated("")))
	evening(8, "change The zine is printed in March => The zine is printed in May", "note Rex likes tea", "again Rex likes tea")
	s.model.Respond(first(t, llmtest.Prose(), llmtest.Prose()))
	s.bring("g1", chat(night(9), "note Lin moved to 上海", "again 大家周日去爬山", "hi", "hello", "note The rent is paid by Mia")...)
	s.run("evolve", "--group", "g1").want(t, 1)
	s.run("evolve", "--group", "g1", "--days", "2").want(t, 0)
	return s
}

// first is a model that answers with these, and then as the chat says.
func first(t *testing.T, answers ...llmtest.Answer) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer {
		if r.Embedding() || len(answers) == 0 {
			return scribe(t)(r)
		}
		a := answers[0]
		answers = answers[1:]
		return a
	}
}

// TestReplayRecorded: with the stored answers nothing is asked, nothing differs, and not
// a row is written.
func TestReplayRecorded(t *testing.T) {
	t.Parallel()
	s := eventfulNights(t)
	s.untouched(func() {
		asked := len(s.model.Requests())
		o := s.run("replay", "--group", "g1", "--from", night(1), "--recorded")
		o.want(t, 0).silent(t).shows(t, "no difference", "it was undone", "it took no messages: it ended as failed",
			"recorded by openai/gpt-5-mini, replayed from the stored answers", "2025-03-09", "8 nights")
		from := s.run("replay", "--group", "g1", "--from", night(6), "--recorded", "--json").want(t, 0).silent(t).document(t)
		nights := from["nights"].(list)
		if from["success"] != true || len(nights) != 4 {
			t.Errorf("from the held night on: %v", from)
		}
		for _, n := range nights {
			if q := n.(object)["questions"].(object); q["changed"] != 0.0 {
				t.Errorf("a question was put in other words: %v", n)
			}
		}
		if n := len(s.model.Requests()) - asked; n > 0 {
			t.Errorf("a recorded replay made %d requests", n)
		}
	})
}

// TestReplayTells: another model and another prompt do otherwise, and it is told what; a
// recorded replay does where what was recorded is not what was done.
func TestReplayTells(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	for day, texts := range [][]string{{"note Lin drinks tea", "note Bo takes the minutes", "note 周会在周五"}, {"note The dog is called Rex", "change 周会在周五 => 周会在周六"}} {
		s.bring("g1", chat(night(3+day), texts...)...)
		s.run("evolve", "--due").want(t, 0)
	}
	args := []string{"replay", "--group", "g1", "--from", night(3), "--to", night(4)}
	s.untouched(func() {
		s.run(append(args, "--dry-run")...).want(t, 0).silent(t).shows(t, "5 messages in 2 windows of 1 group; about")
		s.run(append(args, "--model", "m2")...).want(t, 2, "--yes")
		s.model.Respond(func(r llmtest.Request) llmtest.Answer {
			if r.Model != "m2" {
				t.Errorf("%s was asked, for m2", r.Model)
			}
			lines := slices.DeleteFunc(strings.Split(transcribe(t, r), "\n"), func(l string) bool { return strings.Contains(l, `"statement":"Bo takes`) })
			return llmtest.Text(strings.ReplaceAll(strings.Join(lines, "\n"), `"statement":"周会在周六"`, `"statement":"周会在周日"`))
		})
		calls := s.one(`select count(*) from llm_calls`)
		o := s.run(append(args, "--model", "m2", "--yes")...).want(t, 0)
		o.shows(t, "replayed by openai/m2", "recorded  + Bo takes the minutes", "both      ~ 周会在周[-六-]{+日+}", "2 nights: 3 actions agree, 2 differ")
		if got := s.one(`select count(*) - $1::int from llm_calls where run_id is null or model = 'm2'`, 0); got != "2" {
			t.Errorf("%s calls are in the ledger, after %s", got, calls)
		}
		prompt := filepath.Join(s.home, "prompt.md")
		write := func(text string) {
			if err := os.WriteFile(prompt, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("---\nname: memory_evolve\nversion: 99\n---\nSay {{.Nothing}}")
		s.run(append(args, "--prompt", prompt)...).want(t, 2, "Nothing", prompt)
		s.run(append(args, "--prompt", "no-such.md")...).want(t, 2, "no-such.md")
		s.run(append(args, "--prompt", "staging")...).want(t, 2, "no Langfuse")
		s.run(append(args, "--recorded", "--model", "m2")...).want(t, 2, "--recorded and --model do not go together")
		s.run(append(args, "--recorded", "--keep")...).want(t, 2, "--keep")
		s.run(append(args, "--model", "m2", "--llm", "offline", "--llm-base-url", "")...).want(t, 2, "offline, which has no model but")
		s.run("replay", "--group", "g1", "--from", night(28), "--to", night(30)).want(t, 0).shows(t, "nothing to replay")
		s.run("replay", "--group", "nobody", "--from", night(3), "--recorded").want(t, 1, "nobody")

		write("---\nname: memory_evolve\nversion: 99\n---\nWrite lines of JSON.")
		s.run(append(args, "--prompt", prompt)...).want(t, 2, `never names "action"`, prompt)
		write("---\nname: memory_evolve\nversion: 99\n---\nWrite lines of JSON: `action`, `old_id`, `statement`, `evidence`, `quote`.")
		s.model.Respond(scribe(t))
		doc := s.run(append(args, "--prompt", prompt, "--json")...).want(t, 0).document(t)
		night := doc["nights"].(list)[0].(object)
		if v := night["replayed"].(object)["prompt_version"]; v != "99" || doc["total"].(object)["differ"] != 0.0 || night["questions"].(object)["changed"] != 0.0 {
			t.Errorf("the same answers to another prompt: %v", doc)
		}
	})
	s.exec(`update run_chunks set answer = replace(answer, 'drinks tea', 'drinks coffee')`)
	s.exec(`update messages set text = replace(text, 'drinks tea', 'drinks coffee')`)
	s.untouched(func() {
		s.run(append(args, "--recorded")...).want(t, 1, "came to other plans").shows(t, "+ Lin drinks tea", "+ Lin drinks coffee", "changed since: 1 question")
	})
}

// TestReplayOfWhatIsGone: nights whose messages, memories or answers have gone are not
// replayed.
func TestReplayOfWhatIsGone(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	for day, texts := range [][]string{{"note Lin drinks tea", "note Bo takes the minutes", "note 周会在周五"}, {"hello", "note The dog is called Rex"}, {"again Bo takes the minutes", "change 周会在周五 => 周会在周六"}} {
		s.bring("g1", chat(night(3+day), texts...)...)
		s.run("evolve", "--due").want(t, 0)
	}
	replay := func(code int) object {
		t.Helper()
		return s.run("replay", "--group", "g1", "--from", night(3), "--to", night(5), "--recorded", "--json").want(t, code).document(t)
	}
	reasons := func(doc object) (list []string) {
		for _, skipped := range doc["skipped"].([]any) {
			list = append(list, skipped.(object)["reason"].(string))
		}
		return list
	}
	const gone = "messages that it was shown have no text any more (retention or erasure): 2"
	s.exec(`update messages set text = '', pruned_at = now() where sent_at::date = '2025-03-04'`)
	if doc := replay(0); len(doc["nights"].([]any)) != 2 || !cmp.Equal(reasons(doc), []string{gone}) {
		t.Errorf("with one night whose messages have gone: %v", doc)
	}

	s.exec(`update runs set stats = stats || '{"days": 2}' where started_at = (select max(started_at) from runs)`)
	if doc := replay(0); len(doc["nights"].([]any)) != 1 || len(reasons(doc)) != 2 || !strings.Contains(reasons(doc)[1], "its question has changed") {
		t.Errorf("with earlier messages that have gone: %v", doc)
	}
	s.exec(`update runs set stats = stats - 'days'`)

	s.exec(`update run_chunks set answer = replace(answer, '"statement":"Lin drinks tea"', '"statement":""')`)
	doc := replay(1)
	nights := doc["nights"].([]any)
	if n := len(nights); n != 2 || doc["total"].(object)["differ"] != 1.0 || nights[1].(object)["agree"] != 2.0 {
		t.Errorf("with one memory less, the others are not what they were: %v", doc)
	}
	s.exec(`update messages set text = '', pruned_at = now()`)
	if doc := replay(1); doc["success"] != false || len(reasons(doc)) != 3 || !strings.Contains(doc["error"].(string), "nothing was replayed") {
		t.Errorf("nothing could be replayed: %v", doc)
	}
}

// TestReplayIsCut: one that is stopped while the model answers writes nothing, and one whose
// budget is spent says so.
func TestReplayIsCut(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.nightsOf("g1", 3, 5)
	s.run("evolve", "--due").want(t, 0)
	args := []string{"replay", "--group", "g1", "--from", night(3), "--yes"}
	s.untouched(func() {
		ctx, stop := context.WithCancel(t.Context())
		asked := 0
		s.model.Respond(func(r llmtest.Request) llmtest.Answer {
			if asked++; asked == 2 {
				stop()
			}
			return scribe(t)(r)
		})
		invoke(ctx, s.env, "", args...).want(t, command.ExitInterrupted)
		s.model.Respond(scribe(t))
		env := slices.Concat(s.env, []string{"REVERIE_BUDGET_CALLS_PER_RUN=2"})
		doc := invoke(t.Context(), env, "", append(args, "--json")...).want(t, command.ExitDeferred).document(t)
		if n := len(doc["nights"].(list)); n == 0 || n == 3 || doc["success"] != false || !strings.Contains(doc["error"].(string), "calls") {
			t.Errorf("%d nights of 3, of which 2 could be paid: %v", n, doc)
		}
		env = slices.Concat(s.env, []string{"REVERIE_BUDGET_CALLS_PER_DAY=5"}) // three were spent live, and more by the replays
		invoke(t.Context(), env, "", args...).want(t, command.ExitDeferred, "day")
	})
}

// TestReplayRandomHistories plays random chats with the offline model, between random
// edits, and each of them again.
func TestReplayRandomHistories(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_LLM_PROVIDER=offline", "REVERIE_EMBED_PROVIDER=offline", "REVERIE_LLM_BASE_URL=")
	said := []string{"The group plays badminton every Thursday evening at the riverside gym", "The zine deadline is February 20, bring your photos",
		"We meet in the reading room on Sundays", "The rent is paid on the first of the month", "大家每周五晚上八点开周会", "下个月一起去黄山爬山"}
	random := rand.New(rand.NewPCG(20260115, 6))
	for history := range 2 {
		group := fmt.Sprintf("g%d", history)
		for day := range 4 {
			var texts []string
			for range 1 + random.IntN(3) {
				text := said[random.IntN(len(said))]
				texts = append(texts, text, "right, "+text, "lol")
			}
			s.bring(group, chat(night(3+day), texts...)...)
			s.run("evolve", "--due").want(t, 0)
			if ids := s.rows(`select memory_id from memories where group_id = $1 and status = 'active' and kind = 'group' order by statement`, group); len(ids) > 0 {
				id := ids[random.IntN(len(ids))]
				s.run(append([]string{"memory"}, [][]string{{"delete", id}, {"strength", id, "0.8"}, {"weight", id, "1.7"}, {"why", id}}[random.IntN(4)]...)...).want(t, 0)
			}
		}
		first := night(3 + random.IntN(3))
		s.untouched(func() {
			s.run("replay", "--group", group, "--from", first, "--recorded").want(t, 0).silent(t).shows(t, "no difference")
		})
	}
}
