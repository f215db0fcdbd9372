package pipeline

import (
	"cmp"
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

// Hold has the steps of a plan that are meant wait for a person, for a reason. The rest of
// the plan is applied.
func Hold(plan *reverie.Plan, heads []reverie.HeadState, reason string, meant func(reverie.Step) bool) {
	plan.Held = append(Take(plan, heads, meant), plan.Held...)
	plan.HeldReason = strings.TrimSuffix(reason+"; "+plan.HeldReason, "; ")
}

// Take takes the steps that are meant out of a plan, and what cannot be done without them:
// what stands in the place of a memory, or says what one says that they would end, and what
// is merged into another.
func Take(plan *reverie.Plan, heads []reverie.HeadState, meant func(reverie.Step) bool) []reverie.Step {
	byLineage := map[string]reverie.HeadState{}
	for _, h := range heads {
		byLineage[h.LineageID] = h
	}
	out, stands := map[string]bool{}, map[string]bool{} // lineages and texts
	for before := -1; before < len(out); {
		before = len(out)
		for _, s := range plan.Steps {
			h := byLineage[s.LineageID]
			says := reverie.Memory{Kind: cmp.Or(h.Kind, plan.Kind), ContentHash: s.ContentHash}.Text()
			merged := s.Action == reverie.ActionDelete && s.Reason == reverie.ReasonMerged
			if meant(s) || merged || out[s.Replaces] || out[s.LineageID] || s.ContentHash != "" && stands[says] {
				out[s.LineageID], stands[h.Text()] = true, true
				if s.Replaces != "" {
					out[s.Replaces] = true
				}
			}
		}
	}
	is := func(s reverie.Step) bool { return out[s.LineageID] }
	taken := slices.DeleteFunc(slices.Clone(plan.Steps), func(s reverie.Step) bool { return !is(s) })
	plan.Steps = slices.DeleteFunc(plan.Steps, is)
	return taken
}
