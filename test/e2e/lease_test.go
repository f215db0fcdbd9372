package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// TestLeaseLost: a holder that overslept finds its group taken by another, and
// writes nothing over what that one did.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea", "note Mia hosts the game nights")...)
	asked, gate := make(chan struct{}), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		close(asked)
		return llmtest.Text(transcribe(t, r)).After(gate)
	})
	slow := s.launch("evolve", "--group", "g1", "--json")
	await(t, "the question", asked)
	s.exec(`update leases set expires_at = 'epoch'`)
	s.model.Respond(scribe(t))
	s.run("evolve", "--group", "g1").want(t, 0)
	after := s.dump("llm_calls", "leases")
	close(gate)
	o := slow.end().want(t, 1, "lease")
	if doc := o.document(t); doc["success"] != false {
		t.Errorf("the reply is %v", doc)
	}
	if diff := cmp.Diff(after, s.dump("llm_calls", "leases")); diff != "" {
		t.Errorf("it wrote over the next holder's work:\n%s", diff)
	}
	if got := s.one(`select count(*) from leases where expires_at > clock_timestamp()`); got != "0" {
		t.Errorf("%s leases are left", got)
	}
}

// TestAtOnce: of many evolves of one group at once each succeeds or is told that
// the group is busy, and the messages are consumed once.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_EVOLVE_MAX_MESSAGES=2")
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea", "note Mia hosts the game nights", "note Bo takes the minutes", "hello")...)
	var procs []*process
	for range 5 {
		procs = append(procs, s.launch("evolve", "--group", "g1"))
	}
	done := 0
	for _, p := range procs {
		o := p.end()
		if o.code != 0 && o.code != 11 {
			t.Errorf("exit code %d: %s", o.code, o.stderr)
		}
		if strings.Contains(o.stdout, "3 created") {
			done++
		}
	}
	if got := s.pending("g1"); done != 1 || got != "0" || len(s.questions()) != 2 {
		t.Errorf("%d runs did the work, %s messages are pending, %d questions were asked; want 1, 0 and 2", done, got, len(s.questions()))
	}
	if got := s.one(`select count(*) from memory_change_log`); got != "3" {
		t.Errorf("%s changes, want 3", got)
	}
}

// TestChunksStand: what earlier chunks did stays when a later one fails, and the
// next run goes on behind them.
func TestChunksStand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answers []llmtest.Answer
		code    int
		status  string
	}{
		{"deferred", []llmtest.Answer{llmtest.Failure(500, "oops")}, 4, "deferred"},
		{"failed", []llmtest.Answer{llmtest.Prose(), llmtest.Prose()}, 1, "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_EVOLVE_MAX_MESSAGES=2")
			s.bring("g1", chat("2025-03-03", "note Lin drinks tea", "hello", "note Bo takes the minutes", "note Mia hosts the game nights", "bye")...)
			s.model.Script(append([]llmtest.Answer{llmtest.Text(`{"action":"create","statement":"Lin drinks tea","evidence":[{"message":1}]}`)}, c.answers...)...)
			doc := s.run("evolve", "--group", "g1", "--json").want(t, c.code).document(t)
			if doc["status"] != c.status || len(doc["changes"].(list)) != 1 {
				t.Errorf("the reply is %v", doc)
			}
			if diff := cmp.Diff(object{"cited": 1.0, "considered": 1.0, "filtered": 0.0, "deferred": 3.0}, doc["messages"]); diff != "" {
				t.Error(diff)
			}
			s.model.Respond(scribe(t))
			doc = s.run("evolve", "--group", "g1", "--json").want(t, 0).document(t)
			if diff := cmp.Diff(object{"cited": 2.0, "considered": 1.0, "filtered": 0.0, "deferred": 0.0}, doc["messages"]); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"Bo takes the minutes", "Lin drinks tea", "Mia hosts the game nights"}, s.active("g1")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAnswerIsPaidOnce: an answer whose vectors could not be had is not asked
// for again.
func TestAnswerIsPaidOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_BASE_URL="+s.model.URL("openai"), "REVERIE_EMBED_MODEL=text-embedding-3-small")
	s.model.Respond(scribe(t))
	s.model.ScriptEmbeddings(llmtest.Failure(503, "later"))
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
	s.run("evolve", "--group", "g1").want(t, 4, "later")
	if got := s.pending("g1") + s.one(`select count(*) from memories`); got != "10" {
		t.Errorf("pending messages and memories are %s, want 10", got)
	}
	s.run("evolve", "--group", "g1").want(t, 0)
	if n := len(s.questions()); n != 1 {
		t.Errorf("%d questions were asked, want 1", n)
	}
	if diff := cmp.Diff([]string{"Lin drinks tea"}, s.active("g1")); diff != "" {
		t.Error(diff)
	}
}

// TestKeyStaysSecret: a key shows up nowhere, not even where the server repeats
// it.
func TestKeyStaysSecret(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const key = "sk-proj-Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0"
	s.set("REVERIE_LLM_API_KEY="+key, "REVERIE_LOG_LEVEL=debug")
	s.bring("g1", chat("2025-03-03", "hello")...)
	s.model.Script(llmtest.Failure(401, "the key "+key+" is not known"), llmtest.Failure(400, "Authorization: Bearer "+key+" is malformed"), llmtest.Failure(403, key))
	all := []outcome{s.run("evolve", "--group", "g1", "--json").want(t, 2), s.run("evolve", "--group", "g1").want(t, 1),
		s.run("config"), s.run("config", "--json"), s.run("doctor"), s.run("runs", "list", "--json")}
	for _, o := range all {
		if strings.Contains(o.stdout+o.stderr, key[8:]) {
			t.Errorf("%v shows the key:\n%s%s", o.args, o.stdout, o.stderr)
		}
	}
	if i := slices.IndexFunc(s.dump(), func(row string) bool { return strings.Contains(row, key[8:]) }); i >= 0 {
		t.Errorf("the key is stored: %s", s.dump()[i])
	}
	for _, r := range s.model.Requests() {
		if r.Key != key {
			t.Errorf("the server was sent the key %q", r.Key)
		}
	}
}

// TestInterruptedImport: an import that waits for its input can be stopped.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.launch("import", "-", "--group", "g1")
	for s.one(`select count(*) from groups`) == "0" {
		// The group is made before the first line is read.
	}
	p.signal(syscall.SIGINT)
	p.end().want(t, 130)
}
