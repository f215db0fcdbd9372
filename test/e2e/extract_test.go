package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
	"reverie/internal/text"
)

// spoken is a session in which Lin says each of some texts, and is answered, a
// minute apart, from an instant on. Without a session id its platform names none.
func spoken(session string, from time.Time, texts ...string) []chatLine {
	var lines []chatLine
	for i, text := range texts {
		at := from.Add(time.Duration(i) * time.Minute)
		id := fmt.Sprintf("%s-%s-%d", session, from.Format("1504"), i+1)
		lines = append(lines,
			chatLine{ID: id, AuthorID: "lin", Author: "Lin", Text: text, SentAt: at.Format(time.RFC3339), SessionID: session},
			chatLine{ID: id + "a", Author: "Bot", Role: "assistant", Text: "All right", SentAt: at.Add(10 * time.Second).Format(time.RFC3339), SessionID: session})
	}
	return lines
}

// evening is when the dialogues of these tests begin.
var evening = time.Date(2025, 3, 3, 12, 0, 0, 0, time.UTC)

// tools are calls of tools within a session.
func tools(session string, n int) []chatLine {
	var lines []chatLine
	for i := range n {
		lines = append(lines, chatLine{ID: fmt.Sprintf("%s-tool-%d", session, i), Author: "search", Role: "tool", Text: "{}",
			SentAt: evening.Add(time.Duration(i) * time.Second).Format(time.RFC3339), SessionID: session})
	}
	return lines
}

// extracted are the sessions of which there is a run, by when it was.
func (s *stage) extracted(group string) []string {
	s.t.Helper()
	return s.rows(`select session_id from runs where group_id = $1 and job = 'extract' and status = 'succeeded' order by started_at, run_id`, group)
}

// TestExtractDue takes the sessions that have reached a threshold, those that are
// just under it once they have, and no turn twice.
func TestExtractDue(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	five := []string{"note Lin drinks tea", "two", "three", "four", "five"}
	// A word of this form is a token.
	long := func(session string, tokens int) []chatLine {
		lines := spoken(session, evening, "note "+session+" is long", "")
		lines[2].Text = strings.TrimSpace(strings.Repeat("a ", tokens-text.EstimateTokens(lines[0].Text)-2*text.EstimateTokens("All right")))
		return lines
	}
	for _, lines := range [][]chatLine{
		spoken("four", evening, five[:4]...), spoken("five", evening, five...),
		long("under", 11_999), long("over", 12_000),
		append(spoken("tools23", evening, "look"), tools("tools23", 23)...), append(spoken("tools24", evening, "look"), tools("tools24", 24)...),
	} {
		s.bring("g1", lines...)
	}
	if diff := cmp.Diff([]string{"four|4|15|0", "over|2|12000|0", "tools24|1|51|24", "under|2|11999|0"},
		s.rows(`select session_id, new_turns, new_tokens, new_tool_calls from sessions where session_id in ('four', 'over', 'tools24', 'under') order by 1`)); diff != "" {
		t.Fatal(diff)
	}
	lines := s.run("extract", "--due", "--json").want(t, 0).silent(t).jsonLinesOf(t)
	if got := s.extracted("g1"); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"five", "over", "tools24"}) || len(lines) != 4 {
		t.Fatalf("sessions that were extracted are %q, and lines %v", got, lines)
	}
	if got := lines[3]["summary"].(object); got["done"] != 1.0 || got["windows"] != 3.0 || got["left"] != 0.0 || lines[3]["job"] != "extract" {
		t.Errorf("the summary is %v", lines[3])
	}
	s.run("extract", "--due").want(t, 0).silent(t).shows(t, "nothing is due")
	if n := len(s.questions()); n != 3 {
		t.Errorf("%d questions were asked, want 3", n)
	}

	s.bring("g1", chatLine{ID: "q", Author: "Lin", Text: "and?", SentAt: evening.Add(time.Hour).Format(time.RFC3339), SessionID: "four"})
	s.run("extract", "--due").want(t, 0).shows(t, "nothing is due") // the question waits for its answer
	s.bring("g1", chatLine{ID: "a", Author: "Bot", Role: "assistant", Text: "Yes", SentAt: evening.Add(time.Hour + time.Second).Format(time.RFC3339), SessionID: "four"})
	s.bring("g1", chatLine{ID: "t", Author: "search", Role: "tool", Text: "{}", SentAt: evening.Add(time.Hour).Format(time.RFC3339), SessionID: "tools23"})
	s.bring("g1", chatLine{ID: "w", Author: "Bot", Role: "assistant", Text: "word", SentAt: evening.Add(time.Hour).Format(time.RFC3339), SessionID: "under"})
	s.run("extract", "--due", "--shard", "0/2").want(t, 0)
	s.run("extract", "--due", "--shard", "1/2").want(t, 0)
	if got := s.extracted("g1"); len(got) != 6 || !slices.Contains(got, "four") || !slices.Contains(got, "tools23") || !slices.Contains(got, "under") {
		t.Errorf("sessions that were extracted are %q", got)
	}
	if got := s.one(`select count(*) filter (where run_id is null), count(distinct message_id) = count(*) from message_uses where job = 'extract'`); got != "0|true" {
		t.Errorf("messages that wait, and whether each was used once: %s", got)
	}
	if got := s.active("g1"); !slices.Contains(got, "Lin drinks tea") || !slices.Contains(got, "over is long") {
		t.Errorf("the group remembers %q", got)
	}
	if got := s.pending("g1"); got == "0" {
		t.Error("evolve has nothing left to read")
	}
}

