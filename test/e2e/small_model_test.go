package e2e

import (
	"strings"
	"testing"

	"reverie/internal/llm/llmtest"
)

// local puts a server of one's own in the place of the model's.
func (s *stage) local(t *testing.T, option llmtest.Option, env ...string) {
	t.Helper()
	s.model = llmtest.New(t, option)
	s.set(append(env, "REVERIE_LLM_BASE_URL="+s.model.URL("openai"), "REVERIE_LLM_MODEL=tiny", "REVERIE_EMBED_PROVIDER=offline")...)
}

// TestSmallContext: the night of a group fits what the server says that it reads, in several
// questions where one would be too long, with the short prompt and in the form that is set.
func TestSmallContext(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.local(t, llmtest.AsLlamaCpp("tiny", 4096), "REVERIE_LLM_LINES=grammar")
	s.model.Respond(scribe(t))
	var says []string
	for range 40 {
		says = append(says, strings.Repeat("we talked about the garden and about the rain ", 12))
	}
	s.bring("g1", chat("2025-03-03", append(says, "note The projector lives in the cupboard")...)...)
	s.run("evolve", "--group", "g1").want(t, 0)
	asked := s.model.Requests()
	if len(asked) < 3 {
		t.Errorf("%d questions, where one has less than 3000 tokens", len(asked))
	}
	for _, r := range asked {
		if r.MaxTokens != 896 || !strings.Contains(r.Body["grammar"].(string), `\"create\"`) || strings.Contains(r.System, "# Principles") {
			t.Errorf("asked with %d tokens, grammar %v, system part\n%s", r.MaxTokens, r.Body["grammar"], r.System)
		}
	}
	if n := s.one(`select count(*) from memories`); n != "1" {
		t.Errorf("%s memories", n)
	}
	s.local(t, llmtest.AsLlamaCpp("tiny", 1024))
	s.run("evolve", "--group", "g1").want(t, 2, "tiny reads 1024 tokens", "give it a longer context")
	s.local(t, llmtest.AsOllama("tiny", 8192, ""))
	s.run("evolve", "--group", "g1").want(t, 2, `has no grammars`, `set [llm] lines = "schema"`)
}

// TestDoctorTriesTheModel: a model that finds nothing in three small chats is not fit, and the
// exit code says so; nothing of the trial stays.
func TestDoctorTriesTheModel(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.local(t, llmtest.AsVLLM("tiny", 8192))
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Lines(`{"action":"none"}`) })
	s.run("doctor").want(t, 0).shows(t, "openai/tiny answers, and reads 8192 tokens (vLLM)")
	s.run("doctor", "--model").want(t, 1, "1 check failed").shows(t, "openai/tiny is not fit to keep memories", "0 of ",
		"lines refused: none", `try [llm] lines = "grammar"; else`)
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Prose() })
	s.run("doctor", "--model").want(t, 1).shows(t, "nights came to nothing", "unusable answer", "prose")
	if n := s.one(`select count(*) from groups`); n != "0" {
		t.Errorf("%s groups are left", n)
	}
}
