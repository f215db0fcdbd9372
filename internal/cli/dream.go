package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"

	"reverie/dream"
	"reverie/internal/reverie"
)

// DreamReply is a result in the shape of the API.
func DreamReply(r dream.Result) reverie.DreamReply {
	reply := reverie.DreamReply{Success: r.Err == nil, Job: reverie.JobDream, GroupID: r.GroupID, RunID: r.RunID, SessionID: r.SessionID, DryRun: r.DryRun,
		Status: r.Status, Reason: r.Reason, Narrative: r.Narrative, Changes: []reverie.ChangeReply{}, Refusals: r.Refusals, Warnings: slices.Concat(r.Held, r.Warnings),
		Stats: reverie.EvolveStats{Kept: r.Stats.Kept, Updated: r.Stats.Updated, Created: r.Stats.Created, Deleted: r.Stats.Deleted,
			Refused: r.Stats.Refused, Held: r.Stats.Held}}
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

// WatchDreaming shows a dream's progress on a terminal, and returns what ends the
// show.
func (con *Console) WatchDreaming(p *dream.Pipeline) (stop func()) {
	if !Terminal(con.Stderr) {
		return func() {}
	}
	bar := con.NewBar(-1, "dreaming", progressbar.OptionSetItsString("questions"), progressbar.OptionShowCount())
	_ = bar.RenderBlank() // a bar that cannot be drawn is no reason to stop, here and below
	p.Progress = func(pr dream.Progress) {
		bar.ChangeMax(pr.Of)
		_ = bar.Set(pr.Questions)
	}
	return func() { _ = bar.Finish() }
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
	head := s.Bold(Visible(r.GroupID))
	if r.SessionID != "" {
		head += "  up to " + Visible(r.SessionID)
	}
	head += fmt.Sprintf("  dream %s in %s", s.Status(r.Status), took.Round(10*time.Millisecond))
	if r.DryRun {
		head += "  " + s.Amber("dry run: nothing was written")
	} else {
		head += "  " + s.Dim("run "+r.RunID)
	}
	fmt.Fprintln(w, head)
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
	for _, k := range r.Supported {
		fmt.Fprintf(w, "  = %s\n", Visible(k.OldStatement))
		con.printEvidence(s, k.Evidence, 1)
	}
	con.printRefusals(s, r.Refusals)
	con.printHeld(s, r.Held, r.RunID)
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
