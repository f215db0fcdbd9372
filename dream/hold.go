package dream

import (
	"fmt"
	"slices"
	"strings"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

// holdForReview holds the whole plan when it would rewrite or delete more of what the group
// remembers than may pass without a person, more than max(HoldMin, HoldRatio) of it, or
// close more than half of the open todos, and more than a few. To close what is done is
// no rewrite, and support of what a held line ends goes.
func (r *run) holdForReview(s *chunkInput, plan *reverie.Plan) {
	judged := *plan
	judged.Steps = slices.DeleteFunc(slices.Clone(plan.Steps), isClosing)
	var reasons []string
	n, allowed := judged.Rewrites(s.state.Items), pipeline.MayRewrite(r.Limits.HoldMin, r.Limits.HoldRatio,
		s.state.Active)
	if n > allowed {
		reasons = append(reasons, fmt.Sprintf("the dream would delete or rewrite %d of the %d memories of the "+
			"group; at most %d pass without a person",
			n, s.state.Active, allowed))
	}
	todos, closings := s.todos(), len(plan.Steps)-len(judged.Steps)
	if allowed = max(holdClosings, todos/2); closings > allowed {
		reasons = append(reasons, fmt.Sprintf("the dream would close %d of the %d open todos of the group; at "+
			"most %d pass without a person",
			closings, todos, allowed))
	}
	if reasons == nil {
		return
	}
	pipeline.HoldAll(plan)
	if plan.HeldReason != "" {
		reasons = append(reasons, plan.HeldReason)
	}
	plan.HeldReason = strings.Join(reasons, "; ")
}

// holdClosings is how many todos a dream may close however few are open.
const holdClosings = 3

// todos counts the todos that are open.
func (s *chunkInput) todos() (n int) {
	for _, h := range s.state.Items {
		if reverie.DreamTypeOf(h.Memory) == reverie.DreamTodo && !isDone(h) {
			n++
		}
	}
	return n
}
