package main

import (
	"context"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"reverie/internal/entity"
	"reverie/internal/reverie"
)

// impressionReply is a result in the shape of the API.
func (a *app) impressionReply(ctx context.Context, r entity.Result) reverie.ImpressionsReply {
	reply := reverie.ImpressionsReply{Success: r.Err == nil, Job: reverie.JobImpression, GroupID: r.GroupID, RunID: r.RunID, DryRun: r.DryRun,
		Status: r.Status, Stats: reverie.ImpressionStats{Created: r.Stats.Created, Updated: r.Stats.Updated, Postponed: r.Stats.Postponed, Refused: r.Stats.Refused},
		Changes: []reverie.EntityChangeReply{}, Refusals: r.Refusals, Warnings: r.Warnings}
	if r.Err != nil {
		reply.Error = r.Err.Error()
	}
	if r.NoNew {
		reply.Status, reply.Message = "", "nothing waits"
		return reply
	}
	if !r.At.IsZero() {
		reply.ImpressionTime = &r.At
	}
	reply.Messages = &reverie.MessageStats{Cited: r.Stats.Cited, Considered: r.Stats.Considered, Filtered: r.Stats.Filtered, Deferred: r.Stats.Deferred}
	reply.Changes = append(reply.Changes, reverie.EntityChangeReplies(r.Changes, a.subjects(ctx, r.GroupID, r.Changes))...)
	return reply
}

// subjects are the names of what changed. Those that cannot be read are left out:
// the changes are written all the same.
func (a *app) subjects(ctx context.Context, groupID string, changes []reverie.EntityChange) map[string]string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	names, err := a.store.Subjects(ctx, groupID, changes)
	if err != nil {
		a.log.Warn("the names of what changed could not be read", "group_id", groupID, "error", err)
	}
	return names
}

// watchObserving shows a run's progress on a terminal, and returns what ends the
// show.
func (a *app) watchObserving(p *entity.Pipeline) (stop func()) {
	if !terminal(a.stderr) {
		return func() {}
	}
	bar := a.newBar(-1, "observing", progressbar.OptionSetItsString("questions"), progressbar.OptionShowCount())
	_ = bar.RenderBlank() // a bar that cannot be drawn is no reason to stop, here and below
	p.Progress = func(pr entity.Progress) {
		if pr.Batches == 0 { // a chunk is done
			return
		}
		bar.ChangeMax(pr.Batches)
		_ = bar.Set(pr.Batch)
	}
	return func() { _ = bar.Finish() }
}

// printImpression shows a run of the impression job to a person: what is known now
// of whom, and on what grounds. The date of its window is "" where it need not be
// told from others.
func (a *app) printImpression(ctx context.Context, r entity.Result, took time.Duration, date string) {
	s, w := a.style(), a.stdout
	if r.NoNew {
		fmt.Fprintf(w, "%s: no messages wait for impressions\n", visible(r.GroupID))
		return
	}
	head := fmt.Sprintf("%s  impression %s in %s", s.bold(visible(r.GroupID)), s.status(r.Status), took.Round(10*time.Millisecond))
	if date != "" {
		head = date + "  " + head
	}
	if r.DryRun {
		head += "  " + s.amber("dry run: nothing was written")
	} else {
		head += "  " + s.dim("run "+r.RunID)
	}
	fmt.Fprintln(w, head)
	fmt.Fprintf(w, "  %s\n", counts(reverie.JobImpression, r.Stats))
	a.printEntityChanges(s, r.Changes, a.subjects(ctx, r.GroupID, r.Changes))
	a.printRefusals(s, r.Refusals)
}

// printEntityChanges shows what a run found out, and whom it is about.
func (a *app) printEntityChanges(s style, changes []reverie.EntityChange, names map[string]string) {
	for _, c := range changes {
		text, name := visible(c.NewText), s.bold(visible(names[c.EntityID]))
		switch c.Action {
		case reverie.EntityCreated:
			text = name + "  " + s.dim("new: "+c.EntityID)
		case reverie.EntityNamed:
			text = name + "  is also " + text
		case reverie.EntityReplaced:
			text = name + "  " + wordDiff(s, c.OldText, c.NewText)
		default:
			text = name + "  " + text
		}
		fmt.Fprintf(a.stdout, "  %s %s\n", changeMark(s, c.Action), text)
		if c.Reason != "" {
			fmt.Fprintf(a.stdout, "      %s\n", s.dim("why: "+visible(c.Reason)))
		}
		a.printEvidence(s, c.Evidence, 3)
	}
}
