package decide

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// noRoom is why a memory is not added.
const noRoom = "there are as many active memories as there may be, and none can be archived for another; merge some first"

// MakeRoom archives heads for what a plan adds, so that no more memories of its kind are
// active than there may be: the weakest, and those that the plan does not touch. What a
// person wrote stays, and so does what weighs [reverie.CoreWeight] or is to be judged again.
// Where too few may go, what is added last is dropped, and returned.
func MakeRoom(plan *reverie.Plan, heads []reverie.HeadState, most int) (dropped []reverie.Step) {
	byLineage, touched := map[string]reverie.HeadState{}, map[string]bool{}
	active, added := 0, 0
	for _, h := range heads {
		if h.Kind == plan.Kind && h.Status != reverie.StatusArchived {
			byLineage[h.LineageID] = h
		}
		if h.Kind == plan.Kind && stays(h) {
			active++
		}
	}
	for _, s := range plan.Held {
		touched[s.LineageID] = true
	}
	for _, s := range plan.Steps {
		touched[s.LineageID] = true
		if before, after := stays(byLineage[s.LineageID]), says(plan.Kind, byLineage[s.LineageID], s); after && !before {
			added++
		} else if before && !after {
			active--
		}
	}
	need := active + added - most
	if added == 0 || need <= 0 {
		return nil
	}
	weakest := slices.DeleteFunc(slices.Collect(maps.Values(byLineage)), func(h reverie.HeadState) bool {
		return touched[h.LineageID] || !stays(h) || h.Weight >= reverie.CoreWeight || h.ByPerson() || h.JudgeAgain != ""
	})
	slices.SortFunc(weakest, weaker)
	for _, h := range weakest[:min(need, len(weakest))] {
		why := fmt.Sprintf("room for another: %d may be active, and this is the weakest (weight %.2f, strength %.2f, silent since %s)",
			most, h.Weight, h.Strength, text.LocalDate(lastHeard(h), time.UTC))
		plan.Steps = append(plan.Steps, NewStep(Line{Action: reverie.ActionArchive, Target: &h, Reason: why}))
	}
	for i := len(plan.Steps) - 1; i >= 0 && len(dropped) < need-len(weakest); i-- {
		if s := plan.Steps[i]; s.Replaces == "" && (s.Action == reverie.ActionCreate || s.Returns) && !ends(s) {
			dropped = append(dropped, s)
			plan.Steps = slices.Delete(plan.Steps, i, i+1)
		}
	}
	Drop(plan, dropped, noRoom)
	return dropped
}

// Drop notes on a plan's decisions that steps are not in it any more, and why.
func Drop(plan *reverie.Plan, dropped []reverie.Step, why string) {
	for i := range plan.Decisions {
		d := &plan.Decisions[i]
		if d.MemoryID != "" && slices.ContainsFunc(dropped, func(s reverie.Step) bool { return s.MemoryID == d.MemoryID }) {
			d.Action, d.MemoryID, d.Reason = reverie.DecisionSkip, "", safety.CleanReason(joined(why, d.Reason))
		}
	}
}

// NoRoom says that a step was dropped by [MakeRoom].
func NoRoom(s reverie.Step) reverie.Refusal {
	return reverie.Refusal{Action: string(s.Action), Handle: s.Head.MemoryID, Rule: RuleQuota, Detail: noRoom}
}

// stays tells whether a head is one of those that there may be so many of.
func stays(h reverie.HeadState) bool {
	return h.LineageID != "" && !h.Held() && limited(h.Kind, h.Tags)
}

// says tells whether a step leaves one of those.
func says(kind reverie.Kind, h reverie.HeadState, s reverie.Step) bool {
	switch s.Action {
	case reverie.ActionCreate:
		return limited(kind, s.Tags)
	case reverie.ActionUpdate:
		return (s.Returns || h.LineageID != "") && limited(kind, s.Tags)
	}
	return s.Action == reverie.ActionKeep && stays(h)
}

// limited tells whether there may be so many memories alone: not of summaries, nor of what is
// done.
func limited(kind reverie.Kind, tags []string) bool {
	return kind == reverie.KindGroup || !slices.Contains(tags, reverie.TagSummary) && !slices.Contains(tags, reverie.TagDone)
}

// ends tells whether a step ends a memory.
func ends(s reverie.Step) bool {
	return s.Action == reverie.ActionDelete || s.Action == reverie.ActionArchive
}

// weaker compares two heads by what makes room first: the less useful, to a tenth of their
// weight, then the less supported, then the one silent for longer.
func weaker(a, b reverie.HeadState) int {
	return cmp.Or(cmp.Compare(math.Round(10*a.Weight), math.Round(10*b.Weight)), cmp.Compare(a.Strength, b.Strength),
		lastHeard(a).Compare(lastHeard(b)), cmp.Compare(a.LineageID, b.LineageID))
}

// lastHeard is when a memory was supported, or used in an answer, last.
func lastHeard(h reverie.HeadState) time.Time {
	if h.UsedAt != nil && h.UsedAt.After(h.LastSupportedAt) {
		return *h.UsedAt
	}
	return h.LastSupportedAt
}
