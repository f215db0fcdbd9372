package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

// TestSearchAfterOffline: what was evolved with --llm offline is found without
// saying it again, and so is what has no vector yet; vectors of another model are
// not thrown away for it.
func TestSearchAfterOffline(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.set("REVERIE_EMBED_PROVIDER=offline")
	s.bring("g1", chat("2025-03-03", "note The projector lives in the cupboard", "note Lin is allergic to peanuts")...)
	s.bring("empty")
	s.run("evolve", "--group", "g1").want(t, 0)
	s.set("REVERIE_LLM_BASE_URL=", "REVERIE_EMBED_PROVIDER=")
	o := s.run("memory", "search", "--group", "g1", "--limit", "1", "where is the projector").want(t, 0).silent(t)
	if !strings.Contains(o.stdout, "The projector lives in the cupboard") {
		t.Errorf("stdout is\n%s", o.stdout)
	}
	s.run("memory", "search", "--group", "empty", "x").want(t, 0).silent(t).shows(t, "no memories to search")
	s.exec(`update memories set embedding_model = 'gone@1536' where statement like 'Lin%'`)
	s.run("memory", "search", "--group", "g1", "peanuts").want(t, 0, "words alone", "[embed]").shows(t, "Lin is allergic to peanuts")
	if n := s.one(`select count(*) from memories where embedding_model = 'gone@1536'`); n != "1" {
		t.Errorf("%s vectors of the other model are left, want 1", n)
	}
}

// TestSearchWithoutVectors: statements that were stored while the server had no
// embeddings are embedded by the first search that can.
func TestSearchWithoutVectors(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.model.ScriptEmbeddings(llmtest.Failure(404, "no such route"))
	s.bring("g1", chat("2025-03-03", "note The projector lives in the cupboard", "note Lin is allergic to peanuts")...)
	doc := s.run("evolve", "--group", "g1", "--json").want(t, 0, "REVERIE_EMBED_PROVIDER").document(t)
	if w, ok := doc["warnings"].([]any); !ok || len(w) != 1 {
		t.Errorf("warnings are %v", doc["warnings"])
	}
	if n := s.one(`select count(*) from memories where embedding is not null`); n != "0" {
		t.Fatalf("%s memories have a vector", n)
	}
	s.set("REVERIE_EMBED_PROVIDER=offline")
	found := s.run("memory", "search", "--group", "g1", "--threshold", "0.7", "--json", "Lin is allergic to peanuts").want(t, 0).document(t)
	var statements []string
	for _, r := range found["results"].(list) {
		statements = append(statements, r.(object)["statement"].(string))
	}
	if diff := cmp.Diff([]string{"Lin is allergic to peanuts"}, statements); diff != "" {
		t.Error(diff)
	}
}
