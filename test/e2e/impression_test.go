package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

const impressionsOn = "REVERIE_IMPRESSION_ENABLED=true"

// peopleStage is a due stage where people are followed.
func peopleStage(t *testing.T) *stage {
	t.Helper()
	s := dueStage(t)
	s.set(impressionsOn)
	return s
}

// asked counts the questions to the model: those of evolve, and those that
// observe.
func (s *stage) asked() (evolve, observe int) {
	for _, r := range s.questions() {
		if readQuestion(s.t, r).observes() {
			observe++
		} else {
			evolve++
		}
	}
	return evolve, observe
}

// wasAsked fails the test where the model was asked otherwise.
func (s *stage) wasAsked(evolve, observe int) {
	s.t.Helper()
	if e, o := s.asked(); e != evolve || o != observe {
		s.t.Errorf("the model was asked %d questions by evolve and %d to observe, want %d and %d", e, o, evolve, observe)
	}
}

// people are what is said of whom in a group.
func (s *stage) people(group string) []string {
	s.t.Helper()
	return s.rows(`select e.subject, c.name, c.value, c.self from entities e left join entity_claims c
		on c.group_id = e.group_id and c.entity_id = e.entity_id and c.status = 'active' where e.group_id = $1 order by 1, 2, 3`, group)
}

// uses counts the messages that wait for impressions, and those that they used.
func (s *stage) uses(group string) string {
	s.t.Helper()
	return s.one(`select count(*) filter (where run_id is null), count(*) filter (where run_id is not null)
		from message_uses where group_id = $1 and job = 'impression'`, group)
}

func (s *stage) impressionRuns() []string {
	s.t.Helper()
	return s.rows(`select group_id, status, attempt from runs where job = 'impression' order by group_id, window_since, attempt`)
}

// TestImpressionsAreOff by themselves: a night is one call, and nothing waits.
func TestImpressionsAreOff(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.bring("g1", chat(night(3), "note Lin drinks tea", "self city Porto")...)
	s.run("evolve", "--due").want(t, 0).silent(t)
	s.bring("g1", chat(night(4), "note Mia hosts the game nights")...)
	s.run("evolve", "--group", "g1").want(t, 0).silent(t)
	s.wasAsked(2, 0)
	s.run("impression", "--due").want(t, 0).silent(t).shows(t, "nothing to do: no messages wait for impressions")
	s.run("impression", "--all").want(t, 0).silent(t).shows(t, "nothing to do: no messages wait for impressions")
	s.wasAsked(2, 0)
	if got := s.uses("g1"); got != "0|0" {
		t.Errorf("messages that wait and were used are %s", got)
	}
}

// TestImpressionsFollow evolve on the same windows, once, and say nothing where
// nothing waits.
func TestImpressionsFollow(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	for _, g := range []string{"g1", "g2"} {
		s.bring(g, chat(night(3), "note Lin drinks tea", "self city Porto")...)
		s.bring(g, chat(night(4), "self city Lisbon", "hello")...)
	}
	s.run("evolve", "--due").want(t, 0).silent(t).shows(t, "g1  succeeded", "2 groups done, 0 skipped, 0 deferred, 0 failed; 4 windows finished",
		"2025-03-03  g1  impression succeeded", "2025-03-04  g2  impression succeeded", "1 entity created", "impression: 2 groups done")
	s.wasAsked(4, 4)
	want := []string{"Lin|city|Lisbon|true", "Mia|city|Porto|true"}
	for _, g := range []string{"g1", "g2"} {
		if diff := cmp.Diff(want, s.people(g)); diff != "" {
			t.Errorf("%s: %s", g, diff)
		}
		if got := s.uses(g); got != "0|4" {
			t.Errorf("%s: messages that wait and were used are %s", g, got)
		}
	}
	if diff := cmp.Diff([]string{"g1|evolve|impression", "g1|evolve|impression", "g2|evolve|impression", "g2|evolve|impression"},
		s.rows(`select e.group_id, e.job, i.job from runs e join runs i using (group_id, window_since, window_until)
			where e.job = 'evolve' and i.job = 'impression' and e.status = 'succeeded' and i.status = 'succeeded' order by 1`)); diff != "" {
		t.Errorf("the windows of evolve and impression differ: %s", diff)
	}
	again := s.run("evolve", "--due").want(t, 0).silent(t).shows(t, "nothing is due")
	if strings.Contains(again.stdout, "impression") {
		t.Errorf("impressions speak where nothing waits:\n%s", again.stdout)
	}
	s.run("evolve", "--group", "g1").want(t, 0).silent(t).shows(t, "no new messages")
	s.run("impression", "--due").want(t, 0).silent(t).shows(t, "nothing to do: no messages wait for impressions")
	s.wasAsked(4, 4)
	if got := s.rows(`select holder from leases where holder <> ''`); len(got) > 0 {
		t.Errorf("leases were not given back: %q", got)
	}
}

