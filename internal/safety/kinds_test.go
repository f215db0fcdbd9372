package safety

import (
	"errors"
	"strings"
	"testing"
)

// What was once told wrong is told right, in other words: each family says which rule its
// statements break.
func TestKinds(t *testing.T) {
	for _, c := range poisonCases(t, "statement/kinds.txt") {
		want, _, _ := strings.Cut(c.family, ":")
		rule := Rule("none")
		var broken *StatementError
		if errors.As(CheckStatement(c.text), &broken) {
			rule = broken.Rule
		}
		if string(rule) != want {
			t.Errorf("%s: %q breaks %s", c.family, c.text, rule)
		}
	}
}
