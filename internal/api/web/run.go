package web

import (
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
	Chunks  []chunkView
	Held    *heldRun // what waits; nil = nothing
	Decided []reverie.HeldReply
}

// chunkView is a chunk, with how much it read.
type chunkView struct {
	reverie.Chunk
	Messages, Memories int
}

func (s *site) runPage(v *visit) (any, error) {
	reply, err := s.Run(v.Context(), v.PathValue("run"))
	if err != nil {
		return nil, err
	}
	g, err := v.about(reply.Run.GroupID, "runs")
	if err != nil {
		return nil, err
	}
	v.title = v.runTitle(reply.Run)
	d := runPageView{runView: runView{reverie.RunEntry{Run: reply.Run, Spend: reply.Spend}, v.may(reverie.ScopeWrite)},
		Reply:  reply,
		Window: datesOf(reply.Run, g.Group), Held: v.heldOf(reply)}
	for _, c := range reply.Changes {
		d.Changes = append(d.Changes, newChange(g.ID, c, v.zone()))
	}
	for _, c := range reply.Chunks {
		d.Chunks = append(d.Chunks, chunkView{c, len(c.MessageIDs), len(c.MemoryIDs)})
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
	return v.t("run.title_of", v.lang.word("job", r.Job), r.StartedAt.In(v.zone()).Format("2006-01-02 15:04"))
}

// Proposal tells whether it is what an agent proposed: a run that read nothing and asked no
// model.
func (d runPageView) Proposal() bool { return d.Job == reverie.JobPropose }

// ProposedBy is who proposed it.
func (d runPageView) ProposedBy() string { return strings.TrimPrefix(d.Model, "proposed by ") }

// Refused are the lines of the model's answers that were not accepted.
func (d runPageView) Refused() []reverie.Refusal {
	var list []reverie.Refusal
	for _, c := range d.Chunks {
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
	first, last := cal.Containing(r.WindowSince), cal.Containing(r.WindowUntil.Add(-time.Nanosecond))
	switch {
	case !r.WindowSince.Equal(first.Since) || !r.WindowUntil.Equal(last.Until):
		return ""
	case first.Date == last.Date:
		return first.Date
	}
	return first.Date + " – " + last.Date
}
