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

// dreamStage is a stage on which nothing is compared: a dream is one question.
func dreamStage(t *testing.T) *stage {
	t.Helper()
	s := dueStage(t)
	s.set("REVERIE_DECIDE_ENABLED=false")
	return s
}

// hears brings a session in which Lin says things, and has it extracted at its last
// message; it returns when that was.
func (s *stage) hears(group, session string, from time.Time, texts ...string) time.Time {
	s.t.Helper()
	lines := spoken(session, from, texts...)
	s.bring(group, lines...)
	last := instantOf(s.t, lines[len(lines)-1].SentAt)
	s.runAt(last, "extract", "--session", session, "--group", group).want(s.t, 0)
	return last
}

// dreams are the dreams of a group, the first one first.
func (s *stage) dreams(group string) []string {
	s.t.Helper()
	return s.rows(`select session_id, status from runs where group_id = $1 and job = 'dream' order by started_at, run_id`, group)
}

// dreamQuestions is how often the model was asked to dream.
func (s *stage) dreamQuestions() int {
	n := 0
	for _, r := range s.questions() {
		if readQuestion(s.t, r).LastDream != nil {
			n++
		}
	}
	return n
}

// TestDreamClock: a group is due when a session has been silent for a day, or when
// ten have ended since the last dream, but within the hour after a dream it is not;
// to the microsecond. A second call never does anything.
func TestDreamClock(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	at := func(now time.Time, want int, says string) {
		t.Helper()
		before := s.dreamQuestions()
		o := s.runAt(now, "dream", "--due").want(t, 0).silent(t).shows(t, says)
		if got := s.dreamQuestions() - before; got != want {
			t.Errorf("at %s the model was asked to dream %d times, want %d:\n%s", now, got, want, o.stdout)
		}
		if want > 0 {
			s.runAt(now, "dream", "--due").want(t, 0).silent(t).shows(t, "nothing is due")
		}
	}

	last := s.hears("idle", "s1", evening, "note Lin likes green tea")
	at(last.Add(24*time.Hour-time.Microsecond), 0, "nothing is due")
	at(last.Add(24*time.Hour), 1, "idle  up to s1  dream succeeded")

	next := last.Add(48 * time.Hour)
	for i := range 10 {
		if i == 9 {
			at(last.Add(30*time.Minute), 0, "nothing is due") // nine have ended
		}
		last = s.hears("many", fmt.Sprintf("s%d", i+1), next.Add(time.Duration(i)*time.Hour), fmt.Sprintf("note Lin likes the song number %d", i+1))
	}
	at(last.Add(30*time.Minute-time.Microsecond), 0, "nothing is due")
	dreamt := last.Add(30 * time.Minute)
	at(dreamt, 1, "many  up to s10  dream succeeded")
	if got := s.one(`select stats->>'sessions', stats->>'material' from runs where group_id = 'many' and job = 'dream'`); got != "10|20" {
		t.Errorf("sessions and memories taken in: %s", got)
	}

	// Of a group of its own mind.
	s.run("groups", "set", "many", "--dream-sessions", "1").want(t, 0)
	last = s.hears("many", "s11", dreamt.Add(time.Minute), "note Mia hosts the game nights")
	at(last.Add(31*time.Minute), 0, "nothing is due")
	s.runAt(dreamt.Add(time.Hour-time.Microsecond), "dream", "--due", "--group", "many").want(t, 0).shows(t, "nothing is due")
	at(dreamt.Add(time.Hour), 1, "many  up to s11  dream succeeded")
	if diff := cmp.Diff([]string{"s10|succeeded", "s11|succeeded"}, s.dreams("many")); diff != "" {
		t.Errorf("dreams (-want +got):\n%s", diff)
	}
}

