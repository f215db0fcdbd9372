package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"

	"reverie/internal/reverie"
	"reverie/internal/session"
)

// extractReply is a result in the shape of the API.
func extractReply(r session.Result) reverie.ExtractReply {
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

// watchExtracting shows a run's progress on a terminal, and returns what ends the
// show.
func (con *console) watchExtracting(p *session.Pipeline) (stop func()) {
	if !terminal(con.stderr) {
		return func() {}
	}
	bar := con.newBar(-1, "extracting", progressbar.OptionSetItsString("messages"), progressbar.OptionShowCount())
	_ = bar.RenderBlank() // a bar that cannot be drawn is no reason to stop, here and below
	p.Progress = func(pr session.Progress) { _ = bar.Set(pr.Done) }
	return func() { _ = bar.Finish() }
}

// printExtraction shows a run of extraction to a person: the facts and the summary,
// and on what grounds.
func (con *console) printExtraction(r session.Result, took time.Duration) {
	s, w := con.style(), con.stdout
	if r.NoNew {
		fmt.Fprintf(w, "%s  %s: nothing waits to be extracted\n", visible(r.GroupID), visible(r.SessionID))
		return
	}
	head := fmt.Sprintf("%s  %s  extract %s in %s", s.bold(visible(r.GroupID)), visible(r.SessionID), s.status(r.Status), took.Round(10*time.Millisecond))
	if r.DryRun {
		head += "  " + s.amber("dry run: nothing was written")
	} else {
		head += "  " + s.dim("run "+r.RunID)
	}
	fmt.Fprintln(w, head)
	fmt.Fprintf(w, "  %s\n", counts(reverie.JobExtract, r.Stats))
	for _, c := range r.Changes {
		if !slices.Contains(r.Recaps, c.MemoryID) { // the newest is shown below
			con.printChange(s, c)
		}
	}
	for _, k := range r.Supported {
		fmt.Fprintf(w, "  = %s\n", visible(k.OldStatement))
		con.printEvidence(s, k.Evidence, 1)
	}
	if r.Summary != "" {
		fmt.Fprintf(w, "  %s %s\n", s.bold("summary"), visible(r.Summary))
	}
	if f := r.Folded; f != nil {
		fmt.Fprintf(w, "  %s  %s\n", s.bold("folded"), s.dim(covers(*f)))
		fmt.Fprintf(w, "    %s\n", visible(reverie.Excerpt(f.Summary, 300)))
	}
	con.printRefusals(s, r.Refusals)
	con.printHeld(s, r.Held, r.RunID)
	con.printWarnings(r.Warnings)
}

// covers says which part of a session a rolling summary is about.
func covers(f reverie.SessionSummary) string {
	return fmt.Sprintf("%s, %s, from %s to %s UTC", plural(f.Turns, "turn"), plural(f.Messages, "message"), stamp(f.CoversSince), stamp(f.CoversUntil))
}