// TestImpressionsOfAGroup: a group's own word counts for more than the
// configuration, and a person who names a group for more than either.
func TestImpressionsOfAGroup(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	for _, g := range []string{"as-configured", "off", "on"} {
		s.bring(g, chat(night(3), "self city Porto", "about Lin pet Miso")...)
	}
	s.run("groups", "set", "off", "--impressions", "off").want(t, 0)
	s.run("groups", "set", "on", "--impressions", "on").want(t, 0)
	s.run("evolve", "--due").want(t, 0).silent(t).shows(t, "impression: 2 groups done")
	s.wasAsked(3, 2)
	s.run("impression", "--all").want(t, 0).silent(t).shows(t, "nothing to do: no messages wait for impressions")
	s.run("impression", "--group", "off", "--until", night(3)).want(t, 0).shows(t, "off: no messages wait for impressions")
	s.run("impression", "--group", "off").want(t, 0, `impressions of group "off" are off`).
		shows(t, "off  impression succeeded", "1 entity created", "+ Lin  city: Porto", "+ Lin  pet: Miso", "Mia: “about Lin pet Miso”")
	s.wasAsked(3, 3)
	s.run("impression", "--group", "on").want(t, 0).silent(t).shows(t, "on: no messages wait for impressions")
	want := []string{"Lin|city|Porto|true", "Lin|pet|Miso|false"}
	for _, g := range []string{"as-configured", "off", "on"} {
		if diff := cmp.Diff(want, s.people(g)); diff != "" {
			t.Errorf("%s: %s", g, diff)
		}
	}

	off := s.fork(strings.Replace(impressionsOn, "true", "false", 1))
	for _, g := range []string{"as-configured", "off", "on"} {
		off.bring(g, chat(night(4), "self city Lisbon")...)
	}
	off.run("evolve", "--all").want(t, 0).silent(t).shows(t, "impression: 1 group done")
	off.wasAsked(6, 4)
	off.run("impression", "--group", "nobody").want(t, 1, "not found", "reverie groups list")
}

