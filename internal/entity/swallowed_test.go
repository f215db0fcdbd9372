package entity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// A slip at the key behind a name or a value never becomes part of it. The line is told as refused, and makes no
// answer unusable.
func TestSlipAtAKeyIsNoClaim(t *testing.T) {
	const answered = `{"subject":"Kay","kind":"person","confidence":0.9,"evidence":[{"message":7,"quote":"moved to Rome"}],"features":[{"key":"city","value":"Rome%s"x"}]}`
	for _, slip := range []string{`", "confidence: `, `", confidence": `, `", \"confidence": `, `", "confidence"=`, `"; "confidence: `,
		`\", "confidence": `, `\", \"confidence\": \`, `, "confidence": `} {
		list, refused, usable := parsed(t, fmt.Sprintf(answered, slip))
		for _, said := range tell(list) {
			if strings.Contains(said, "confidence") {
				t.Errorf("%s: %s", slip, said)
			}
		}
		for _, f := range refused {
			if strings.Contains(f.Detail, "two ways") && (f.Rule != ruleForm || !usable) {
				t.Errorf("%s: refused by %s: %s, usable %v", slip, f.Rule, f.Detail, usable)
			}
		}
	}
	s := newStage(t)
	s.say(evening.Add(-time.Hour), line{"u1:Kay", "I moved to Rome"})
	s.model.Script(llmtest.Text(strings.Replace(fmt.Sprintf(answered, `\", \"confidence\": \`), `"message":7`, `"message":1`, 1)))
	if res := s.observe(); res.Status != reverie.RunSucceeded || res.Stats.Refused != 1 || s.asked() != 1 {
		t.Errorf("%s %+v, asked %d times", res.Status, res.Stats, s.asked())
	}
	if got := s.people(); len(got) > 0 && strings.Contains(got[0], "Rome") {
		t.Errorf("people %q", got)
	}
}
