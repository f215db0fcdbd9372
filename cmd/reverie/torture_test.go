//go:build torture

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// ordeal is one way in which the binary is broken on purpose.
type ordeal struct {
	name string
	run  func(t *testing.T, o *ordeal)

	mu       sync.Mutex
	trials   int
	controls []string // what was taken away, and noticed
	took     time.Duration
	failed   bool
	audits   map[string]*audited // by invariant
	order    []string
}

// audited is what became of one invariant in all audits of an ordeal.
type audited struct{ checked, violations int }

// ordeals are done one after the other, in this order: see docs/torture.md.
var ordeals = []*ordeal{
	{name: "killed at each named step", run: killedAtSteps},
	{name: "killed at random moments", run: killedAtRandom},
	{name: "many schedulers", run: manySchedulers},
	{name: "the clock jumps", run: clocksJump},
	holderPastLease,
	postgresRestarted,
	networkCut,
	failingModel,
}

// TestTorture breaks the binary in every way of ordeals, audits the database after
// each trial, and prints what came of it. With -short each ordeal is a sample of itself.
func TestTorture(t *testing.T) {
	defer scrap()
	defer func() { report(os.Stdout, ordeals) }()
	for _, o := range ordeals {
		began := time.Now()
		o.failed = !t.Run(strings.ReplaceAll(o.name, " ", "-"), func(t *testing.T) { o.run(t, o) })
		o.took = time.Since(began)
	}
}

// trial counts a trial whose end was audited: by the invariants of reverie audit over
// the whole database of the stage, or of what more flags of it name.
func (o *ordeal) trial(t testing.TB, s *stage, flags ...string) {
	t.Helper()
	out := invoke(t.Context(), s.env, "", append([]string{"audit", "--json"}, flags...)...)
	doc := readAudit(t, out)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trials++
	if o.audits == nil {
		o.audits = map[string]*audited{}
	}
	for _, i := range doc {
		if o.audits[i.Name] == nil {
			o.audits[i.Name] = &audited{}
			o.order = append(o.order, i.Name)
		}
		o.audits[i.Name].checked += i.Checked
		o.audits[i.Name].violations += i.Violated
	}
	if out.code != 0 {
		t.Errorf("the audit found violations:\n%s%s", out.stdout, out.stderr)
	}
}

// control tells of a trial without a guard, and whether it was noticed that it was gone.
func (o *ordeal) control(t testing.TB, without string, noticed bool) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !noticed {
		t.Errorf("without %s nothing went wrong: the ordeal would not notice", without)
		return
	}
	o.controls = append(o.controls, without)
}

// report prints the ordeals, and what their audits found.
func report(out io.Writer, all []*ordeal) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ORDEAL\tTRIALS\tINVARIANTS\tROWS CHECKED\tVIOLATIONS\tCONTROLS THAT FAILED, AS THEY SHOULD\tTOOK\tRESULT")
	for _, o := range all {
		if o.took == 0 {
			continue // not asked for
		}
		checked, violations := 0, 0
		for _, a := range o.audits {
			checked, violations = checked+a.checked, violations+a.violations
		}
		result := "held"
		if o.failed {
			result = "FAILED"
		}
		controls := strings.Join(o.controls, "; ")
		if controls == "" {
			controls = "-"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", o.name, o.trials, len(o.audits), checked, violations, controls, o.took.Round(time.Second), result)
	}
	_ = w.Flush() // standard output
	reportInvariants(out, all)
}
