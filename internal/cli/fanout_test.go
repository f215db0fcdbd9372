package cli

import (
	"strings"
	"testing"
	"time"

	"reverie/evolve"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// TestFanOutHasNoQuotes: a fan-out prints what became of memories, and nothing that people said: its log outlives erasure.
func TestFanOutHasNoQuotes(t *testing.T) {
	t.Parallel()
	said := []reverie.Evidence{{Author: "Ana", Quote: "I moved", SentAt: time.Unix(0, 0)}}
	r := evolve.Result{Result: pipeline.Result{GroupID: "g1", RunID: "r1", Status: reverie.RunSucceeded,
		Stats:     reverie.Stats{Created: 1},
		Changes:   []reverie.Change{{Action: reverie.ActionCreate, NewStatement: "Ana lives in Porto", Summary: "she told it", Evidence: said}},
		Supported: []reverie.Step{{OldStatement: "Ana likes tea", Evidence: said}},
		Refusals:  []reverie.Refusal{{Rule: reverie.RuleWaits, Detail: "a detail"}}}}
	var whole, brief strings.Builder
	p := FanOutPrinter{Console: &Console{Stdout: &whole, Stderr: &whole}, Job: reverie.JobEvolve}
	if err := p.Run(r, time.Second, ""); err != nil {
		t.Fatal(err)
	}
	p.Stdout = &brief
	p.Window(jobs.Report{GroupID: "g1", RunOutcome: jobs.RunOutcome{RunID: "r1", Result: r}})
	for _, words := range []string{"I moved", "she told it", "Ana likes tea", "a detail"} {
		if !strings.Contains(whole.String(), words) || strings.Contains(brief.String(), words) {
			t.Errorf("%q is missing in\n%s\nor is in\n%s", words, whole.String(), brief.String())
		}
	}
	if !strings.Contains(brief.String(), "+ Ana lives in Porto") || p.Brief {
		t.Errorf("it prints\n%s", brief.String())
	}
}
