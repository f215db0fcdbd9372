package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"reverie/internal/entity"
	"reverie/internal/reverie"
)

func (con *console) printEntities(list []reverie.Entity, total, offset int) error {
	var t table
	t.row("ENTITY", "KIND", "NAME", "ACCOUNT", "CLAIMS", "SUPPORTED", "PART OF", "ALSO")
	for _, e := range list {
		r := e.Reply()
		into := ""
		if r.MergedInto != nil {
			into = *r.MergedInto
		}
		t.row(r.EntityID, string(r.Kind), visible(r.Subject), visible(strings.Join(r.Accounts, ", ")), fmt.Sprint(len(e.Claims)),
			lastSupported(e), into, visible(strings.Join(r.Aliases, ", ")))
	}
	t.trim("ACCOUNT", "PART OF", "ALSO")
	if err := t.write(con.stdout, con.style()); err != nil {
		return err
	}
	if end := offset + len(list); end < total {
		_, err := fmt.Fprintf(con.stdout, "%d to %d of %d; go on with --offset %d\n", offset+1, end, total, end)
		return err
	}
	return nil
}

// lastSupported is the date of the newest message that a claim of the entity rests
// on.
func lastSupported(e reverie.Entity) string {
	var newest time.Time
	for _, c := range e.Claims {
		if c.LastSupportedAt.After(newest) {
			newest = c.LastSupportedAt
		}
	}
	if newest.IsZero() {
		return "-"
	}
	return newest.UTC().Format(time.DateOnly)
}

// watchObserving shows a run's progress on a terminal, and returns what ends the
// show.
func (con *console) watchObserving(p *entity.Pipeline) (stop func()) {
	if !terminal(con.stderr) {
		return func() {}
	}
	bar := con.newBar(-1, "observing", progressbar.OptionSetItsString("questions"), progressbar.OptionShowCount())
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
func (con *console) printImpression(r entity.Result, names map[string]string, took time.Duration, date string) {
	s, w := con.style(), con.stdout
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
	con.printEntityChanges(s, r.Changes, names)
	con.printRefusals(s, r.Refusals)
}

// printEntityChanges shows what a run found out, and whom it is about.
func (con *console) printEntityChanges(s style, changes []reverie.EntityChange, names map[string]string) {
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
		fmt.Fprintf(con.stdout, "  %s %s\n", changeMark(s, c.Action), text)
		if c.Reason != "" {
			fmt.Fprintf(con.stdout, "      %s\n", s.dim("why: "+visible(c.Reason)))
		}
		con.printEvidence(s, c.Evidence, 3)
	}
}