// TestDreamNothing: where nothing is new, or only dreams are, there is no dream, no
// call and no run, due or asked for.
func TestDreamNothing(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	quiet := func(says string) {
		t.Helper()
		asked, runs := len(s.questions()), s.one(`select count(*) from runs`)
		s.run("dream", "--due").want(t, 0).silent(t).shows(t, "nothing is due")
		s.run("dream", "--group", "g1").want(t, 0).silent(t).shows(t, "g1: no dream: ", says)
		doc := s.run("dream", "--group", "g1", "--json").want(t, 0).silent(t).document(t)
		if doc["success"] != true || doc["run_id"] != nil || doc["status"] != nil || !strings.Contains(fmt.Sprint(doc["message"]), says) {
			t.Errorf("the reply is %v", doc)
		}
		if got := s.one(`select count(*) from runs`); len(s.questions()) != asked || got != runs {
			t.Errorf("%d questions, %s runs; were %d and %s", len(s.questions()), got, asked, runs)
		}
	}
	s.bring("g1", spoken("s1", evening, "note Lin likes green tea")...)
	quiet("reverie extract") // which has not read the session
	s.run("dream", "--due").want(t, 0).shows(t, "nothing is due")
	s.run("extract", "--all").want(t, 0)
	s.run("dream", "--due").want(t, 0).silent(t).shows(t, "g1  up to s1  dream succeeded", "0 kept, 0 updated, 2 created, 0 deleted; 1 session and 2 memories taken in, 1 question", "1 group done")
	quiet("new")
	s.run("dream", "--due", "--group", "g1").want(t, 0).shows(t, "nothing is due")
	s.run("dream", "--due", "--group", "g1", "--dry-run").want(t, 0).shows(t, "no new session has been quiet for long enough, and too few have ended\n")
	s.bring("g1", spoken("s1", evening.Add(time.Hour), "hello")...) // fresh again, and only the dream's memories are new
	s.exec(`update runs set finished_at = finished_at - interval '1 hour' where job = 'dream'`)
	quiet("new")
	s.run("extract", "--all").want(t, 0)
	s.run("dream", "--due").want(t, 0).silent(t).shows(t, "g1  up to s1  dream succeeded")
	if diff := cmp.Diff([]string{"s1|succeeded", "s1|succeeded"}, s.dreams("g1")); diff != "" {
		t.Errorf("dreams (-want +got):\n%s", diff)
	}
	if got := s.rows(`select statement, version from memories where kind = 'dream' and status = 'active' and 'summary' = any (tags)`); len(got) != 1 || !strings.HasSuffix(got[0], "|2") {
		t.Errorf("narratives: %q", got)
	}
}

// TestDreamUnderWay: whoever only looks at a group while another process dreams of it, or
// has died, says so and asks nothing; when that process is gone, the dream goes on.
func TestDreamUnderWay(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	s.hears("g1", "s1", evening, "note Lin likes green tea")
	s.exec(`insert into runs (group_id, run_id, job, session_id, window_since, window_until, status, attempt, started_at)
		values ('g1', '11111111-1111-4111-8111-111111111111', 'dream', 's1', 'epoch', 'epoch', 'running', 1, now())`)
	s.exec(`insert into run_chunks (group_id, run_id, chunk_no, status, memory_ids, created_at)
		select group_id, '11111111-1111-4111-8111-111111111111', 1, 'open', array_agg(memory_id), now() from memories group by 1`)
	s.exec(`insert into leases (group_id, lease_name, holder, fence, expires_at) values ('g1', 'group', 'another', 9, now() + interval '1 hour')
		on conflict (group_id, lease_name) do update set holder = excluded.holder, expires_at = excluded.expires_at`)
	asked := s.dreamQuestions()
	for _, args := range [][]string{{"show", "--group", "g1"}, {"show", "--group", "g1", "--json"}} {
		s.run(append([]string{"dream"}, args...)...).want(t, 0).shows(t, "the last dream was interrupted, or is under way")
	}
	if s.dreamQuestions() != asked {
		t.Error("it was asked about what is under way")
	}
	s.exec(`update leases set expires_at = 'epoch'`)
	s.run("dream", "show", "--group", "g1").want(t, 0).shows(t, "the last dream was interrupted")
	s.run("dream", "--due").want(t, 0).shows(t, "g1  up to s1  dream succeeded")
	if diff := cmp.Diff([]string{"s1|succeeded"}, s.dreams("g1")); diff != "" {
		t.Errorf("dreams (-want +got):\n%s", diff)
	}
}

