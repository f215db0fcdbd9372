package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"

	"reverie/dream"
	"reverie/internal/reverie"
)

// dreamReply is a result in the shape of the API.
func dreamReply(r dream.Result) reverie.DreamReply {
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

// watchDreaming shows a dream's progress on a terminal, and returns what ends the
// show.
func (a *app) watchDreaming(p *dream.Pipeline) (stop func()) {
	if !terminal(a.stderr) {
		return func() {}
	}
	bar := a.newBar(-1, "dreaming", progressbar.OptionSetItsString("questions"), progressbar.OptionShowCount())
	_ = bar.RenderBlank() // a bar that cannot be drawn is no reason to stop, here and below
	p.Progress = func(pr dream.Progress) {
		bar.ChangeMax(pr.Of)
		_ = bar.Set(pr.Questions)
	}
	return func() { _ = bar.Finish() }
}

// printDream shows a dream to a person: why it was, the narrative, and the items, on
// what grounds.
func (a *app) printDream(r dream.Result, took time.Duration) {
	s, w := a.style(), a.stdout
	if r.None != "" {
		fmt.Fprintf(w, "%s: no dream: %s\n", visible(r.GroupID), visible(r.None))
		a.printWarnings(r.Warnings)
		return
	}
	head := s.bold(visible(r.GroupID))
	if r.SessionID != "" {
		head += "  up to " + visible(r.SessionID)
	}
	head += fmt.Sprintf("  dream %s in %s", s.status(r.Status), took.Round(10*time.Millisecond))
	if r.DryRun {
		head += "  " + s.amber("dry run: nothing was written")
	} else {
		head += "  " + s.dim("run "+r.RunID)
	}
	fmt.Fprintln(w, head)
	if r.Reason != "" {
		fmt.Fprintf(w, "  %s\n", s.dim("because "+visible(r.Reason)))
	}
	fmt.Fprintf(w, "  %s\n", counts(reverie.JobDream, r.Stats))
	if r.Narrative != "" {
		fmt.Fprintf(w, "  %s %s\n", s.bold("narrative"), visible(r.Narrative))
	}
	for _, c := range r.Changes {
		if slices.Contains(r.Closed, c.MemoryID) {
			a.printClosed(s, c)
			continue
		}
		a.printChange(s, c)
	}
	for _, k := range r.Supported {
		fmt.Fprintf(w, "  = %s\n", visible(k.OldStatement))
		a.printEvidence(s, k.Evidence, 1)
	}
	a.printRefusals(s, r.Refusals)
	a.printHeld(s, r.Held, r.RunID)
	a.printWarnings(r.Warnings)
}

// printClosed shows an open thread that has come to its end.
func (a *app) printClosed(s style, c reverie.Change) {
	fmt.Fprintf(a.stdout, "  %s %s\n", s.green("x"), visible(c.NewStatement))
	if c.OldStatement != c.NewStatement {
		fmt.Fprintf(a.stdout, "      %s\n", s.dim("was open: "+visible(c.OldStatement)))
	}
	a.printEvidence(s, c.Evidence, 3)
}