// TestImpressionsWaitWhileOff: what was queued goes on waiting, and nothing is lost
// when they are on again.
func TestImpressionsWaitWhileOff(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	s.bring("g1", chat(night(3), "self city Porto")...)
	down := s.model
	down.Respond(func(r llmtest.Request) llmtest.Answer {
		if readQuestion(t, r).observes() {
			return llmtest.Failure(503, "come back later")
		}
		return llmtest.Text(transcribe(t, r))
	})
	s.run("evolve", "--due").want(t, 4, `impression of group "g1" deferred`).shows(t, "g1  succeeded", "g1  impression deferred")
	s.run("groups", "set", "g1", "--impressions", "off").want(t, 0)
	down.Respond(scribe(t))
	s.run("evolve", "--due").want(t, 0).silent(t)
	s.run("evolve", "--group", "g1").want(t, 0).silent(t)
	if got := s.uses("g1"); got != "1|0" {
		t.Errorf("messages that wait and were used are %s", got)
	}
	s.run("groups", "set", "g1", "--impressions", "default").want(t, 0)
	s.run("evolve", "--due").want(t, 0).silent(t).shows(t, "nothing is due", "g1  impression succeeded")
	if diff := cmp.Diff([]string{"Lin|city|Porto|true"}, s.people("g1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"g1|deferred|1", "g1|succeeded|2"}, s.impressionRuns()); diff != "" {
		t.Error(diff)
	}
}

// TestImpressionFailures: they are the job's own. Evolve goes on, and its result
// stands.
func TestImpressionFailures(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	s.set("REVERIE_JOBS_PARK_AFTER=2", "REVERIE_JOBS_RETRY_AFTER=0s", "REVERIE_JOBS_MAX_RETRY_AFTER=0s")
	answer := llmtest.Text("I would rather not.")
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if readQuestion(t, r).observes() {
			return answer
		}
		return llmtest.Text(transcribe(t, r))
	})
	s.bring("g1", chat(night(3), "self city Porto")...)
	s.run("evolve", "--due").want(t, 3, `impression of group "g1" failed`).shows(t, "1 group done", "impression: 0 groups done, 0 skipped, 0 deferred, 1 failed")
	s.bring("g1", chat(night(4), "note Lin drinks tea")...)
	o := s.run("evolve", "--group", "g1", "--json").want(t, 1, "is parked")
	doc := o.document(t)
	follow, _ := doc["impression"].(object)
	if doc["success"] != true || follow["success"] != false || follow["job"] != "impression" || follow["status"] != "failed" || follow["error"] == nil {
		t.Errorf("the reply is %v", doc)
	}
	if diff := cmp.Diff([]string{"Lin drinks tea"}, s.active("g1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"impression|2|true"}, s.rows(`select job, failures, parked_at is not null from setbacks`)); diff != "" {
		t.Error(diff)
	}
	_, before := s.asked()
	s.bring("g1", chat(night(5), "note Mia hosts the game nights")...)
	s.run("evolve", "--due").want(t, 0).shows(t, "g1  succeeded", "g1  skipped: parked")
	s.run("evolve", "--group", "g1").want(t, 0, `impressions of group "g1" are passed over`, "groups resume g1")
	if _, after := s.asked(); after != before {
		t.Errorf("a parked job asked %d questions", after-before)
	}
	s.run("groups", "list", "--state", "parked").want(t, 0).shows(t, "impression parked since")
	s.run("groups", "resume", "g1").want(t, 0)

	answer = llmtest.Failure(401, "who are you")
	s.run("evolve", "--due").want(t, 2, "401")
	s.run("impression", "--group", "g1").want(t, 2, "401")
	answer = llmtest.Failure(429, "slow down")
	s.run("impression", "--group", "g1").want(t, 4)
	s.run("impression", "--all").want(t, 4)
	if got := s.rows(`select job from setbacks`); len(got) > 0 {
		t.Errorf("what passes by itself counts against %q", got)
	}
	s.model.Respond(scribe(t))
	s.run("impression", "--due").want(t, 0).silent(t).shows(t, "3 windows finished, 0 left")
	if got := s.uses("g1"); got != "0|3" {
		t.Errorf("messages that wait and were used are %s", got)
	}
}

// TestImpressionSettings: what is set wrongly is said before anything is begun.
func TestImpressionSettings(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	s.bring("g1", chat(night(3), "self city Porto")...)
	s.fork("REVERIE_LLM_OBSERVE_PROVIDER=anthropic").run("evolve", "--due").want(t, 2, "REVERIE_LLM_OBSERVE_API_KEY")
	s.fork("REVERIE_LLM_COMPARE_PROVIDER=anthropic").run("evolve", "--group", "g1").want(t, 2, "REVERIE_LLM_COMPARE_API_KEY")
	s.fork("REVERIE_LLM_COMPARE_PROVIDER=anthropic").run("run").want(t, 2, "REVERIE_LLM_COMPARE_API_KEY")
	s.wasAsked(0, 0)
	s.fork("REVERIE_LLM_COMPARE_PROVIDER=anthropic", "REVERIE_DECIDE_ENABLED=false", "REVERIE_LLM_OBSERVE_MODEL=observant").run("evolve", "--due").want(t, 0)
	if diff := cmp.Diff([]string{"evolve|gpt-5-mini", "observe|observant"}, s.rows(`select purpose, model from llm_calls order by 1`)); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		args  []string
		words string
	}{
		{[]string{"--group", "g1", "--due"}, "--due and --group do not go together"},
		{[]string{"--due", "--since", "2025-03-03"}, "--due and --since do not go together"},
		{[]string{"--group", "g1", "--since", "2025-03-04", "--until", "2025-03-03"}, "is not before --until"},
		{[]string{"--group", "g1", "--shard", "0/2"}, "--group and --shard do not go together"},
		{[]string{"--all", "--shard", ""}, "--shard is empty"},
		{[]string{"--group", "g1", "--days", "3"}, "unknown flag: --days"},
	} {
		s.run(append([]string{"impression"}, c.args...)...).want(t, 2, c.words)
	}
	if o := s.run("runs", "list", "--job", "nothing").want(t, 2); !strings.Contains(o.stderr, "evolve, impression") {
		t.Errorf("the jobs are not named: %s", o.stderr)
	}
}