// TestExtractSession takes one session, due or not: what it says, what it asks for
// where an id is not enough, and what a dry run leaves.
func TestExtractSession(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.bring("g1", spoken("s1", evening, "note Lin drinks tea", "hello")...)
	s.bring("g2", spoken("s1", evening, "note Lin drinks milk")...)
	s.run("extract", "--session", "s1").want(t, 2, `session "s1" is in 2 groups: name one with --group: g1, g2`)
	s.run("extract", "--session", "s9").want(t, 1, "not found", "reverie sessions list")
	s.run("extract", "--session", "s1", "--group", "g3").want(t, 1, "not found")
	for _, c := range [][]string{{}, {"--due", "--all"}, {"--session", "s1", "--due"}, {"--session", "s1", "--shard", "0/2"}, {"--due", "--shard", "2/2"},
		{"--due", "--group", ""}, {"--group", "g1"}} {
		s.run(append([]string{"extract"}, c...)...).want(t, 2)
	}

	before := s.dump("llm_calls", "embedding_cache")
	s.run("extract", "--session", "s1", "--group", "g1", "--dry-run").want(t, 0).silent(t).shows(t, "dry run: nothing was written", "+ Lin drinks tea")
	s.run("extract", "--all", "--dry-run").want(t, 0).shows(t, "+ Lin drinks tea", "+ Lin drinks milk")
	if diff := cmp.Diff(before, s.dump("llm_calls", "embedding_cache")); diff != "" {
		t.Errorf("a dry run wrote: %s", diff)
	}

	doc := s.run("extract", "--session", "s1", "--group", "g1", "--json").want(t, 0).silent(t).document(t)
	if doc["success"] != true || doc["job"] != "extract" || doc["session_id"] != "s1" || doc["status"] != "succeeded" ||
		doc["summary"] != "note Lin drinks tea / hello" || doc["messages"].(object)["deferred"] != 0.0 {
		t.Errorf("the reply is %v", doc)
	}
	again := s.run("extract", "--session", "s1", "--group", "g1", "--json").want(t, 0).document(t)
	if again["message"] != "nothing waits" || again["run_id"] != nil {
		t.Errorf("the second reply is %v", again)
	}
	s.bring("g1", spoken("s1", evening.Add(time.Hour), "change Lin drinks tea => Lin drinks coffee")...)
	s.run("extract", "--session", "s1", "--group", "g1").want(t, 0).silent(t).shows(t, "g1  s1  extract succeeded", "Lin drinks tea", "coffee",
		"summary note Lin drinks tea / hello / change Lin drinks tea")
	if diff := cmp.Diff([]string{"Lin drinks coffee|2|session,told|s1", "note Lin drinks tea / hello / change Lin drinks tea =>|2|session,summary|s1"},
		s.rows(`select statement, version, array_to_string(array(select t from unnest(tags) t where t <> 'fact' order by t), ','), session_id
			from memories where group_id = 'g1' and status = 'active' and kind = 'session' order by statement collate "C"`)); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}

	run := again
	for _, r := range s.run("runs", "list", "--group", "g1", "--job", "extract", "--json").want(t, 0).document(t)["runs"].(list) {
		run = r.(object)
	}
	if run["session_id"] != "s1" {
		t.Errorf("the run is %v", run)
	}
	s.run("runs", "list", "--group", "g1").want(t, 0).shows(t, "SESSION", "s1")
	s.run("runs", "show", fmt.Sprint(run["run_id"])).want(t, 0).shows(t, "session   s1", "extract of g1")
}

