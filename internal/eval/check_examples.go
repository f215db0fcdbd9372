package eval

// checkExamples tries the terms of facts on the statements that are given with them: what
// matches and what passes. A right wording of an expected fact is no forbidden one.
func (r *reader) checkExamples() {
	for i, e := range r.s.Expects {
		r.tryTerms("expect", i, e.pattern, e.Matches, e.Passes)
		for _, f := range r.s.Forbids {
			for _, says := range e.Matches {
				if (e.After == "" || f.When == WhenEver) && f.pattern.matches(says) {
					r.says("expect", i, "matches", "%q is forbidden as %s", says, f.ID)
				}
			}
		}
	}
	for i, f := range r.s.Forbids {
		r.tryTerms("forbid", i, f.pattern, f.Matches, f.Passes)
	}
}

func (r *reader) tryTerms(table string, i int, p pattern, matches, passes []string) {
	if len(p.all) == 0 {
		return // its terms are refused
	}
	for _, says := range matches {
		if !p.matches(says) {
			r.says(table, i, "matches", "%q does not match", says)
		}
	}
	for _, says := range passes {
		if p.matches(says) {
			r.says(table, i, "passes", "%q matches", says)
		}
	}
}