// TestDreamCommand: what the command asks for, what a dry run leaves, what is printed
// and what JSON says, and how a thread is closed.
func TestDreamCommand(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	for _, c := range [][]string{{}, {"--due", "--session", "s1"}, {"--group", "g1", "--shard", "0/2"}, {"--due", "--shard", "2/2"}, {"--group", ""}, {"--due", "extra", "words"}} {
		s.run(append([]string{"dream"}, c...)...).want(t, 2)
	}
	s.set("REVERIE_GROUP=g1")
	s.run("dream", "--shard", "0/2").want(t, 2, "use it with --due")
	s.set("REVERIE_GROUP=")
	s.run("dream", "--group", "g9").want(t, 1, "not found", "groups list")
	s.run("dream", "--session", "s9").want(t, 1, "not found", "reverie sessions list")
	s.hears("g1", "s1", evening, "note Lin likes green tea", "note Bo still has to send the photos")
	s.hears("g1", "s2", evening.Add(2*time.Hour), "note Mia hosts the game nights")
	s.hears("g2", "s1", evening, "note Ann likes chess")

	before := s.dump("llm_calls", "embedding_cache")
	s.run("dream", "--group", "g1", "--dry-run").want(t, 0).silent(t).shows(t, "dry run: nothing was written", "narrative The group looked back", "+ Lin likes green tea")
	s.run("dream", "--due", "--dry-run").want(t, 0).silent(t).shows(t, "+ Mia hosts the game nights", "+ Ann likes chess")
	if diff := cmp.Diff(before, s.dump("llm_calls", "embedding_cache")); diff != "" {
		t.Errorf("a dry run wrote: %s", diff)
	}

	s.run("dream", "--session", "s1").want(t, 2, `session "s1" is in 2 groups: name one with --group: g1, g2`)
	doc := s.run("dream", "--session", "s1", "--group", "g1", "--json").want(t, 0).silent(t).document(t)
	if doc["success"] != true || doc["job"] != "dream" || doc["through_session"] != "s1" || doc["status"] != "succeeded" || len(doc["changes"].(list)) != 2 ||
		doc["narrative"] != "The group looked back on 1 sessions." {
		t.Errorf("the reply is %v", doc)
	}
	if diff := cmp.Diff(object{"sessions": 1.0, "memories": 3.0, "batches": 1.0, "calls": 1.0}, doc["material"]); diff != "" {
		t.Errorf("what it took in (-want +got):\n%s", diff)
	}
	lines := s.run("dream", "--due", "--json").want(t, 0).silent(t).jsonLinesOf(t)
	if len(lines) != 2 || lines[0]["group_id"] != "g2" || lines[0]["reason"] == nil || lines[1]["job"] != "dream" || lines[1]["summary"].(object)["done"] != 1.0 {
		t.Errorf("the lines are %v", lines) // that of g1 was just now
	}

	s.hears("g1", "s3", evening.Add(4*time.Hour), "note Bo sent the photos on March 3, 2025 (done: Bo still has to send the photos)")
	o := s.run("dream", "--group", "g1").want(t, 0).silent(t).shows(t, "g1  up to s3  dream succeeded", "+ Mia hosts the game nights",
		"x Bo sent the photos on March 3, 2025", "was open: Bo still has to send the photos", "2 sessions and 4 memories taken in, 1 question")
	if strings.Contains(o.stdout, "because") {
		t.Errorf("it was asked for:\n%s", o.stdout)
	}
	if got := s.one(`select version, tags from memories where group_id = 'g1' and status = 'active' and 'done' = any (tags)`); got != "2|{dream,long-term,todo,done}" {
		t.Errorf("the thread that was closed is %s", got)
	}
	run := s.one(`select run_id from runs where group_id = 'g1' and job = 'dream' and session_id = 's3'`)
	s.run("runs", "list", "--job", "dream").want(t, 0).shows(t, run[:8], "s3", "+1 ~2 =1")
	s.run("runs", "show", run).want(t, 0).shows(t, "dream of g1", "up to     session s3", "chunk 1  applied  4 memories")
}

