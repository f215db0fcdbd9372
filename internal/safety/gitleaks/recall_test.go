package gitleaks

import (
	"math/rand/v2"
	"strings"
	"testing"

	"reverie/internal/safety"
)

// found tells whether a secret is covered by what is found in its line, all of it.
func (p planted) found() bool {
	covered := 0
	for _, f := range safety.FindSecrets(p.line) {
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

// missed are the lines of kinds in which the secret is not found, of n of each kind.
func missed(n func(k kind) int) (all int, lost map[string][]planted, kinds []kind) {
	g := &gen{rand.New(rand.NewPCG(1, 2))}
	kinds = append(append(tokenKinds(), containerKinds()...), spokenKinds()...)
	lost = map[string][]planted{}
	for _, k := range kinds {
		for _, p := range k.plants(g, n(k)) {
			all++
			if !p.found() {
				lost[k.name] = append(lost[k.name], p)
			}
		}
	}
	return all, lost, kinds
}

// Each kind must be found, in every line that people may write it into. The benchmark
// tries more of each.
func TestRecall(t *testing.T) {
	all, lost, kinds := missed(func(k kind) int { return max(4, len(k.lines)) })
	if len(kinds) < 150 || all < 800 {
		t.Errorf("%d lines of %d kinds", all, len(kinds))
	}
	for name, list := range lost {
		t.Errorf("%s: %d missed, such as %q", name, len(list), list[0].line)
	}
}

// BenchmarkRates prints how much is found of what is secret, and how much of what is not.
func BenchmarkRates(b *testing.B) {
	const each = 60
	for b.Loop() {
		all, lost, kinds := missed(func(kind) int { return each })
		n := 0
		for _, list := range lost {
			n += len(list)
		}
		lines := ordinary(20000)
		secrets, pii := falseAlarms(lines)
		b.ReportMetric(float64(len(kinds)), "kinds")
		b.ReportMetric(100*float64(all-n)/float64(all), "%found")
		b.ReportMetric(100*float64(len(secrets))/float64(len(lines)), "%false-secrets")
		b.ReportMetric(100*float64(len(pii))/float64(len(lines)), "%false-pii")
	}
}
