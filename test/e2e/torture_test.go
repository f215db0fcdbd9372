//go:build torture

package e2e

import (
	"fmt"
	"io"
	"os"
	"slices"
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

	began  bool // a filter may leave it out
	took   time.Duration
	failed bool

	mu       sync.Mutex
	trials   int
	struck   int                 // how often what breaks was met with: a trial that nothing happened to proves nothing
	controls []string            // what was taken away, and noticed
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
	linksComeAndGo,
	peopleBesideNight,
	pagesWatched,
	weekOfDaemon,
}

// TestTorture breaks the binary in every way of ordeals, audits the database after
// each trial, and prints what came of it. With -short each ordeal is a sample of itself.
// An ordeal that tried nothing has failed.
func TestTorture(t *testing.T) {
	t.Run("the report", reportTells)
	t.Run("the controls", controlsTell)
	defer scrap()
	defer func() { report(os.Stdout, ordeals) }()
	for _, o := range ordeals {
		began := time.Now()
		o.failed = !t.Run(strings.ReplaceAll(o.name, " ", "-"), func(t *testing.T) {
			o.began = true
			o.run(t, o)
			if why := o.idle(); why != "" {
				t.Error(why)
			}
		})
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

// strikes counts how often what the ordeal breaks was broken while somebody was at it.
func (o *ordeal) strikes(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.struck += n
}

// hits is how often that was.
func (o *ordeal) hits() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.struck
}

// idle says why an ordeal that was run shows nothing; "" where it does.
func (o *ordeal) idle() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.trials == 0:
		return "nothing was tried: no audit was made"
	case o.struck == 0:
		return fmt.Sprintf("%d trials, and nothing was ever broken in them", o.trials)
	}
	return ""
}

// control tells of trials without a guard, and of all that was seen to be wrong in them.
// The symptom is the words by which it is known that this guard was missing: where only
// something else went wrong, it is another fault, and the guard may not be looked at.
func (o *ordeal) control(t testing.TB, without, symptom string, seen ...string) {
	t.Helper()
	if !shows(seen, symptom) {
		if len(seen) == 0 {
			seen = []string{"nothing"}
		}
		t.Errorf("without %s it should be seen that %q; the ordeal would not notice. What was seen: %s", without, symptom, strings.Join(seen, "\n"))
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.controls = append(o.controls, without)
}

// shows tells whether a symptom is among what was seen.
func shows(seen []string, symptom string) bool {
	return slices.ContainsFunc(seen, func(what string) bool { return strings.Contains(what, symptom) })
}

// report prints the ordeals, and what their audits found.
func report(out io.Writer, all []*ordeal) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ORDEAL\tTRIALS\tINVARIANTS\tROWS CHECKED\tVIOLATIONS\tCONTROLS\tTOOK\tRESULT")
	for _, o := range all {
		checked, violations := 0, 0
		for _, a := range o.audits {
			checked, violations = checked+a.checked, violations+a.violations
		}
		result := "held"
		switch {
		case !o.began:
			result = "not run"
		case o.failed || o.idle() != "":
			result = "FAILED"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", o.name, o.trials, len(o.audits), checked, violations, len(o.controls), o.took.Round(time.Second), result)
	}
	_ = w.Flush() // standard output
	reportControls(out, all)
	reportInvariants(out, all)
}

// reportControls tells what each ordeal would have noticed.
func reportControls(out io.Writer, all []*ordeal) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "\nORDEAL\tFAILS, AS IT SHOULD, WITHOUT\n"
	for _, o := range all {
		for _, c := range o.controls {
			fmt.Fprintf(w, "%s%s\t%s\n", head, o.name, c)
			head = ""
		}
	}
	_ = w.Flush() // as above
}