// TestExtractFailures: a session whose answers are of no use stops no other, not in
// its own group, now or later: it alone is left alone, then parked, and brought back
// by a person. A fault that passes leaves it all for the next time.
func TestExtractFailures(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_SESSION_TURNS=1", "REVERIE_JOBS_PARK_AFTER=2")
	s.bring("g1", spoken("bad", evening, "tell me a story")...)
	s.bring("g1", spoken("good", evening.Add(time.Hour), "note Lin drinks tea")...)
	s.bring("g2", spoken("good", evening, "note Mia hosts")...)
	answer := scribe(t)
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if strings.Contains(r.User, "tell me a story") && readQuestion(t, r).Turns != nil {
			return llmtest.Prose()
		}
		return answer(r)
	})
	o := s.run("extract", "--due").want(t, 3, `extract of group "g1" failed`, "its messages wait on")
	o.shows(t, "g1  bad  extract failed", "g1  good  extract succeeded", "g2  good  extract succeeded", "1 group done, 0 skipped, 0 deferred, 1 failed; 2 windows finished, 1 left")
	if got := s.one(`select new_turns, extractions, failures from sessions where session_id = 'bad'`); got != "1|0|1" {
		t.Errorf("the session that failed is %s: its buffer must stay", got)
	}
	s.run("sessions", "list", "--group", "g1").want(t, 0).shows(t, "retry 2")
	s.run("sessions", "show", "bad").want(t, 0).shows(t, "after 1 failure in a row", "--due tries again after")
	s.bring("g1", spoken("good", evening.Add(2*time.Hour), "note Mia sings")...)
	s.run("extract", "--due").want(t, 0).shows(t, "g1  good  extract succeeded", "1 group done, 0 skipped, 0 deferred, 0 failed")
	s.run("extract", "--all").want(t, 3, `session "bad" of group "g1" is parked`, "groups resume g1")
	s.run("extract", "--all").want(t, 0).shows(t, "nothing waits, paused groups and parked sessions left out")
	s.run("sessions", "list").want(t, 0).shows(t, "parked")
	s.run("sessions", "show", "bad").want(t, 0).shows(t, "parked", "reverie groups resume g1", "twice")
	s.run("evolve", "--due").want(t, 0).shows(t, "g1") // which is another job
	s.run("groups", "resume", "g1").want(t, 0).shows(t, "cleared: extract of session bad parked since")
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Failure(503, "overloaded") })
	s.run("extract", "--due").want(t, 4, "deferred")
	s.model.Respond(answer)
	s.run("extract", "--due").want(t, 0)
	if got := s.one(`select new_turns, extractions, failures, parked_at from sessions where session_id = 'bad'`); got != "0|1|0|" {
		t.Errorf("the session that failed is %s at last", got)
	}
	if got := s.rows(`select * from setbacks`); len(got) > 0 {
		t.Errorf("setbacks of groups: %v", got)
	}
}

// TestExtractGoesOn: what an extraction that was cut short has left is due, however
// little it is, and no retention takes it before.
func TestExtractGoesOn(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_SESSION_MAX_MESSAGES=4", "REVERIE_RETENTION_MESSAGES=24h")
	s.bring("g1", spoken("s1", evening, "note Lin drinks tea", "two", "note Mia hosts", "four", "note Bo sings", "six")...)
	answer, asked := scribe(t), 0
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if readQuestion(t, r).Turns != nil {
			if asked++; asked == 2 {
				return llmtest.Failure(503, "down")
			}
		}
		return answer(r)
	})
	s.run("extract", "--due").want(t, 4, "the next run")
	s.run("sessions", "list").want(t, 0).shows(t, "4 turns", "due")
	s.run("sessions", "show", "s1").want(t, 0).shows(t, "now: its last extraction was cut short")
	s.run("evolve", "--group", "g1").want(t, 0)
	s.run("maintain").want(t, 0)
	if got := s.one(`select unfinished, new_turns, (select count(*) from messages where text = '') from sessions`); got != "true|4|4" {
		t.Errorf("after maintenance: %s", got)
	}
	s.run("extract", "--due").want(t, 0).shows(t, "s1  extract succeeded")
	if got := s.one(`select unfinished, new_messages, extractions from sessions`); got != "false|0|3" {
		t.Errorf("at the end: %s", got)
	}
	s.run("extract", "--due").want(t, 0).shows(t, "nothing is due")
}

// TestExtractGone: a session that has become part of another since it was listed is
// nothing to do.
func TestExtractGone(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	five := []string{"one", "two", "three", "four", "five"}
	s.bring("g1", spoken("first", evening, five...)...)
	s.bring("g1", spoken("", evening.Add(time.Hour), five...)...)
	s.bring("g1", spoken("", evening.Add(100*time.Minute), five...)...)
	asked, gate := make(chan struct{}, 100), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		asked <- struct{}{}
		return llmtest.Text(transcribe(t, r)).After(gate)
	})
	p := s.launch("extract", "--due")
	await(t, "the first session's question", asked)
	s.bring("g1", chatLine{ID: "late", AuthorID: "lin", Author: "Lin", Text: "late", SentAt: evening.Add(80 * time.Minute).Format(time.RFC3339)})
	close(gate)
	if o := p.end(); o.code != 0 {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	s.run("extract", "--due").want(t, 0)
	if got := s.one(`select count(*), sum(new_turns), sum(failures) from sessions`); got != "2|0|0" {
		t.Errorf("sessions: %s", got)
	}
}
