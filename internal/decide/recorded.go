package decide

import (
	"context"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Recorded decides as a run has decided before: by the verdicts that its decisions keep. A
// fact that they are not about is known only by its exact text.
type Recorded struct{ Decisions []reverie.Decision }

// Decide decides on the facts of a request. It makes no calls and cannot fail.
func (r Recorded) Decide(_ context.Context, req Request) (Result, error) {
	d := newPlanner(req)
	var open []*fact
	for i := range d.facts {
		f := &d.facts[i]
		if e := d.says(f.ContentHash); e != nil {
			e.restated = true
			d.enact(f, outcome{}.or(e))
			continue
		}
		open = append(open, f)
	}
	for _, f := range open {
		o := outcome{}.or(d.says(f.ContentHash))
		if o.target == nil {
			o = r.outcome(d, f)
		}
		d.enact(f, o)
	}
	return d.result(), nil
}

// outcome is what the recorded verdicts on a fact come to. A target that is not there any
// more counts as none.
func (r Recorded) outcome(d *planner, f *fact) outcome {
	for _, known := range r.Decisions {
		if known.ChunkNo != d.req.ChunkNo || known.ContentHash != f.ContentHash {
			continue
		}
		action, at := aggregate(known.Candidates)
		if known.Basis == reverie.BasisFallback && action != reverie.DecisionNone {
			return outcome{action: known.Action, reason: known.Reason}
		}
		if at < 0 {
			break
		}
		c := known.Candidates[at]
		if target := d.says(text.ContentHash(c.Statement)); target != nil {
			return outcome{action: action, target: target, merged: c.Merged, reason: c.Reason}
		}
	}
	return outcome{action: reverie.DecisionAdd}
}