// TestImpressionJSON: one document for a group, a line for each run of many, and
// the job's name on every line of its own.
func TestImpressionJSON(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	s.bring("g1", chat(night(3), "self city Porto", "hello", "about Mia pet Miso")...)
	quote := func(message, author, id, text, at string) object {
		return object{"message_id": message, "author_id": id, "author": author, "quote": text, "sent_at": "time", "local_date": at}
	}
	want := object{"success": true, "job": "impression", "group_id": "g1", "run_id": "id", "impression_time": "time", "status": "succeeded",
		"stats":    object{"created": 2.0, "updated": 0.0, "postponed": 0.0, "refused": 0.0},
		"messages": object{"cited": 2.0, "considered": 1.0, "filtered": 0.0, "deferred": 0.0},
		"changes": list{
			object{"subject": "Lin", "change_id": "id", "run_id": "id", "entity_id": "id", "action": "create", "new_text": "Lin", "change_reason": "", "evidence": list{}, "timestamp": "time"},
			object{"subject": "Mia", "change_id": "id", "run_id": "id", "entity_id": "id", "action": "create", "new_text": "Mia", "change_reason": "", "evidence": list{}, "timestamp": "time"},
			object{"subject": "Lin", "change_id": "id", "run_id": "id", "entity_id": "id", "claim_id": "id", "action": "claim", "new_text": "city: Porto", "change_reason": "Lin said so",
				"evidence": list{quote("2025-03-03-1", "Lin", "lin", "self city Porto", night(3))}, "timestamp": "time"},
			object{"subject": "Mia", "change_id": "id", "run_id": "id", "entity_id": "id", "claim_id": "id", "action": "claim", "new_text": "pet: Miso", "change_reason": "Lin said so",
				"evidence": list{quote("2025-03-03-3", "Lin", "lin", "about Mia pet Miso", night(3))}, "timestamp": "time"},
		}}
	got, _ := shape(s.run("evolve", "--group", "g1", "--json").want(t, 0).silent(t).document(t)).(object)
	if diff := cmp.Diff(want, got["impression"]); diff != "" {
		t.Errorf("the field impression (-want +got):\n%s", diff)
	}
	delete(got, "impression")
	if got["run_id"] != "id" || got["status"] != "succeeded" || got["job"] != nil {
		t.Errorf("evolve's own reply is %v", got)
	}
	if doc := s.run("evolve", "--group", "g1", "--json").want(t, 0).document(t); doc["impression"] != nil || doc["message"] != "no new messages" {
		t.Errorf("nothing waits, and the reply is %v", doc)
	}
	s.run("impression", "--group", "g1", "--json").want(t, 0).silent(t).like(t, object{"success": true, "job": "impression", "group_id": "g1",
		"message": "nothing waits", "stats": object{"created": 0.0, "updated": 0.0, "postponed": 0.0, "refused": 0.0}, "changes": list{}})

	s.bring("g1", chat(night(4), "self city Lisbon")...)
	lines := s.run("evolve", "--due", "--json").want(t, 0).silent(t).jsonLinesOf(t)
	if len(lines) != 4 || lines[0]["job"] != nil || lines[1]["summary"] == nil || lines[1]["job"] != nil {
		t.Fatalf("the lines are %v", lines)
	}
	if w, _ := lines[2]["window"].(object); lines[2]["job"] != "impression" || w["date"] != night(4) {
		t.Errorf("the run's line is %v", lines[2])
	}
	if diff := cmp.Diff(object{"success": true, "job": "impression", "summary": summary(object{"done": 1.0, "windows": 1.0})}, lines[3]); diff != "" {
		t.Error(diff)
	}
	change, _ := lines[2]["changes"].(list)
	if len(change) != 1 {
		t.Fatalf("changes are %v", lines[2]["changes"])
	}
	if c, _ := change[0].(object); c["action"] != "replace" || c["subject"] != "Lin" || c["old_text"] != "city: Porto" || c["new_text"] != "city: Lisbon" {
		t.Errorf("the change is %v", c)
	}
}

