package web

import (
	"errors"

	"reverie/internal/reverie"
)

// undoData is what taking a run back would come to.
type undoData struct {
	Run     reverie.Run
	Undone  reverie.Undone
	Force   bool // what others have changed since goes back, too
	Changes []undoneChange
}

// undoneChange is what becomes of one memory.
type undoneChange struct {
	reverie.Change
	Sort reverie.Action // what it comes to
}

// newUndone shows a change of an undo as what it comes to: a memory ends, is back, says
// something else, or is as strong as before.
func newUndone(c reverie.Change) undoneChange {
	switch {
	case c.NewStatement == "":
		return undoneChange{c, reverie.ActionDelete}
	case c.OldID != nil && *c.OldID == c.MemoryID:
		return undoneChange{c, reverie.ActionStrength}
	case c.OldStatement == c.NewStatement:
		return undoneChange{c, reverie.ActionRestore}
	}
	return undoneChange{c, reverie.ActionUpdate}
}

// Again tells whether the run was taken back before: what it has read can wait again.
func (d undoData) Again() bool { return d.Run.UndoneAt != nil }

// Still is how many memories will not be what they were.
func (d undoData) Still() int { return len(d.Undone.Left) + d.Undone.Others }

// Counts is what it comes to, what is nothing left out: the text undo.<Key> says each.
func (d undoData) Counts() []done {
	u := d.Undone
	var list []done
	for _, c := range []done{{"restored", u.Restored}, {"deprecated", u.Deprecated}, {"weakened", u.Weakened},
		{"entities", u.Entities}, {"rejected", u.Rejected}} {
		if c.N > 0 {
			list = append(list, c)
		}
	}
	return list
}

// undoPage asks whether a run is to be taken back, and shows what that comes to.
func (s *site) undoPage(v *visit) (any, error) {
	d := undoData{Force: v.FormValue("force") != ""}
	q := reverie.UndoQuery{RunID: v.PathValue("run"), DryRun: true, Force: d.Force,
		Requeue: true} // to say how much that is
	reply, err := s.Undo(v.Context(), q)
	if err != nil && !errors.Is(err, reverie.ErrConflict) {
		return nil, err
	}
	run, readErr := s.Run(v.Context(), q.RunID)
	if readErr != nil {
		return nil, readErr
	}
	d.Run = run.Run
	if _, err := v.about(d.Run.GroupID, "runs"); err != nil {
		return nil, err
	}
	if v.title = v.t("undo.title_of", v.runTitle(d.Run)); d.Again() {
		v.title = v.t("undo.again_of", v.runTitle(d.Run))
	}
	if err != nil && d.Again() { // and nothing of it can wait again
		return d, nil
	}
	if err != nil { // the texts of what it has read are gone
		q.Requeue = false
		if reply, err = s.Undo(v.Context(), q); err != nil {
			return nil, err
		}
	}
	d.Undone = reply.Runs[0]
	for _, c := range d.Undone.Changes {
		d.Changes = append(d.Changes, newUndone(c))
	}
	return d, nil
}

// undo takes a run back, as long as the group remembers what it did when that was looked
// at.
func (s *site) undo(v *visit) (string, error) {
	id := v.PathValue("run")
	reply, err := s.Undo(v.Context(), reverie.UndoQuery{RunID: id, Reason: v.PostFormValue("reason"),
		Before: v.PostFormValue("before"),
		Force:  v.PostFormValue("force") != "", Requeue: v.PostFormValue("requeue") != ""})
	if err != nil {
		return "", err
	}
	u := reply.Runs[0]
	switch {
	case u.Nothing:
		v.notify("notice.undone_nothing")
	case u.UndoneAt.IsZero(): // it was before
	case u.Exact:
		v.notify("notice.undone_exact")
	case len(u.Left) == 0:
		v.notify("notice.undone_others", u.Others)
	default:
		v.notify("notice.undone", len(u.Left)+u.Others)
	}
	if u.Requeued > 0 {
		v.notify("notice.requeued", u.Requeued)
	}
	return runURL(id), nil
}
