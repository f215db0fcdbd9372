package web

import (
	"errors"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// runPageView is a run and all that the ledger knows about it.
type runPageView struct {
	runView
	Reply   reverie.RunReply
	Window  string // dates of the group's own calendar; "" where it is no whole dates
	Changes []changeView
	Held    *heldRun // what waits; nil = nothing
	Decided []reverie.HeldReply
}

func (s *site) runPage(v *visit) (any, error) {
	reply, err := s.Run(v.Context(), v.PathValue("run"))
	if err != nil {
		return nil, err
	}
	if err := v.about(reply.Run.GroupID, "runs"); err != nil {
		return nil, err
	}
	v.title = v.runTitle(reply.Run)
	d := runPageView{runView: runView{reverie.RunEntry{Run: reply.Run, Spend: reply.Spend}, v.May(reverie.ScopeWrite)},
		Reply:  reply,
		Window: datesOf(reply.Run, v.Group.Group), Held: v.heldOf(reply)}
	for _, c := range reply.Changes {
		d.Changes = append(d.Changes, newChange(v.Group.ID, c, v.Zone()))
	}
	for _, h := range reply.Held {
		if h.Status != reverie.HeldWaiting {
			d.Decided = append(d.Decided, h)
		}
	}
	return d, nil
}

// runTitle is what a run is called on pages of its group.
func (v *visit) runTitle(r reverie.Run) string {
	return v.t("run.title_of", v.lang.word("job", r.Job), r.StartedAt.In(v.Zone()).Format(time.DateTime))
}

// Proposal tells whether it is what an agent proposed: a run that read nothing and asked no
// model.
func (d runPageView) Proposal() bool { return d.Job == reverie.JobPropose }

// ProposedBy is who proposed it.
func (d runPageView) ProposedBy() string { return strings.TrimPrefix(d.Model, "proposed by ") }

// Refused are the lines of the model's answers that were not accepted.
func (d runPageView) Refused() []reverie.Refusal {
	var list []reverie.Refusal
	for _, c := range d.Reply.Chunks {
		list = append(list, c.Refusals...)
	}
	return list
}

// datesOf are the dates of the group's calendar, as it is now, that a run's window
// covers, "" where it is no whole dates.
func datesOf(r reverie.Run, g reverie.Group) string {
	cal, err := jobs.CalendarOf(g)
	if err != nil {
		return ""
	}
	first, last, whole := cal.Dates(r.WindowSince, r.WindowUntil)
	switch {
	case !whole:
		return ""
	case first.Date == last.Date:
		return first.Date
	}
	return first.Date + " – " + last.Date
}

// runsPerPage is how many runs one page lists.
const runsPerPage = 40

// runsView is a page of runs.
type runsView struct {
	Query    reverie.RunQuery
	Jobs     []reverie.Job
	Statuses []reverie.RunStatus
	Runs     []runView
	First    string // address of the newest ones; "" = this is that
	Next     string // address of the older ones; "" = there are none
}

// All tells whether no run is left out for its job or its status.
func (d runsView) All() bool { return d.Query.Job == "" && d.Query.Status == "" }

// runView is a run in a list, or on its own page.
type runView struct {
	reverie.RunEntry
	CanEvolve bool // the visitor may have its group evolved once more
}

func (s *site) runsPage(v *visit) (any, error) {
	q := reverie.RunQuery{GroupID: v.FormValue("group"), Job: reverie.Job(v.FormValue("job")),
		Status: reverie.RunStatus(v.FormValue("status")),
		Before: v.FormValue("before"), Limit: runsPerPage}
	d := runsView{Query: q, Jobs: reverie.Jobs, Statuses: reverie.RunStatuses}
	if err := v.aboutFiltered(q.GroupID, "runs"); err != nil {
		return nil, err
	}
	reply, err := s.Runs(v.Context(), q)
	if err != nil {
		return nil, err
	}
	of := func(before string) string {
		return query(runsURL, "group", q.GroupID, "job", string(q.Job), "status", string(q.Status), "before", before)
	}
	for _, r := range reply.Runs {
		d.Runs = append(d.Runs, runView{r, v.May(reverie.ScopeWrite)})
	}
	if n := len(reply.Runs); n > 0 && reply.More {
		d.Next = of(reply.Runs[n-1].ID)
	}
	if q.Before != "" {
		d.First = of("")
	}
	return d, nil
}

// Retry tells whether the run is one that "evolve now" would do again.
func (r runView) Retry() bool {
	return r.CanEvolve && r.Job == reverie.JobEvolve &&
		(r.Status == reverie.RunFailed || r.Status == reverie.RunDeferred) && r.UndoneAt == nil
}

// Took is how long it has run, 0 while it does.
func (r runView) Took() time.Duration {
	if r.FinishedAt == nil {
		return 0
	}
	return r.FinishedAt.Sub(r.StartedAt)
}

// Messages is how many it has consumed, Tokens what its calls read and wrote.
func (r runView) Messages() int { return r.Stats.Cited + r.Stats.Considered + r.Stats.Filtered }

// Tokens is what its calls read and wrote.
func (r runView) Tokens() int { return r.Spend.InputTokens + r.Spend.OutputTokens }

// Done is what it did to memories, what is nothing left out.
func (r runView) Done() []done {
	st := r.Stats
	var list []done
	for _, d := range []done{{"created", st.Created}, {"updated", st.Updated}, {"deleted", st.Deleted}, {"kept", st.Kept},
		{"postponed", st.Postponed},
		{"refused", st.Refused}, {"held", st.Held}, {"archived", st.Archived}, {"pruned",
			st.Pruned}} {
		if d.N > 0 {
			list = append(list, d)
		}
	}
	return list
}

// done is how often something was done: the text done.<Key> says so.
type done struct {
	Key string
	N   int
}

// undoData is what taking a run back would come to.
type undoData struct {
	Run    reverie.Run
	Undone reverie.Undone
	Force  bool // what others have changed since goes back, too
}

// undoes is what a change of an undo comes to: a memory ends, is back, says something else,
// or is as strong as before.
func undoes(c reverie.Change) reverie.Action {
	switch {
	case c.NewStatement == "":
		return reverie.ActionDelete
	case c.OldID != nil && *c.OldID == c.MemoryID:
		return reverie.ActionStrength
	case c.OldStatement == c.NewStatement:
		return reverie.ActionRestore
	}
	return reverie.ActionUpdate
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
	if err := v.about(d.Run.GroupID, "runs"); err != nil {
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
