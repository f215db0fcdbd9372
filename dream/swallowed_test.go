package dream

import (
	"fmt"
	"testing"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// A slip at the key behind an item, or behind the narrative, never becomes part of it. The line is told as
// refused, and what the dream took in is taken in.
func TestSlipAtAKeyIsNoItem(t *testing.T) {
	h := hall(t)
	for i, line := range []string{
		`{"type":"theme","confidence":0.9,"content":"Ana bakes pies%s"sure","sources":["f1"]}`,
		`{"type":"summary","content":"Ana bakes pies%s"sure","sources":["f1"]}`,
	} {
		for j, slip := range []string{`\", \"replace\": \`, `\", \"sources\": \`} {
			s := h.on(t, fmt.Sprintf("swallowed-%d-%d", i, j))
			s.talk("s1", "", "Ana bakes.")
			s.model.Script(llmtest.Text(fmt.Sprintf(line, slip)))
			res := s.dream(Request{})
			if res.Status != reverie.RunSucceeded || res.Stats.Refused != 1 || res.Refusals[0].Rule != "form" || res.Stats.Material != 1 || s.asked() != 1 {
				t.Errorf("%s %s: %s %+v, refused %+v, asked %d times", line, slip, res.Status, res.Stats, res.Refusals, s.asked())
			}
			s.items()
			s.narrative()
		}
	}
}
