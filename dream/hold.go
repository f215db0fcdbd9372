package dream

import (
	"fmt"
	"slices"

	"reverie"
)

// holdRewrites holds the whole plan when it would rewrite or delete more of what the
// group remembers than may pass without a person: more than max(HoldMin, HoldRatio) of
// it. To close what is done is no rewrite, and support of what a held line ends goes.
func (r *run) holdRewrites(s *sheet, plan *reverie.Plan) {
	judged := *plan
	judged.Steps = slices.DeleteFunc(slices.Clone(plan.Steps), isClosing)
	n, allowed := judged.Rewrites(s.state.Items), max(r.Limits.HoldMin, int(r.Limits.HoldRatio*float64(s.state.Active)))
	if n <= allowed {
		return
	}
	ends := map[string]bool{}
	for _, step := range plan.Held {
		ends[step.LineageID] = true
	}
	steps := slices.DeleteFunc(plan.Steps, func(step reverie.Step) bool { return ends[step.LineageID] })
	plan.Held, plan.HeldAll, plan.Steps = append(steps, plan.Held...), true, nil
	reason := fmt.Sprintf("the dream would delete or rewrite %d of the %d memories of the group; at most %d pass without a person",
		n, s.state.Active, allowed)
	if plan.HeldReason != "" {
		reason += "; " + plan.HeldReason
	}
	plan.HeldReason = reason
}