// TestDreamFailures: exit codes by what went wrong, and that nothing is lost by it.
func TestDreamFailures(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	s.set("REVERIE_DREAM_HOLD_MIN=0", "REVERIE_DREAM_HOLD_RATIO=0.01")
	s.hears("g1", "s1", evening, "note Lin likes green tea")
	s.hears("g2", "s1", evening, "note Ann likes chess")
	invoke(t.Context(), []string{"HOME=" + s.home}, "", "dream", "--due").want(t, 2, "no model is configured")
	answer := scribe(t)
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Failure(503, "overloaded") })
	s.run("dream", "--group", "g1").want(t, 4).shows(t, "0 deleted; nothing taken in, 1 question")
	if doc := s.run("dream", "--group", "g2", "--json").want(t, 4).document(t); !cmp.Equal(doc["material"], object{"sessions": 0.0, "memories": 0.0, "batches": 0.0, "calls": 1.0}) {
		t.Errorf("a dream that was deferred took in %v", doc["material"])
	}
	s.run("dream", "--due").want(t, 4)
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Prose() })
	s.run("dream", "--group", "g1").want(t, 1)
	s.run("runs", "list", "--group", "g1", "--status", "failed").want(t, 0).shows(t, "dream")
	s.run("groups", "resume", "g1").want(t, 0).shows(t, "dream")
	s.exec(`update groups set dream_idle = 'soon' where group_id = 'g1'`)
	s.model.Respond(answer)
	s.run("dream", "--due", "--dry-run").want(t, 3, `group "g1": dream idle "soon"`, "off").shows(t, "+ Ann likes chess")
	s.run("dream", "--due").want(t, 3, `group "g1"`).shows(t, "g2  up to s1  dream succeeded", "1 group done, 0 skipped, 0 deferred, 1 failed")
	s.exec(`update groups set dream_idle = '' where group_id = 'g1'`)
	s.run("groups", "resume", "g1").want(t, 0).shows(t, "dream")
	s.run("dream", "--due").want(t, 0).shows(t, "g1  up to s1  dream succeeded")
	if got := s.rows(`select * from setbacks`); len(got) > 0 {
		t.Errorf("setbacks at the end: %q", got)
	}

	s.hears("g1", "s2", evening.Add(2*time.Hour), "note Lin likes black tea (before: Lin likes green tea)")
	lines := s.fork("REVERIE_DREAM_INTERVAL=0s").run("dream", "--due", "--json").want(t, 0, "warning: lines of run ", `of group "g1" are pending review`).jsonLinesOf(t)
	if lines[0]["status"] != "held" || lines[0]["stats"].(object)["held"] != 2.0 {
		t.Errorf("the line is %v", lines[0])
	}
	s.run("runs", "approve", fmt.Sprint(lines[0]["run_id"])).want(t, 0).shows(t, "0 kept, 2 updated, 0 created, 0 deleted\n", "black")
	if got := s.rows(`select statement, version from memories where kind = 'dream' and status = 'active' and 'preference' = any (tags) and group_id = 'g1'`); !slices.Equal(got, []string{"Lin likes black tea|2"}) {
		t.Errorf("after the approval: %q", got)
	}
}

// TestDreamDaemon: the daemon dreams of what is due when it starts.
func TestDreamDaemon(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	s.hears("g1", "s1", evening, "note Lin likes green tea")
	s.set("REVERIE_SCHEDULE_DREAM=7 3 1 1 *")
	p, address := s.daemon("REVERIE_SCHEDULE_EVOLVE=never")
	p.says(`"msg":"task done"`, 1)
	_, metrics := get(t, address+"/metrics")
	for _, want := range []string{`reverie_runs_total{job="dream",outcome="succeeded"} 1`, `reverie_changes_total{action="create",job="dream"} 2`,
		`reverie_phase_seconds_count{job="dream",phase="apply"} 1`} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("/metrics lacks %s:\n%s", want, metrics)
		}
	}
	p.stop().want(t, 0, `"job":"dream"`)
	if diff := cmp.Diff([]string{"s1|succeeded"}, s.dreams("g1")); diff != "" {
		t.Errorf("dreams (-want +got):\n%s", diff)
	}
}

// TestOfflineCannot: what needs a model says so in one line where it is asked for, and is
// passed over where it is due.
func TestOfflineCannot(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_LLM_PROVIDER=offline", "REVERIE_LLM_BASE_URL=", "REVERIE_LLM_MODEL=", "REVERIE_LOG_LEVEL=warn", impressionsOn)
	s.bring("g1", spoken("s1", evening, "I live in Lisbon")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	before := s.rows(`select session_id || new_messages from sessions union all select job || message_id from message_uses where run_id is null order by 1`)
	for _, args := range [][]string{{"dream", "--group", "g1"}, {"extract", "--session", "s1"}, {"extract", "--all"}, {"impression", "--group", "g1"}} {
		o := s.run(args...).want(t, 2, "offline cannot do this; it needs a model", "REVERIE_LLM_API_KEY")
		if n := strings.Count(strings.TrimSpace(o.stderr), "\n"); n != 0 || o.stdout != "" {
			t.Errorf("%v: %s%s", args, o.stdout, o.stderr)
		}
	}
	for _, job := range []string{"dream", "extract", "impression"} {
		o := s.run(job, "--due").want(t, 0)
		if strings.Count(o.stderr, "it needs a model") != 1 || o.stdout != "" {
			t.Errorf("%s --due: %s%s", job, o.stdout, o.stderr)
		}
	}
	if after := s.rows(`select session_id || new_messages from sessions union all select job || message_id from message_uses where run_id is null order by 1`); !slices.Equal(after, before) {
		t.Errorf("pending were %q, and are %q", before, after)
	}
}
