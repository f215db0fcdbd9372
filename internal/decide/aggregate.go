package decide

import "reverie/internal/reverie"

// aggregate makes one outcome of the verdicts on a fact, by a fixed priority: a
// duplicate says it already, else the best-scored update takes it in, else the
// best-scored conflict makes way, else it is new. It returns the action and the
// index of the candidate that it is about, -1 for none. Neither depends on the
// order of the candidates: equal scores go by memory id. A candidate without a
// relation counts for nothing.
func aggregate(candidates []reverie.Candidate) (reverie.DecisionAction, int) {
	for _, rule := range []struct {
		relation reverie.Relation
		action   reverie.DecisionAction
	}{
		{reverie.RelationDuplicate, reverie.DecisionNone},
		{reverie.RelationUpdate, reverie.DecisionUpdate},
		{reverie.RelationConflict, reverie.DecisionReplace},
	} {
		best := -1
		for i, c := range candidates {
			if c.Relation == rule.relation && (best < 0 || nearer(c, candidates[best]) < 0) {
				best = i
			}
		}
		if best >= 0 {
			return rule.action, best
		}
	}
	return reverie.DecisionAdd, -1
}
