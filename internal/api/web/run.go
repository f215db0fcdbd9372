package web

import (
	"errors"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// runPageView is a run and everything recorded about it.
type runPageView struct {
	runView
	Reply   reverie.RunReply
	Window  string // dates of the group's own calendar; "" if the window is not whole dates
	Changes []changeView
	Held    *heldRun // waiting plans; nil = none
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
	window := "" // in a calendar that cannot be read
	if cal, err := jobs.CalendarOf(v.Group.Group); err == nil {
		window = cal.Span(reply.Run.WindowSince, reply.Run.WindowUntil, " – ")
	}
	d := runPageView{runView: runView{reverie.RunEntry{Run: reply.Run, Spend: reply.Spend}, v.May(reverie.ScopeWrite)},
		Reply:  reply,
		Window: window, Held: v.heldOf(reply)}
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

// runTitle returns the title of a run on pages of its group.
func (v *visit) runTitle(r reverie.Run) string {
	return v.t("run.title_of", v.lang.word("job", r.Job), r.StartedAt.In(v.Zone()).Format(time.DateTime))
}

// Proposal reports whether an agent proposed it: such a run read nothing and called no model.
func (d runPageView) Proposal() bool { return d.Job == reverie.JobPropose }

// ProposedBy returns the proposer.
func (d runPageView) ProposedBy() string { return strings.TrimPrefix(d.Model, "proposed by ") }

// Refused returns the refused lines of the model's answers.
func (d runPageView) Refused() []reverie.Refusal {
	var list []reverie.Refusal
	for _, c := range d.Reply.Chunks {
		list = append(list, c.Refusals...)
	}
	return list
}

// runsPerPage is the number of runs on a page.
const runsPerPage = 40

// runsView is a page of runs.
type runsView struct {
	Query    reverie.RunQuery
	Jobs     []reverie.Job
	Statuses []reverie.RunStatus
	Runs     []runView
	First    string // address of the first page; "" = this is it
	Next     string // address of the older ones; "" = none
}

// All reports whether no job and no status is selected.
func (d runsView) All() bool { return d.Query.Job == "" && d.Query.Status == "" }

// runView is a run in a list, or on its own page.
type runView struct {
	reverie.RunEntry
	CanEvolve bool // the visitor may evolve its group again
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

// Retry reports whether "evolve now" would repeat the run.
func (r runView) Retry() bool {
	return r.CanEvolve && r.Job == reverie.JobEvolve &&
		(r.Status == reverie.RunFailed || r.Status == reverie.RunDeferred) && r.UndoneAt == nil
}

// Took returns its duration, 0 while it runs.
func (r runView) Took() time.Duration {
	if r.FinishedAt == nil {
		return 0
	}
	return r.FinishedAt.Sub(r.StartedAt)
}

// Messages returns the number of messages that it consumed.
func (r runView) Messages() int { return r.Stats.Cited + r.Stats.Considered + r.Stats.Filtered }

// Tokens returns the tokens that its calls read and wrote.
func (r runView) Tokens() int { return r.Spend.InputTokens + r.Spend.OutputTokens }

// Done returns its effects on memories, without zero counts.
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

// done is a count with the key of its text, done.<Key>.
type done struct {
	Key string
	N   int
}

// undoData is the preview of an undo.
type undoData struct {
	Run    reverie.Run
	Undone reverie.Undone
	Force  bool // also revert later changes by others
}

// undoes returns the effect of an undo's change: a memory ends, is active again, has another statement, or has its
// earlier strength.
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

// Again reports whether the run was undone before: its input can become pending again.
func (d undoData) Again() bool { return d.Run.UndoneAt != nil }

// Still returns the number of memories that will not be as before.
func (d undoData) Still() int { return len(d.Undone.Left) + d.Undone.Others }

// Counts returns the non-zero counts of the preview; the text of each is undo.<Key>.
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

// undoPage asks for confirmation to undo a run, and shows the preview.
func (s *site) undoPage(v *visit) (any, error) {
	d := undoData{Force: v.FormValue("force") != ""}
	q := reverie.UndoQuery{RunID: v.PathValue("run"), DryRun: true, Force: d.Force,
		Requeue: true} // to count that too
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
	if err != nil && d.Again() { // and none of its input can become pending again
		return d, nil
	}
	if err != nil { // the texts of its input are gone
		q.Requeue = false
		if reply, err = s.Undo(v.Context(), q); err != nil {
			return nil, err
		}
	}
	d.Undone = reply.Runs[0]
	return d, nil
}

// undo undoes a run, if the group's memories are still those of the preview.
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
	case u.UndoneAt.IsZero(): // it was undone before
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

// evolveNow processes a group's pending messages, and continues with the run's page.
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
