package cli

import (
	"fmt"
	"slices"
	"time"

	"reverie/dream"
	"reverie/internal/reverie"
)

// DreamReply is a result in the shape of the API.
func DreamReply(r dream.Result) reverie.DreamReply {
	reply := reverie.DreamReply{Success: r.Err == nil, Job: reverie.JobDream, GroupID: r.GroupID,
		RunID: r.RunID, SessionID: r.SessionID, DryRun: r.DryRun, Status: r.Status, Reason: r.Reason,
		Narrative: r.Narrative, Changes: []reverie.ChangeReply{}, Refusals: r.Refusals,
		Warnings: slices.Concat(r.Held, r.Warnings), Stats: r.Stats.Evolve()}
	if r.Err != nil {
		reply.Error = r.Err.Error()
	}
	if r.None != "" {
		reply.Status, reply.Message = "", r.None
		return reply
	}
	if !r.At.IsZero() {
		reply.DreamTime = &r.At
	}
	reply.Sources = r.Stats.DreamCounts()
	for _, c := range r.Changes {
		reply.Changes = append(reply.Changes, c.Reply())
	}
	return reply
}

// PrintDream shows a dream to a person: why it was, the narrative, and the items, on
// what grounds.
func (con *Console) PrintDream(r dream.Result, took time.Duration) {
	s, w := con.Style(), con.Stdout
	if r.None != "" {
		fmt.Fprintf(w, "%s: no dream: %s\n", Visible(r.GroupID), Visible(r.None))
		con.PrintWarnings(r.Warnings)
		return
	}
	of := s.Bold(Visible(r.GroupID))
	if r.SessionID != "" {
		of += "  up to " + Visible(r.SessionID)
	}
	con.runHead(of+"  dream", r.Result, took)
	if r.Reason != "" {
		fmt.Fprintf(w, "  %s\n", s.Dim("because "+Visible(r.Reason)))
	}
	fmt.Fprintf(w, "  %s\n", Counts(reverie.JobDream, r.Stats))
	if r.Narrative != "" {
		fmt.Fprintf(w, "  %s %s\n", s.Bold("narrative"), Visible(r.Narrative))
	}
	for _, c := range r.Changes {
		if slices.Contains(r.Closed, c.MemoryID) {
			con.printClosed(s, c)
			continue
		}
		con.PrintChange(s, c)
	}
	con.runGrounds(r.Result)
	con.runRest(r.Result)
	con.PrintWarnings(r.Warnings)
}

// printClosed shows an open thread that has come to its end.
func (con *Console) printClosed(s Style, c reverie.Change) {
	fmt.Fprintf(con.Stdout, "  %s %s\n", s.Green("x"), Visible(c.NewStatement))
	if c.OldStatement != c.NewStatement {
		fmt.Fprintf(con.Stdout, "      %s\n", s.Dim("was open: "+Visible(c.OldStatement)))
	}
	con.printEvidence(s, c.Evidence, 3)
}