// TestImpressionRuns are looked at like evolve's.
func TestImpressionRuns(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	s.bring("g1", chat(night(3), "self city Porto", "about Bo pet Miso")...)
	dry := s.dump("llm_calls", "embedding_cache")
	s.run("evolve", "--group", "g1", "--dry-run").want(t, 0)
	if diff := cmp.Diff(dry, s.dump("llm_calls", "embedding_cache")); diff != "" {
		t.Errorf("a dry run wrote: %s", diff)
	}
	s.wasAsked(1, 0)
	s.run("evolve", "--due").want(t, 0)
	run := s.one(`select run_id from runs where job = 'impression'`)
	s.run("runs", "list", "--job", "impression").want(t, 0).silent(t).shows(t, run[:8], night(3), "+1", ">1", "succeeded")
	s.run("runs", "list").want(t, 0).shows(t, "evolve", "impression")
	s.run("runs", "show", run).want(t, 0).silent(t).shows(t, "impression of g1", "1 entity created, 0 updated, 1 postponed; 2 messages", "+ Lin  city: Porto", "observe", "chunk 1  applied")
	doc := s.run("runs", "show", run, "--json").want(t, 0).document(t)
	if changes, _ := doc["entities"].(list); len(changes) != 2 {
		t.Errorf("entities are %v", doc["entities"])
	}

	s.bring("g1", chat(night(4), "self city Lisbon")...)
	s.exec(`update groups set impressions = 'off'`)
	s.run("evolve", "--due").want(t, 0)
	s.exec(`insert into message_uses select group_id, 'impression', message_id, sent_at from messages where message_id = '2025-03-04-1'`)
	s.exec(`update groups set impressions = 'on'`)
	before := s.dump("llm_calls", "embedding_cache")
	s.run("impression", "--group", "g1", "--dry-run").want(t, 0).shows(t, "dry run: nothing was written", "1 updated", "Lin")
	s.run("impression", "--due", "--dry-run").want(t, 0).shows(t, "2025-03-04  g1  impression succeeded", "dry run")
	if diff := cmp.Diff(before, s.dump("llm_calls", "embedding_cache")); diff != "" {
		t.Errorf("a dry run wrote: %s", diff)
	}
}

// TestImpressionBudget is the same as evolve's, which comes first; what is left
// waits.
func TestImpressionBudget(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	for i := range 3 {
		s.bring(fmt.Sprint("g", i), chat(night(3), "self city Porto")...)
	}
	tight := func(calls int) *stage {
		return s.fork(fmt.Sprint("REVERIE_BUDGET_CALLS_PER_RUN=", calls), "REVERIE_JOBS_CONCURRENCY=1")
	}
	tight(4).run("evolve", "--due").want(t, 4, "budget").shows(t, "3 groups done", "impression: 1 group done")
	s.wasAsked(3, 1)
	tight(1).run("evolve", "--due").want(t, 4).shows(t, "impression: 1 group done")
	s.wasAsked(3, 2)
	tight(1).run("evolve", "--due").want(t, 0).shows(t, "impression: 1 group done")
	s.wasAsked(3, 3)
	for i := range 3 {
		if got := s.uses(fmt.Sprint("g", i)); got != "0|1" {
			t.Errorf("g%d: messages that wait and were used are %s", i, got)
		}
	}
	s.bring("g0", chat(night(4), "self city Lisbon")...)
	tight(1).run("evolve", "--group", "g0").want(t, 4, "budget").shows(t, "g0  succeeded")
	tight(1).run("impression", "--group", "g0").want(t, 0)
	if diff := cmp.Diff([]string{"Lin|city|Lisbon|true"}, s.people("g0")); diff != "" {
		t.Error(diff)
	}
}

