package web

// evolveNow takes in a group's pending messages, and leads to the run.
func (s *site) evolveNow(v *visit) (string, error) {
	groupID := v.PathValue("group")
	done, err := s.Evolve(v.Context(), groupID, 0)
	switch {
	case err != nil:
		return "", err
	case !done.Done && done.RunID == "":
		v.notify("notice.evolve_begun")
		return groupRunsURL(groupID), nil
	case !done.Done:
		v.notify("notice.evolve_begun")
		return runURL(done.RunID), nil
	case done.Reply.RunID == "":
		v.notify("notice.nothing_pending")
		return groupURL(groupID), nil
	}
	st := done.Reply.Stats
	v.notify("notice.evolved", st.Created, st.Updated, st.Deleted, st.Kept)
	return runURL(done.Reply.RunID), nil
}
