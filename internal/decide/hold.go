package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// TooManyRewrites explains to a reviewer that a run would delete or rewrite n of a number of memories. At most least
// may pass, or this share of them if that is more. It returns "" where n may pass. The format takes n, the number of
// memories, and the number that may pass.
func TooManyRewrites(n, of, least int, share float64, format string) string {
	allowed := Rewritable(of, least, share)
	if n <= allowed {
		return ""
	}
	return fmt.Sprintf(format, n, of, allowed)
}

// Rewritable returns how many of the memories may be rewritten without review.
func Rewritable(of, least int, share float64) int { return max(least, int(share*float64(of))) }

// ThisPlan takes the place of a run id in a dry run.
const ThisPlan = "this plan"

// Asked returns the rule by which a step on a memory must not be held for review, "" if it may be.
func Asked(h reverie.HeadState, step reverie.Step) (rule, detail string) {
	const waits = "what is to become of the memory waits for a person already"
	switch {
	case h.Waits == ThisPlan:
		return reverie.RuleWaits, waits
	case h.Waits != "":
		return reverie.RuleWaits, waits + ": `reverie runs show " + h.Waits + "`"
	case h.Refused(step):
		return reverie.RuleRejected, "a person has rejected this, and the memory rests on nothing new since"
	}
	return "", ""
}

// HoldExcess holds the steps that meant selects, if excess returns a reason for their number. It reports whether any
// step is held. Steps on memories that are pending review, or that a person has decided on, are refused first: the rest
// may be few enough.
func HoldExcess(plan *reverie.Plan, heads []reverie.HeadState, meant func(reverie.Step) bool, excess func(n int) string) (held bool) {
	tooMany := func() string {
		n := 0
		for _, s := range plan.Steps {
			if meant(s) {
				n++
			}
		}
		if n == 0 { // also where the limit was lowered before the run resumed
			return ""
		}
		return excess(n)
	}
	if tooMany() == "" {
		return false
	}
	byLineage := map[string]reverie.HeadState{}
	for _, h := range heads {
		byLineage[h.LineageID] = h
	}
	asked := func(s reverie.Step) bool {
		rule, _ := Asked(byLineage[s.LineageID], s)
		return rule != "" && meant(s)
	}
	var refused []reverie.Step
	for _, s := range Take(plan, heads, asked) {
		if !asked(s) { // it depends on a refused step
			plan.Held = append(plan.Held, s)
			continue
		}
		rule, detail := Asked(byLineage[s.LineageID], s)
		refused = append(refused, s)
		plan.Refusals = append(plan.Refusals, reverie.Refusal{Action: string(s.Action), Handle: s.Head.MemoryID, Rule: rule, Detail: detail})
	}
	Drop(plan, refused, "a person decides, or has decided, what is to become of the memory")
	reason := tooMany()
	if reason != "" {
		hold(plan, heads, reason, meant)
	}
	return reason != ""
}

// hold holds the steps of a plan that meant selects, with a reason. The rest of the plan is applied.
func hold(plan *reverie.Plan, heads []reverie.HeadState, reason string, meant func(reverie.Step) bool) {
	plan.Held = append(Take(plan, heads, meant), plan.Held...)
	plan.HeldReason = strings.TrimSuffix(reason+"; "+plan.HeldReason, "; ")
}

// Take removes from a plan the steps that meant selects, and the steps that depend on them. Those replace one of their
// memories, write its statement again, or merge memories.
func Take(plan *reverie.Plan, heads []reverie.HeadState, meant func(reverie.Step) bool) []reverie.Step {
	byLineage := map[string]reverie.HeadState{}
	for _, h := range heads {
		byLineage[h.LineageID] = h
	}
	out, stands := map[string]bool{}, map[string]bool{} // lineages and texts of removed steps
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
