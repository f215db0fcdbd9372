package secret

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"reverie"
)

// found tells whether a secret is covered by what is found in its line, all of it.
func (p planted) found() bool {
	covered := 0
	for _, f := range reverie.FindSecrets(p.line) {
		covered += overlap(p.line[f.Start:f.End], p.secret)
	}
	return covered >= len(p.secret)
}

// overlap is how many bytes of a secret stand in a finding: all of them, or those of the
// finding, where it is a piece of the secret.
func overlap(found, secret string) int {
	switch {
	case len(found) >= len(secret) && strings.Contains(found, secret):
		return len(secret)
	case strings.Contains(secret, found):
		return len(found)
	}
	return 0
}

// Each kind must be found, in every line that people may write it into.
func TestRecall(t *testing.T) {
	const each = 40
	g := &gen{rand.New(rand.NewPCG(1, 2))}
	kinds := append(append(tokenKinds(), containerKinds()...), spokenKinds()...)
	if len(kinds) < 120 {
		t.Errorf("%d kinds", len(kinds))
	}
	all, missed := 0, 0
	for _, k := range kinds {
		n := max(each, len(k.lines), len(tokenLines))
		var lost []planted
		for _, p := range k.plants(g, n) {
			if !p.found() {
				lost = append(lost, p)
			}
		}
		all, missed = all+n, missed+len(lost)
		if len(lost)*50 > n {
			t.Errorf("%s: %d of %d missed, such as %q", k.name, len(lost), n, lost[0].line)
		}
		if os.Getenv("REVERIE_TEST_VERBOSE") != "" {
			for _, p := range lost {
				t.Logf("%s: %q", k.name, p.line)
			}
		}
	}
	t.Logf("%d kinds, %d of %d found", len(kinds), all-missed, all)
	if missed*100 > all {
		t.Errorf("%d of %d missed", missed, all)
	}
}
