package web

import (
	"time"

	"reverie/internal/reverie"
)

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
	if found, err := v.filtered(q.GroupID, "runs"); !found {
		return d, err
	}
	if unknown(v, "runs.no_job", q.Job, d.Jobs) || unknown(v, "runs.no_status", q.Status, d.Statuses) {
		return d, nil
	}
	reply, err := s.Runs(v.Context(), q)
	if err != nil {
		return nil, err
	}
	of := func(before string) string {
		return query(runsURL, "group", q.GroupID, "job", string(q.Job), "status", string(q.Status), "before", before)
	}
	for _, r := range reply.Runs {
		d.Runs = append(d.Runs, runView{r, v.may(reverie.ScopeWrite)})
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
		{"refused", st.Refused}, {"held", st.Held}, {"decayed", st.Decayed}, {"archived", st.Archived}, {"pruned",
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
