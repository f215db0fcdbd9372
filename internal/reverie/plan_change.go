package reverie

// Changes are the change log rows that the plan would write, for a dry run: nothing
// in them has an id that anybody could look up. Support is no change.
func (p Plan) Changes() []Change {
	var changes []Change
	for _, s := range p.Steps {
		if s.Action == ActionKeep {
			continue
		}
		c := Change{GroupID: p.GroupID, Action: s.Action, MemoryID: s.MemoryID, OldStatement: s.OldStatement,
			NewStatement: s.Statement, Summary: s.Reason, Version: s.Head.Version + 1, Evidence: s.Evidence}
		if s.Head.MemoryID != "" {
			old := s.Head.MemoryID
			c.OldID = &old
		}
		if s.Action == ActionDelete {
			c.MemoryID, c.Version = s.Head.MemoryID, s.Head.Version
		}
		changes = append(changes, c)
	}
	return changes
}

// Count adds what the plan does to memories, and that it is a chunk, to the counts of
// its run. The heads are those that it rests on.
func (p Plan) Count(st *Stats, heads []HeadState) {
	for _, step := range p.Steps {
		switch step.Action {
		case ActionCreate:
			st.Created++
		case ActionUpdate:
			st.Updated++
		case ActionDelete:
			st.Deleted++
		}
	}
	for _, step := range p.Held {
		if step.Action != ActionKeep {
			st.Held++
		}
	}
	st.Rewritten += p.Rewrites(heads)
	st.Kept = st.Base - st.Rewritten
	st.Refused += len(p.Refusals)
	st.Chunks++
}

// Rewrites counts the deletes and rewrites of versions that the plan's run did not
// write itself, by the heads that the plan rests on. What was to be judged again and is
// none of these does not count: it was not among what the group remembered.
func (p Plan) Rewrites(heads []HeadState) (n int) {
	own := map[string]bool{}
	for _, h := range heads {
		own[h.LineageID] = h.RunID != nil && *h.RunID == p.RunID
	}
	for _, s := range p.Steps {
		_, known := own[s.LineageID]
		if (s.Action == ActionDelete || s.Action == ActionUpdate) && !own[s.LineageID] && (known || s.Judged == "") {
			n++
		}
	}
	return n
}
