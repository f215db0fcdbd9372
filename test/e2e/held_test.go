package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// held makes a group whose last run wanted to delete or change all that it knows, beside the
// messages given, and says which run that was.
func held(t *testing.T, notes ...string) (*stage, string) {
	t.Helper()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea", "note Mia hosts the game nights", "note Bo takes the minutes", "note Rent is paid on the first")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.bring("g1", chat("2025-03-04", append([]string{"drop Lin drinks tea", "drop Mia hosts the game nights", "drop Bo takes the minutes",
		"change Rent is paid on the first => Rent is paid on the third"}, notes...)...)...)
	doc := s.run("evolve", "--group", "g1", "--json").want(t, 0).document(t)
	if diff := cmp.Diff(stats(object{"kept": 4.0, "created": float64(len(notes)), "held": 4.0}), doc["stats"]); diff != "" {
		t.Fatalf("stats (-want +got):\n%s", diff)
	}
	if doc["status"] != "held" || doc["success"] != true || len(doc["changes"].(list)) != len(notes) || len(doc["warnings"].(list)) != 1 {
		t.Fatalf("the reply is %v", doc)
	}
	if got := s.one(`select count(*) from messages where outcome = 'cited' and message_id like '2025-03-04%' and run_id is not null`); got != strconv.Itoa(4+len(notes)) {
		t.Fatalf("%s messages are cited", got)
	}
	return s, doc["run_id"].(string)
}

var (
	fourFacts = []string{"Bo takes the minutes", "Lin drinks tea", "Mia hosts the game nights", "Rent is paid on the first"}
	withRex   = append(slices.Clone(fourFacts), "The dog is called Rex")
)

func TestHeldWaitsAndGoesOn(t *testing.T) {
	t.Parallel()
	s, run := held(t, "note The dog is called Rex")
	if diff := cmp.Diff(withRex, s.active("g1")); diff != "" {
		t.Errorf("a held plan was applied:\n%s", diff)
	}
	if o := s.run("runs", "list", "--status", "held", "--group", "g1").want(t, 0); !strings.Contains(o.stdout, run[:8]) || !strings.Contains(o.stdout, "held, 4 lines") {
		t.Errorf("runs list --status held lacks the run:\n%s", o.stdout)
	}
	shown := s.run("runs", "show", run).want(t, 0).stdout
	for _, want := range []string{"held, 4 lines", "held in chunk 1  waiting  4 lines, the rest is applied: ", "4 of the 4 memories", "Lin drinks tea"} {
		if !strings.Contains(shown, want) {
			t.Errorf("runs show lacks %q:\n%s", want, shown)
		}
	}
	s.bring("g1", chat("2025-03-05", "note Later windows go on")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	if got := s.active("g1"); len(got) != 6 {
		t.Errorf("memories are %q", got)
	}
}

func TestApprove(t *testing.T) {
	t.Parallel()
	s, run := held(t, "note The dog is called Rex")
	// Two of the heads move meanwhile: one by a person, one by a run.
	s.run("memory", "delete", s.one(`select memory_id from memories where statement = 'Lin drinks tea'`)).want(t, 0)
	s.bring("g1", chat("2025-03-05", "change Mia hosts the game nights => Mia hosts the movie nights")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	asked := len(s.questions())
	doc := s.run("runs", "approve", run, "--json").want(t, 0).document(t)
	if diff := cmp.Diff(stats(object{"kept": 2.0, "updated": 1.0, "deleted": 1.0, "refused": 2.0}), doc["stats"]); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1:stale", "2:stale"}, refusals(doc)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Mia hosts the movie nights", "Rent is paid on the third", "The dog is called Rex"}, s.active("g1")); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
	if len(s.questions()) != asked {
		t.Error("approving asked the model")
	}
	if got := s.one(`select r.status, h.status from runs r join held_plans h using (group_id, run_id) where run_id = $1`, run); got != "succeeded|approved" {
		t.Errorf("the run and its plan are %s", got)
	}
	if got := s.one(`select said_at < '2025-03-06' from memories where statement = 'Rent is paid on the third'`); got != "true" {
		t.Error("what was approved later is told as said later than the chat said it")
	}
	before := s.dump("leases")
	s.run("runs", "approve", run).want(t, 1, "pending review")
	s.run("runs", "reject", run).want(t, 1, "pending review")
	if diff := cmp.Diff(before, s.dump("leases")); diff != "" {
		t.Errorf("a second decision changed something:\n%s", diff)
	}
}

