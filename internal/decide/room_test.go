package decide_test

import (
	"fmt"
	"testing"

	"reverie/internal/decide"
	"reverie/internal/reverie"
)

// TestMakeRoom archives the weakest for what is added, spares what it must, and drops what is
// added last where none can go.
func TestMakeRoom(t *testing.T) {
	heads := make([]reverie.HeadState, 7)
	for i := range heads {
		heads[i] = head(reverie.KindGroup, fmt.Sprint(i), fmt.Sprintf("Memory %d.", i))
		heads[i].Status, heads[i].Weight, heads[i].Strength = reverie.StatusActive, 1, 0.3
	}
	heads[0].Author = "ops"              // a person's
	heads[1].Weight = reverie.CoreWeight // core
	heads[2].JudgeAgain = "evidence erased"
	heads[3].Strength = 0.8                                               // goes after
	heads[4].Weight = 0.97                                                // as light as the others
	later := heads[4].LastSupportedAt.AddDate(0, 0, 9)                    //
	heads[4].LastSupportedAt, heads[5].UsedAt = later, &heads[5].SaidAt   // was heard last
	heads[6].LastSupportedAt = heads[6].LastSupportedAt.AddDate(0, 0, -9) // was silent the longest
	for _, c := range []struct {
		facts, most int
		weakest     []string
		dropped     int
	}{
		{1, 8, nil, 0},
		{1, 7, []string{"Memory 6."}, 0},
		{3, 7, []string{"Memory 6.", "Memory 5.", "Memory 4."}, 0},
		{5, 7, []string{"Memory 6.", "Memory 5.", "Memory 4.", "Memory 3."}, 1},
		{1, 6, []string{"Memory 6.", "Memory 5."}, 0},
	} {
		req := decide.Request{Kind: reverie.KindGroup, Heads: heads}
		for i := range c.facts {
			req.Lines = append(req.Lines, fact(fmt.Sprintf("New %d.", i)))
		}
		plan := plain(t, req).Plan(req)
		for i, step := range plan.Steps {
			plan.Decisions = append(plan.Decisions, reverie.Decision{No: i + 1, Action: reverie.DecisionAdd, MemoryID: step.MemoryID})
		}
		dropped := decide.MakeRoom(&plan, heads, c.most)
		var archived []string
		for _, step := range plan.Steps {
			if step.Action == reverie.ActionArchive {
				archived = append(archived, step.OldStatement)
			}
		}
		same(t, fmt.Sprintf("%d facts, %d active at most", c.facts, c.most), archived, c.weakest...)
		skipped := 0
		for _, d := range plan.Decisions {
			if d.Action == reverie.DecisionSkip && d.MemoryID == "" {
				skipped++
			}
		}
		if len(dropped) != c.dropped || skipped != c.dropped {
			t.Errorf("%d facts: %d dropped, %d decisions say so", c.facts, len(dropped), skipped)
		}
	}
}
