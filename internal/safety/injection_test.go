package safety

import (
	"testing"

	"reverie/internal/text"
)

// Every rule finds its own examples, and none finds what any rule must leave alone.
func TestRuleExamples(t *testing.T) {
	for _, r := range injectionFile().Rule {
		p := newRules([]rule{r})
		if r.Class != RuleInstruction && r.Class != RuleSuspicious {
			t.Errorf("%s is of class %q", r.ID, r.Class)
		}
		if len(r.Match) == 0 || len(r.NoMatch) == 0 {
			t.Errorf("%s has no examples", r.ID)
		}
		for _, s := range r.Match {
			if findInReadings(p, text.Normalize(s)) == "" {
				t.Errorf("%s does not find %q", r.ID, s)
			}
		}
		for _, s := range r.NoMatch {
			if err := CheckStatement(s); err != nil {
				t.Errorf("%s: %q: %v", r.ID, s, err)
			}
		}
	}
}