// TestImpressionWorkers: two processes share the groups, and each message is used
// once.
func TestImpressionWorkers(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	s.set("REVERIE_JOBS_CONCURRENCY=4")
	c := crowdOf(12, 2)
	s.settle(c, func(string, int) []string { return []string{"self city Porto", "note it is so"} })
	all, first := make(chan struct{}), make(chan struct{}, 1)
	first <- struct{}{}
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if readQuestion(t, r).observes() && r.Key == "second" { // the second comes to impressions while the first is at them
			select {
			case <-first:
				close(all)
			default:
			}
		}
		answer := llmtest.Text(transcribe(t, r))
		if readQuestion(t, r).observes() && r.Key == "first" {
			return answer.After(all)
		}
		return answer
	})
	one := s.fork("REVERIE_LLM_API_KEY=first").launch("evolve", "--due")
	two := s.fork("REVERIE_LLM_API_KEY=second").launch("evolve", "--due")
	one.end().want(t, 0).silent(t)
	two.end().want(t, 0).silent(t)
	s.run("impression", "--due").want(t, 0).silent(t) // a busy group was passed over
	if got, want := s.one(`select count(*), count(distinct (group_id, window_since)), count(*) filter (where status = 'succeeded' and attempt = 1) from runs where job = 'impression'`),
		fmt.Sprintf("%d|%[1]d|%[1]d", c.windows()); got != want {
		t.Errorf("runs, windows and those that succeeded at once are %s, want %s", got, want)
	}
	if _, observe := s.asked(); observe != c.windows() {
		t.Errorf("%d questions were asked about %d windows", observe, c.windows())
	}
	if got := s.one(`select count(*) from message_uses where job = 'impression' and run_id is null`); got != "0" {
		t.Errorf("%s messages wait", got)
	}
	if got := s.rows(`select group_id from entities group by 1 having count(*) <> 1`); len(got) > 0 {
		t.Errorf("groups with another number of people than one: %q", got)
	}
}

// TestImpressionDaemon: the daemon does it after evolve, and counts it.
func TestImpressionDaemon(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	s.bring("g1", chat(night(3), "self city Porto")...)
	p, address := s.daemon()
	p.says("task done", 1)
	_, metrics := get(t, address+"/metrics")
	for _, want := range []string{`reverie_runs_total{job="impression",outcome="succeeded"} 1`, `reverie_changes_total{action="create",job="impression"} 1`,
		`reverie_windows_behind{job="impression"} 0`, `reverie_phase_seconds_count{job="impression",phase="observe"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	o := p.stop()
	if !slices.ContainsFunc(o.logOf(t), func(l object) bool {
		return l["msg"] == "run ended" && l["job"] == "impression" && l["group_id"] == "g1"
	}) {
		t.Errorf("the log does not tell of the run:\n%s", o.stderr)
	}
	if diff := cmp.Diff([]string{"Lin|city|Porto|true"}, s.people("g1")); diff != "" {
		t.Error(diff)
	}
}

// TestImpressionBackfill follows for the same dates, and also where a first try was
// cut off between the two jobs.
func TestImpressionBackfill(t *testing.T) {
	t.Parallel()
	s := peopleStage(t)
	for day := 3; day <= 6; day++ {
		s.bring("g1", chat(night(day), fmt.Sprintf("self city Porto%d", day))...)
	}
	dates := []string{"backfill", "--from", night(3), "--to", night(5), "--yes"}
	s.run(dates...).want(t, 0).shows(t, "3 windows of 1 group", "impression: 1 group done, 0 skipped, 0 deferred, 0 failed; 3 windows finished")
	s.wasAsked(3, 3)
	s.run(dates...).want(t, 0).shows(t, "nothing to do")
	s.wasAsked(3, 3)
	s.exec(`update message_uses set run_id = null where job = 'impression' and message_id = $1`, night(5)+"-1")
	s.run("backfill", "--from", night(3), "--to", night(4), "--yes").want(t, 0).shows(t, "nothing to do")
	s.wasAsked(3, 3)
	s.run(dates...).want(t, 0).shows(t, "nothing to do", "impression: 1 group done")
	s.wasAsked(3, 4)
	s.run(append(dates, "--replay")...).want(t, 0)
	s.wasAsked(6, 4) // evolve reads again; what was used is not used again
}
