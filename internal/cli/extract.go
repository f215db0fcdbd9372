package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"

	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/internal/text"
)

// ExtractReply is a result in the shape of the API.
func ExtractReply(r session.Result) reverie.ExtractReply {
	reply := reverie.ExtractReply{Success: r.Err == nil, Job: reverie.JobExtract, GroupID: r.GroupID, SessionID: r.SessionID, RunID: r.RunID, DryRun: r.DryRun,
		Status: r.Status, Changes: []reverie.ChangeReply{}, Summary: r.Summary, Folded: r.Folded, Refusals: r.Refusals, Warnings: slices.Concat(r.Held, r.Warnings),
		Stats: reverie.EvolveStats{Kept: r.Stats.Kept, Updated: r.Stats.Updated, Created: r.Stats.Created, Deleted: r.Stats.Deleted,
			Refused: r.Stats.Refused, Held: r.Stats.Held}}
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
	reply.Messages = &reverie.MessageStats{Cited: r.Stats.Cited, Considered: r.Stats.Considered, Filtered: r.Stats.Filtered, Deferred: r.Stats.Deferred}
	for _, c := range r.Changes {
		reply.Changes = append(reply.Changes, c.Reply())
	}
	return reply
}

// WatchExtracting shows a run's progress on a terminal, and returns what ends the
// show.
func (con *Console) WatchExtracting(p *session.Pipeline) (stop func()) {
	if !Terminal(con.Stderr) {
		return func() {}
	}
	bar := con.NewBar(-1, "extracting", progressbar.OptionSetItsString("messages"), progressbar.OptionShowCount())
	_ = bar.RenderBlank() // a bar that cannot be drawn is no reason to stop, here and below
	p.Progress = func(pr session.Progress) { _ = bar.Set(pr.Done) }
	return func() { _ = bar.Finish() }
}

// PrintExtraction shows a run of extraction to a person: the facts and the summary,
// and on what grounds.
func (con *Console) PrintExtraction(r session.Result, took time.Duration) {
	s, w := con.Style(), con.Stdout
	if r.NoNew {
		fmt.Fprintf(w, "%s  %s: nothing waits to be extracted\n", Visible(r.GroupID), Visible(r.SessionID))
		return
	}
	head := fmt.Sprintf("%s  %s  extract %s in %s", s.Bold(Visible(r.GroupID)), Visible(r.SessionID), s.Status(r.Status), took.Round(10*time.Millisecond))
	if r.DryRun {
		head += "  " + s.Amber("dry run: nothing was written")
	} else {
		head += "  " + s.Dim("run "+r.RunID)
	}
	fmt.Fprintln(w, head)
	fmt.Fprintf(w, "  %s\n", Counts(reverie.JobExtract, r.Stats))
	for _, c := range r.Changes {
		if !slices.Contains(r.Recaps, c.MemoryID) { // the newest is shown below
			con.PrintChange(s, c)
		}
	}
	for _, k := range r.Supported {
		fmt.Fprintf(w, "  = %s\n", Visible(k.OldStatement))
		con.printEvidence(s, k.Evidence, 1)
	}
	if r.Summary != "" {
		fmt.Fprintf(w, "  %s %s\n", s.Bold("summary"), Visible(r.Summary))
	}
	if f := r.Folded; f != nil {
		fmt.Fprintf(w, "  %s  %s\n", s.Bold("folded"), s.Dim(covers(*f)))
		fmt.Fprintf(w, "    %s\n", Visible(text.Excerpt(f.Summary, 300)))
	}
	con.printRefusals(s, r.Refusals)
	con.printHeld(s, r.Held, r.RunID)
	con.PrintWarnings(r.Warnings)
}

// covers says which part of a session a rolling summary is about.
func covers(f reverie.SessionSummary) string {
	return fmt.Sprintf("%s, %s, from %s to %s UTC", Plural(f.Turns, "turn"), Plural(f.Messages, "message"), Stamp(f.CoversSince), Stamp(f.CoversUntil))
}
