package cli

import (
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/internal/text"
)

// ExtractReply is a result in the shape of the API.
func ExtractReply(r session.Result) reverie.ExtractReply {
	reply := reverie.ExtractReply{Success: r.Err == nil, Job: reverie.JobExtract, GroupID: r.GroupID,
		SessionID: r.SessionID, RunID: r.RunID, DryRun: r.DryRun, Status: r.Status,
		Changes: []reverie.ChangeReply{}, Summary: r.Summary, Folded: r.Folded, Refusals: r.Refusals,
		Warnings: slices.Concat(r.Held, r.Warnings), Stats: r.Stats.Evolve()}
	if r.Err != nil {
		reply.Error = r.Err.Error()
	}
	if r.NoNew {
		reply.Status, reply.Message = "", "nothing waits"
		return reply
	}
	if !r.At.IsZero() {
		reply.ExtractionTime = &r.At
	}
	reply.Messages = &reverie.MessageStats{Cited: r.Stats.Cited, Considered: r.Stats.Considered,
		Filtered: r.Stats.Filtered, Deferred: r.Stats.Deferred}
	for _, c := range r.Changes {
		reply.Changes = append(reply.Changes, c.Reply())
	}
	return reply
}

// PrintExtraction shows a run of extraction to a person: the facts and the summary,
// and on what grounds.
func (con *Console) PrintExtraction(r session.Result, took time.Duration) {
	s, w := con.Style(), con.Stdout
	if r.NoNew {
		fmt.Fprintf(w, "%s  %s: nothing waits to be extracted\n", Visible(r.GroupID), Visible(r.SessionID))
		return
	}
	con.runHead(s.Bold(Visible(r.GroupID))+"  "+Visible(r.SessionID)+"  extract", r.Result, took)
	fmt.Fprintf(w, "  %s\n", Counts(reverie.JobExtract, r.Stats))
	for _, c := range r.Changes {
		if !slices.Contains(r.Recaps, c.MemoryID) { // the newest is shown below
			con.PrintChange(s, c)
		}
	}
	con.runGrounds(r.Result)
	if r.Summary != "" {
		fmt.Fprintf(w, "  %s %s\n", s.Bold("summary"), Visible(r.Summary))
	}
	if f := r.Folded; f != nil {
		fmt.Fprintf(w, "  %s  %s\n", s.Bold("folded"), s.Dim(covers(*f)))
		fmt.Fprintf(w, "    %s\n", Visible(text.Excerpt(f.Summary, 300)))
	}
	con.runRest(r.Result)
	con.PrintWarnings(r.Warnings)
}

// covers says which part of a session a rolling summary is about.
func covers(f reverie.SessionSummary) string {
	return fmt.Sprintf("%s, %s, from %s to %s UTC", Plural(f.Turns, "turn"), Plural(f.Messages, "message"),
		Stamp(f.CoversSince), Stamp(f.CoversUntil))
}
