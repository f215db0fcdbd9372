package openai

import (
	"strings"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
)

// TestShapeOfAnswers: what binds an answer is sent as each server reads it, and only where it is
// asked for and the prompt is known.
func TestShapeOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		lines  llm.Lines
		req    llm.Request
		fields string
	}{
		"not asked for":          {"", llm.Request{Prompt: "dream.en"}, ""},
		"free":                   {llm.LinesFree, llm.Request{Prompt: "dream.en"}, ""},
		"schema":                 {llm.LinesSchema, llm.Request{Prompt: "dream.zh"}, "response_format"},
		"grammar":                {llm.LinesGrammar, llm.Request{Prompt: "dream.small.zh"}, "grammar structured_outputs"},
		"a question of no job":   {llm.LinesGrammar, llm.Request{}, ""},
		"schema in a batch":      {llm.LinesSchema, llm.Request{Prompt: "dream.zh", Tier: llm.TierBatch}, ""},
		"grammar in a batch too": {llm.LinesGrammar, llm.Request{Prompt: "dream.zh", Tier: llm.TierBatch}, "grammar structured_outputs"},
	} {
		srv := llmtest.New(t)
		srv.Script(llmtest.Text("x"))
		c.req.User = "u"
		if _, err := open(t, srv, Options{Model: "m", Lines: c.lines}).Generate(t.Context(), c.req); err != nil {
			t.Fatal(err)
		}
		body, sent := srv.Requests()[0].Body, []string{}
		for _, field := range []string{"response_format", "grammar", "structured_outputs"} {
			if body[field] != nil {
				sent = append(sent, field)
			}
		}
		if strings.Join(sent, " ") != c.fields {
			t.Errorf("%s: %v is sent, want %s", name, sent, c.fields)
		}
		if grammar, _ := body["grammar"].(string); grammar != "" &&
			strings.Contains(grammar, "nonce") != (c.req.Tier == llm.TierBatch) {
			t.Errorf("%s: grammar %s", name, grammar)
		}
	}
}
