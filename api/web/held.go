package web

import (
	"slices"

	"reverie"
)

// heldShown is how many runs the page of what waits has.
const heldShown = 20

// heldData is what waits for a person.
type heldData struct {
	Runs []heldRun
	Next string // address of the older ones; "" = none
}

// heldRun is what a run holds, as the template "held" shows it.
type heldRun struct {
	view
	reverie.RunReply
}

// Plans are those that wait.
func (r heldRun) Plans() []reverie.HeldReply {
	return slices.DeleteFunc(slices.Clone(r.Held), func(h reverie.HeldReply) bool { return h.Status != reverie.HeldWaiting })
}

// Again tells whether rejecting the run may have what it took in read once more: the
// messages of a chunk that is held whole, or all that an extraction or a dream took.
func (r heldRun) Again() bool {
	return r.Run.Job == reverie.JobDream || r.Run.Job == reverie.JobExtract ||
		slices.ContainsFunc(r.Plans(), func(h reverie.HeldReply) bool { return h.Whole })
}

// heldOf is what waits of a run, nil where nothing does.
func (v *visit) heldOf(r reverie.RunReply) *heldRun {
	if h := (heldRun{view{visit: v}, r}); len(h.Plans()) > 0 {
		return &h
	}
	return nil
}

func (s *site) heldPage(v *visit) (any, error) {
	runs, err := s.Runs(v.Context(), reverie.RunQuery{Held: true, Before: v.FormValue("before"), Limit: heldShown})
	if err != nil {
		return nil, err
	}
	var d heldData
	for _, entry := range runs.Runs {
		r, err := s.Run(v.Context(), entry.ID)
		if err != nil {
			return nil, err
		}
		if held := v.heldOf(r); held != nil { // it may have been decided on just now
			d.Runs = append(d.Runs, *held)
		}
	}
	if runs.More {
		d.Next = query(heldURL, "before", runs.Runs[len(runs.Runs)-1].ID)
	}
	return d, nil
}

// approve applies what a run holds, and goes on with the run, which tells of the lines
// that were refused.
func (s *site) approve(v *visit) (string, error) {
	id := v.PathValue("run")
	reply, err := s.Approve(v.Context(), id)
	if err != nil {
		return "", err
	}
	v.notify("notice.approved", len(reply.Changes))
	if n := len(reply.Refusals); n > 0 {
		v.notify("notice.approved_stale", n)
	}
	return runURL(id), nil
}

func (s *site) reject(v *visit) (string, error) {
	id := v.PathValue("run")
	reply, err := s.Reject(v.Context(), id, v.PostFormValue("again") != "")
	if err != nil {
		return "", err
	}
	v.notify("notice.rejected")
	if reply.Requeued > 0 {
		v.notify("notice.requeued", reply.Requeued)
	}
	return runURL(id), nil
}
