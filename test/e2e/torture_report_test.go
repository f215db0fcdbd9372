//go:build torture

package e2e

import (
	"strings"
	"testing"
)

// reportTells holds the report to telling ordeals that held from those that were
// not run, and from those in which nothing was broken.
func reportTells(t *testing.T) {
	for _, c := range []struct {
		o    *ordeal
		want string
	}{
		{&ordeal{name: "left out"}, "not run"},
		{&ordeal{name: "no trials", began: true, struck: 1}, "FAILED"},
		{&ordeal{name: "nothing broken", began: true, trials: 1}, "FAILED"},
		{&ordeal{name: "wrong", began: true, trials: 1, struck: 1, failed: true}, "FAILED"},
		{&ordeal{name: "right", began: true, trials: 1, struck: 1}, "held"},
	} {
		var out strings.Builder
		report(&out, []*ordeal{c.o})
		if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 2 || !strings.HasSuffix(lines[1], "  "+c.want) {
			t.Errorf("%s: it should say %q:\n%s", c.o.name, c.want, out.String())
		}
	}
}

// controlsTell holds controls to the symptom of their guard.
func controlsTell(t *testing.T) {
	for _, c := range []struct {
		seen []string
		want bool
	}{{nil, false}, {[]string{"the model is silent"}, false}, {[]string{"the model is silent", "a night is asked about twice"}, true}} {
		o, failed := ordeal{}, quiet{TB: t}
		o.control(&failed, "the lease", "asked about twice", c.seen...)
		if took := len(o.controls) == 1; took != c.want || failed.said == c.want {
			t.Errorf("seen %q: taken for proof: %t", c.seen, took)
		}
	}
}

// quiet is a test whose errors are only counted.
type quiet struct {
	testing.TB
	said bool
}

func (q *quiet) Helper()               {}
func (q *quiet) Errorf(string, ...any) { q.said = true }
