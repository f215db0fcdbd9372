//go:build torture

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"text/tabwriter"

	"reverie/internal/reverie"
)

// readAudit reads what `reverie audit --json` printed.
func readAudit(t testing.TB, o outcome) []reverie.Invariant {
	t.Helper()
	var doc struct{ Invariants []reverie.Invariant }
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || len(doc.Invariants) == 0 {
		t.Fatalf("the audit told nothing (exit code %d, %v):\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	return doc.Invariants
}

// violated are the names of the invariants that an audit of the stage's whole database
// finds violated.
func (s *stage) violated() (names []string) {
	s.t.Helper()
	for _, i := range readAudit(s.t, s.run("audit", "--json")) {
		if i.Violated > 0 {
			names = append(names, "violated: "+i.Name)
		}
	}
	return names
}

// reportInvariants prints what all audits of all ordeals together found, by invariant.
func reportInvariants(out io.Writer, all []*ordeal) {
	sum := map[string]*audited{}
	var order []string
	for _, o := range all {
		for _, name := range o.order {
			if sum[name] == nil {
				sum[name] = &audited{}
				order = append(order, name)
			}
			sum[name].checked += o.audits[name].checked
			sum[name].violations += o.audits[name].violations
		}
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "INVARIANT\tROWS CHECKED\tVIOLATIONS")
	for _, name := range order {
		fmt.Fprintf(w, "%s\t%d\t%d\n", name, sum[name].checked, sum[name].violations)
	}
	_ = w.Flush() // standard output
}