func TestReject(t *testing.T) {
	t.Parallel()
	s, run := held(t, "note The dog is called Rex")
	if o := s.run("runs", "reject", run).want(t, 0); !strings.Contains(o.stdout, "0 messages pending again") {
		t.Errorf("stdout is %s", o.stdout)
	}
	if diff := cmp.Diff(withRex, s.active("g1")); diff != "" {
		t.Error(diff)
	}
	if got := s.one(`select status from runs where run_id = $1`, run) + s.pending("g1"); got != "rejected0" {
		t.Errorf("status and pending are %s", got)
	}
	s.run("runs", "approve", run).want(t, 1, "pending review")
}

func TestRejectRequeue(t *testing.T) {
	t.Parallel()
	s, run := held(t)
	s.run("runs", "reject", run, "--requeue", "--json").want(t, 0).like(t, object{"success": true, "run_id": "id", "requeued": 4.0})
	if got := s.pending("g1"); got != "4" {
		t.Fatalf("%s messages are pending, want 4", got)
	}
	s.model.Respond(func(r llmtest.Request) llmtest.Answer { return llmtest.Text(`{"action":"none"}`) })
	doc := s.run("evolve", "--group", "g1", "--json").want(t, 0).document(t)
	if doc["run_id"] == run {
		t.Error("the rejected run was taken up again")
	}
	if diff := cmp.Diff(object{"cited": 0.0, "considered": 4.0, "filtered": 0.0, "deferred": 0.0}, doc["messages"]); diff != "" {
		t.Error(diff)
	}
	if got := s.one(`select status from runs where run_id = $1`, run) + s.pending("g1"); got != "rejected0" {
		t.Errorf("status and pending are %s", got)
	}
}

// TestHeldLine: a delete that nothing proves waits by itself, and the rest of
// the plan is applied; of two memories, not all may go.
func TestHeldLine(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea", "note Mia hosts the game nights")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.bring("g1", chat("2025-03-04", "forget Lin drinks tea", "note The dog is called Rex")...)
	doc := s.run("evolve", "--group", "g1", "--json").want(t, 0).document(t)
	if diff := cmp.Diff(stats(object{"kept": 2.0, "created": 1.0, "held": 1.0}), doc["stats"]); diff != "" {
		t.Error(diff)
	}
	s.run("runs", "reject", doc["run_id"].(string), "--requeue", "--json").want(t, 0).like(t, object{"success": true, "run_id": "id", "requeued": 0.0})
	s.run("memory", "delete", s.one(`select memory_id from memories where statement = 'The dog is called Rex'`)).want(t, 0)
	s.bring("g1", chat("2025-03-05", "forget Lin drinks tea")...)
	doc = s.run("evolve", "--group", "g1", "--json").want(t, 0).document(t)
	if diff := cmp.Diff(stats(object{"kept": 2.0, "refused": 1.0}), doc["stats"]); diff != "" {
		t.Errorf("a person had said no (-want +got):\n%s", diff)
	}
	s.bring("g1", chat("2025-03-06", "again Lin drinks tea")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.bring("g1", chat("2025-03-07", "drop Lin drinks tea", "drop Mia hosts the game nights")...)
	doc = s.run("evolve", "--group", "g1", "--json").want(t, 0).document(t)
	if diff := cmp.Diff(stats(object{"kept": 2.0, "held": 2.0}), doc["stats"]); diff != "" {
		t.Errorf("all of two memories were to go (-want +got):\n%s", diff)
	}
}

// TestStale: a habit that nothing has supported on more active nights than a habit may be
// silent for goes without a quote, into the archive; a fact does not.
func TestStale(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea", "note Mia hosts the game nights", "note Rent is paid on the first")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.exec(`update memories set type = 'habit' where statement like 'Lin%'`)
	s.exec(`insert into active_nights (group_id, night) select 'g1', '2025-03-03'::date + n from generate_series(1, 21) n`)
	s.bring("g1", chat("2025-03-25", "forget Lin drinks tea", "forget Rent is paid on the first", "again Mia hosts the game nights")...)
	doc := s.run("evolve", "--group", "g1", "--json").want(t, 0).document(t)
	if diff := cmp.Diff(stats(object{"kept": 2.0, "held": 1.0, "archived": 1.0}), doc["stats"]); diff != "" {
		t.Error(diff)
	}
	if got := s.one(`select status from memories where statement = 'Lin drinks tea'`); got != "archived" {
		t.Errorf("it is %s", got)
	}
	if got := s.one(`select status from memories where statement = 'Rent is paid on the first'`); got != "active" {
		t.Errorf("a fact is %s", got)
	}
}
