package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// TestDryRun: a dry run asks the same questions as the run that follows, tells
// the same story, and leaves nothing behind but its calls.
func TestDryRun(t *testing.T) {
	t.Parallel()
	s := killStage(t)
	before := s.dump("llm_calls", "embedding_cache")
	calls := len(s.rows(`select 1 from llm_calls`))
	asked := len(s.questions())
	dry := s.run("evolve", "--group", "template", "--until", "2025-03-06", "--dry-run", "--json").want(t, 0).document(t)
	if diff := cmp.Diff(before, s.dump("llm_calls", "embedding_cache")); diff != "" {
		t.Errorf("the dry run changed something (-before +after):\n%s", diff)
	}
	if got := s.one(`select count(*) from llm_calls where run_id is null and purpose = 'evolve' and outcome = 'ok'`); got != "4" {
		t.Errorf("%s calls of the dry run are recorded, want 4 (%d before)", got, calls)
	}
	if dry["dry_run"] != true || dry["run_id"] != nil {
		t.Errorf("the reply does not say that it was a dry run: %v", dry)
	}
	real := s.run("evolve", "--group", "template", "--until", "2025-03-06", "--json").want(t, 0).document(t)
	questions := s.questions()[asked:]
	for i := range chunksOfSecond {
		if diff := cmp.Diff(questions[i+chunksOfSecond].User, questions[i].User); diff != "" {
			t.Errorf("question %d of the dry run differs (-real +dry):\n%s", i+1, diff)
		}
	}
	for _, doc := range []object{dry, real} {
		for _, key := range []string{"dry_run", "run_id", "evolution_time"} {
			delete(doc, key)
		}
		doc["messages"].(object)["deferred"] = 0.0 // a dry run leaves all of them pending
	}
	if diff := cmp.Diff(shape(real), shape(dry)); diff != "" {
		t.Errorf("the dry run told another story (-real +dry):\n%s", diff)
	}
}

func TestDryRunFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
	before := s.dump("llm_calls")
	s.model.Script(llmtest.RateLimited(0))
	s.run("evolve", "--group", "g1", "--dry-run").want(t, 4)
	s.model.Script(llmtest.Prose(), llmtest.Prose())
	s.run("evolve", "--group", "g1", "--dry-run", "--json").want(t, 1)
	s.model.Script(llmtest.Failure(401, "no"))
	s.run("evolve", "--all", "--dry-run").want(t, 2)
	if diff := cmp.Diff(before, s.dump("llm_calls")); diff != "" {
		t.Errorf("a failed dry run changed something:\n%s", diff)
	}
	if got := s.one(`select count(*) from llm_calls`); got != "4" {
		t.Errorf("%s calls are recorded, want 4", got)
	}
}

// consumed are the messages of a group that no longer wait.
func (s *stage) consumed(group string) string {
	s.t.Helper()
	return strings.Join(s.rows(`select message_id from messages where group_id = $1 and run_id is not null order by sent_at, message_id`, group), " ")
}

