package evolve

import (
	"fmt"
	"strings"
	"testing"
)

// A slip at the key behind a statement never becomes part of the statement. The line is told as refused, and does
// not make its answer unusable: somebody who has the model write JSON must not stop the group.
func TestSlipAtAKeyIsNoStatement(t *testing.T) {
	const line = `{"action":"create","statement":"Maya moved to Lisbon%s"she says so","evidence":[{"message":1}]}`
	for _, slip := range []string{
		`", "change_reason: `, `", change_reason": `, `", ""change_reason": `, `", "change_reason"": `,
		`", \"change_reason": `, `", "change_reason\": `, `", "change_reason" `, `", "change_reason"=`, `", change_reason=`,
		`"; "change_reason: `, `" , "change_reason : `, `" "change_reason: `, `"", "change_reason": `, `”, "change_reason": `,
		`\", "change_reason": `, `\", \"change_reason\": \`, `\", \"tags\": \`, `, "change_reason": `,
	} {
		a := said(fmt.Sprintf(line, slip))
		proposals, refusals := parse(a)
		for _, p := range proposals {
			if p.statement != "Maya moved to Lisbon" || p.reason != "she says so" {
				t.Errorf("%s: statement %q, reason %q", slip, p.statement, p.reason)
			}
		}
		if len(proposals)+len(a.Skipped) != 1 {
			t.Errorf("%s: %d proposals, skipped %v", slip, len(proposals), a.Skipped)
		}
		for _, f := range refusals {
			if !strings.Contains(f.Detail, "two ways") || f.Rule != ruleForm {
				t.Errorf("%s: refused by %s: %s", slip, f.Rule, f.Detail)
			}
		}
	}
	if _, refusals := parse(said(fmt.Sprintf(line, `\", \"change_reason\": \"she says so","tags":[],"type":`))); len(refusals) != 1 {
		t.Errorf("a line of JSON with a key in its statement: %d refusals", len(refusals))
	}
}
