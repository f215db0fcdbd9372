package session

import (
	"fmt"
	"strings"
	"testing"

	"reverie/internal/llm/answer"
	"reverie/internal/llm/llmtest"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

// A slip at the key behind a fact, or behind a summary, never becomes part of it. The line is told as
// refused, and its turns are used: somebody who has the model write JSON must not stop the session.
func TestSlipAtAKeyIsNoFact(t *testing.T) {
	const fact = `{"type":"fact","confidence":0.9,"content":"Maya moved to Lisbon%s"m1","evidence":[{"message":1}]}`
	for _, slip := range []string{`", "replace: `, `", replace": `, `", \"replace": `, `", "replace"=`, `"; "replace: `, `\", "replace": `,
		`\", \"replace\": \`, `, "replace": `} {
		for _, line := range []string{fact, strings.Replace(fact, `"fact"`, `"summary"`, 1)} {
			read := answer.Read(fmt.Sprintf(line, slip))
			a := parse(read)
			all := append(a.proposals, summaryOf(a)...)
			if len(all)+len(read.Skipped) != 1 {
				t.Errorf("%s: %d proposals, skipped %v", slip, len(all), read.Skipped)
			}
			for _, p := range all {
				if p.Content != "Maya moved to Lisbon" {
					t.Errorf("%s: %q", slip, p.Content)
				}
			}
			for _, f := range a.refused {
				if !strings.Contains(f.Detail, "two ways") || f.Rule != pipeline.RuleForm {
					t.Errorf("%s: refused by %s: %s", slip, f.Rule, f.Detail)
				}
			}
		}
	}
	s := hall(t).on(t, "swallowed")
	s.chat("note One")
	s.model.Script(llmtest.Text(fmt.Sprintf(fact, `\", \"replace\": \`)))
	asked := s.asked()
	if res := s.extract(Request{}); res.Status != reverie.RunSucceeded || res.Stats.Refused != 1 || s.asked() != asked+1 || s.session().New.Messages != 0 {
		t.Errorf("%s %+v, asked %d times", res.Status, res.Stats, s.asked()-asked)
	}
	s.facts()
	s.recap()
}

func summaryOf(a reply) []pipeline.Proposal {
	if a.recap == nil {
		return nil
	}
	return []pipeline.Proposal{*a.recap}
}