// TestWindow: a date means midnight of the group's own zone, since is in the
// window, until is not, and what arrives late is taken in later.
func TestWindow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	at := func(id, when string) chatLine {
		return chatLine{ID: id, Author: "Lin", Text: "hello " + id, SentAt: when}
	}
	lines := []chatLine{at("a", "2025-03-03T23:59:59.999999+08:00"), at("b", "2025-03-04T00:00:00+08:00"),
		at("c", "2025-03-04T23:59:59.999999+08:00"), at("d", "2025-03-05T00:00:00+08:00"), at("future", time.Now().Add(12*time.Hour).Format(time.RFC3339))}
	s.bring("shanghai", lines...)
	s.feed(jsonLines(t, lines), "import", "-", "--group", "paris", "--time-zone", "Europe/Paris").want(t, 0)
	for _, step := range []struct {
		args []string
		want string // consumed since
	}{
		{[]string{"--since", "2025-03-04", "--until", "2025-03-05"}, "b c"},
		{[]string{"--since", "2025-03-04", "--until", "2025-03-05"}, "b c"}, // again: nothing new
		{[]string{"--since", "2025-03-05T00:00:00+08:00", "--until", "2025-03-04T16:00:00.000001Z"}, "b c d"},
		{[]string{"--until", "2025-03-04"}, "a b c d"},
	} {
		s.run(append([]string{"evolve", "--group", "shanghai"}, step.args...)...).want(t, 0)
		if got := s.consumed("shanghai"); got != step.want {
			t.Errorf("after %v: consumed are %s, want %s", step.args, got, step.want)
		}
	}
	s.run("evolve", "--all", "--since", "2025-03-04", "--until", "2025-03-05").want(t, 0)
	if got := s.consumed("paris"); got != "c d" { // Shanghai's midnight is 17:00 in Paris
		t.Errorf("consumed in Paris are %s, want c d", got)
	}
	s.bring("shanghai", at("late", "2025-03-04T12:00:00+08:00"))
	s.run("evolve", "--group", "shanghai", "--since", "2025-03-04", "--until", "2025-03-05").want(t, 0)
	if got := s.consumed("shanghai"); got != "a b late c d" {
		t.Errorf("consumed are %s: the late one was lost", got)
	}
	want := []string{"1|2025-03-03 16:00:00|2025-03-04 16:00:00", "2|2025-03-03 16:00:00|2025-03-04 16:00:00"}
	got := s.rows(`select attempt, (window_since at time zone 'UTC')::text, (window_until at time zone 'UTC')::text
		from runs where group_id = 'shanghai' and window_since = '2025-03-04T00:00+08' order by 1`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	s.run("evolve", "--group", "shanghai").want(t, 0) // up to now: the future waits
	if got := s.pending("shanghai"); got != "1" {
		t.Errorf("%s messages wait, want that of the future", got)
	}
}

// TestDays shows consumed messages as context: they count as evidence together
// with a new one, and are never consumed again.
func TestDays(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", append(chat("2025-03-01", "older than asked for"), chat("2025-03-03", "we always meet on Fridays", "yes, on Fridays")...)...)
	s.model.Script(llmtest.Text(`{"action":"none"}`))
	s.run("evolve", "--group", "g1").want(t, 0)
	first := s.rows(`select message_id, run_id from messages order by 1`)
	s.bring("g1", chat("2025-03-04", "Fridays again, then")...)
	s.model.Script(llmtest.Lines(
		`{"action":"create","statement":"The group meets on Fridays","evidence":[{"message":2,"quote":"we always meet on Fridays"},{"message":1,"quote":"Fridays again"}]}`,
		`{"action":"create","statement":"Mia agrees to Fridays","evidence":[{"message":3,"quote":"yes, on Fridays"}]}`))
	s.run("evolve", "--group", "g1", "--days", "1", "--json").want(t, 0).like(t, object{
		"success": true, "group_id": "g1", "run_id": "id", "evolution_time": "time", "status": "succeeded",
		"stats":    stats(object{"created": 1.0, "refused": 1.0}),
		"messages": object{"cited": 1.0, "considered": 0.0, "filtered": 0.0, "deferred": 0.0},
		"changes": list{object{"action": "create", "new_id": "id", "statement": "The group meets on Fridays", "change_reason": "", "version": 1.0,
			"evidence": list{object{"message_id": "2025-03-03-1", "author": "Lin", "quote": "we always meet on Fridays"},
				object{"message_id": "2025-03-04-1", "author": "Lin", "quote": "Fridays again"}}}},
		"refusals": list{object{"line": 2.0, "action": "create", "rule": "evidence", "detail": "none of its evidence stands in a new message of this chunk by a member"}},
	})
	q := readQuestion(t, s.questions()[1])
	var earlier []string
	for _, m := range q.Earlier {
		earlier = append(earlier, fmt.Sprint(m.ID, " ", m.Text))
	}
	if diff := cmp.Diff([]string{"2 we always meet on Fridays", "3 yes, on Fridays"}, earlier); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(first, s.rows(`select message_id, run_id from messages where message_id not like '2025-03-04%' order by 1`)); diff != "" {
		t.Errorf("context was consumed again:\n%s", diff)
	}
	if got := s.one(`select strength from memories`); got != "0.51" { // two dates
		t.Errorf("strength is %s, want 0.51", got)
	}
}
