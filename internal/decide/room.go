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

// noRoom is the reason why a memory is not added.
const noRoom = "there are as many active memories as there may be, and none can be archived for another; merge some first"

// MakeRoom archives heads so that, with what the plan adds, at most most memories of its kind are active. It archives
// the weakest heads that the plan does not touch. It spares what a person wrote, what has at least the weight
// [reverie.CoreWeight], and what must be judged again. Where it cannot archive enough, it removes the plan's last
// additions and returns them.
func MakeRoom(plan *reverie.Plan, heads []reverie.HeadState, most int) (dropped []reverie.Step) {
	byLineage, touched := map[string]reverie.HeadState{}, map[string]bool{}
	active, added := 0, 0
	for _, h := range heads {
		if h.Kind == plan.Kind && h.Status != reverie.StatusArchived {
			byLineage[h.LineageID] = h
		}
		if h.Kind == plan.Kind && countsTowardLimit(h) {
			active++
		}
	}
	for _, s := range plan.Held {
		touched[s.LineageID] = true
	}
	for _, s := range plan.Steps {
		touched[s.LineageID] = true
		before, after := countsTowardLimit(byLineage[s.LineageID]), countsAfter(plan.Kind, byLineage[s.LineageID], s)
		if after && !before {
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
		return touched[h.LineageID] || !countsTowardLimit(h) || h.Weight >= reverie.CoreWeight || h.ByPerson() ||
			h.JudgeAgain != ""
	})
	slices.SortFunc(weakest, weaker)
	for _, h := range weakest[:min(need, len(weakest))] {
		why := fmt.Sprintf("room for another: %d may be active, and this is the weakest (weight %.2f, strength %.2f, silent since %s)",
			most, h.Weight, h.Strength, text.LocalDate(lastActive(h), time.UTC))
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

// Drop notes in a plan's decisions that steps were removed from the plan, and why.
func Drop(plan *reverie.Plan, dropped []reverie.Step, why string) {
	for i := range plan.Decisions {
		d := &plan.Decisions[i]
		if d.MemoryID != "" && slices.ContainsFunc(dropped, func(s reverie.Step) bool { return s.MemoryID == d.MemoryID }) {
			d.Action, d.MemoryID, d.Reason = reverie.DecisionSkip, "", safety.CleanReason(joinReasons(why, d.Reason))
		}
	}
}

// NoRoom makes the refusal of a step that [MakeRoom] removed.
func NoRoom(s reverie.Step) reverie.Refusal {
	return reverie.Refusal{Action: string(s.Action), Handle: s.Head.MemoryID, Rule: RuleQuota, Detail: noRoom}
}

// countsTowardLimit reports whether a head counts toward the limit.
func countsTowardLimit(h reverie.HeadState) bool {
	return h.LineageID != "" && !h.Held() && isLimited(h.Kind, h.Tags)
}

// countsAfter reports whether the memory counts toward the limit after a step.
func countsAfter(kind reverie.Kind, h reverie.HeadState, s reverie.Step) bool {
	switch s.Action {
	case reverie.ActionCreate:
		return isLimited(kind, s.Tags)
	case reverie.ActionUpdate:
		return (s.Returns || h.LineageID != "") && isLimited(kind, s.Tags)
	}
	return s.Action == reverie.ActionKeep && countsTowardLimit(h)
}

// isLimited reports whether the limit applies to such memories. It does not apply to summaries, nor to closed todos.
func isLimited(kind reverie.Kind, tags []string) bool {
	return kind == reverie.KindGroup || !slices.Contains(tags, reverie.TagSummary) && !slices.Contains(tags, reverie.TagDone)
}

// ends reports whether a step ends a memory.
func ends(s reverie.Step) bool {
	return s.Action == reverie.ActionDelete || s.Action == reverie.ActionArchive
}

// weaker orders heads for archiving: lower weight (rounded to a tenth) first, then lower strength, then the longer
// silence.
func weaker(a, b reverie.HeadState) int {
	return cmp.Or(cmp.Compare(math.Round(10*a.Weight), math.Round(10*b.Weight)), cmp.Compare(a.Strength, b.Strength),
		lastActive(a).Compare(lastActive(b)), cmp.Compare(a.LineageID, b.LineageID))
}

// lastActive returns when a memory was last supported, or used in an answer.
func lastActive(h reverie.HeadState) time.Time {
	if h.UsedAt != nil && h.UsedAt.After(h.LastSupportedAt) {
		return *h.UsedAt
	}
	return h.LastSupportedAt
}
