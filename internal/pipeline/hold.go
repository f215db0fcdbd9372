package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// TooManyRewrites says to a person that a run would delete or rewrite n of so many
// memories, which is more than may pass: more than least, and than this share of them. It
// is "" where they pass. The format takes n, how many there are and how many may pass.
func TooManyRewrites(n, of, least int, share float64, format string) string {
	allowed := Rewritable(of, least, share)
	if n <= allowed {
		return ""
	}
	return fmt.Sprintf(format, n, of, allowed)
}

// Rewritable is how many of so many memories pass.
func Rewritable(of, least int, share float64) int { return max(least, int(share*float64(of))) }

// HoldAll holds a whole plan for a reason, besides those for which lines of it are held.
// Support of a memory that a held line deletes goes: a person lets all pass or nothing.
func HoldAll(plan *reverie.Plan, reason string) {
	deleted := map[string]bool{}
	for _, step := range plan.Held {
		deleted[step.LineageID] = true
	}
	steps := slices.DeleteFunc(plan.Steps, func(step reverie.Step) bool { return deleted[step.LineageID] })
	plan.Held, plan.HeldAll, plan.Steps = append(steps, plan.Held...), true, nil
	plan.HeldReason = strings.TrimSuffix(reason+"; "+plan.HeldReason, "; ")
}
