package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"reverie"
	"reverie/evolve"
)

// watch shows a run's progress on a terminal, and returns what ends the show.
func (a *app) watch(p *evolve.Pipeline, quiet bool) (stop func()) {
	if quiet || !terminal(a.stderr) {
		return func() {}
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription("evolving"),
		progressbar.OptionSetItsString("messages"), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	p.Progress = func(pr evolve.Progress) { _ = bar.Set(pr.Done) } // a bar that cannot be drawn is no reason to stop
	return func() { _ = bar.Finish() }
}

// printResult shows a run to a person: what it did, and on what grounds.
func (a *app) printResult(r evolve.Result, took time.Duration) {
	s, w := a.style(), a.stdout
	if r.NoNew {
		fmt.Fprintf(w, "%s: no new messages\n", visible(r.GroupID))
		return
	}
	status := string(r.Status)
	switch r.Status {
	case reverie.RunSucceeded:
		status = s.green(status)
	case reverie.RunFailed:
		status = s.red(status)
	default:
		status = s.amber(status)
	}
	head := fmt.Sprintf("%s  %s in %s", s.bold(visible(r.GroupID)), status, took.Round(10*time.Millisecond))
	if r.DryRun {
		head += "  " + s.amber("dry run: nothing was written")
	} else {
		head += "  " + s.dim("run "+r.RunID)
	}
	fmt.Fprintln(w, head)
	st := r.Stats
	fmt.Fprintf(w, "  memories  %d kept, %d updated, %d created, %d deleted, %d refused, %d held\n", st.Kept, st.Updated, st.Created, st.Deleted, st.Refused, st.Held)
	fmt.Fprintf(w, "  messages  %d cited, %d considered, %d filtered, %d pending\n", st.Cited, st.Considered, st.Filtered, st.Deferred)
	for _, c := range r.Changes {
		a.printChange(s, c)
	}
	for _, f := range r.Refusals {
		fmt.Fprintf(w, "  %s %s %s: %s\n", s.amber("!"), strings.TrimSpace("refused "+f.Action+" "+visible(f.Handle)), s.dim("("+f.Rule+")"), visible(f.Detail))
	}
	for _, h := range r.Held {
		fmt.Fprintf(w, "  %s held: %s\n    look at it with `reverie runs show %s`, then `runs approve` or `runs reject`\n", s.amber("?"), visible(h), r.RunID)
	}
}

// printChange shows one change and its evidence.
func (a *app) printChange(s style, c reverie.Change) {
	w := a.stdout
	switch c.Action {
	case reverie.ActionCreate:
		fmt.Fprintf(w, "  %s %s\n", s.green("+"), visible(c.NewStatement))
	case reverie.ActionDelete:
		fmt.Fprintf(w, "  %s %s\n", s.red("-"), visible(c.OldStatement))
	default:
		fmt.Fprintf(w, "  %s %s  %s\n", s.amber("~"), wordDiff(s, c.OldStatement, c.NewStatement), s.dim(fmt.Sprintf("v%d", c.Version)))
	}
	if c.Summary != "" {
		fmt.Fprintf(w, "      %s\n", s.dim("why: "+visible(c.Summary)))
	}
	const shown = 3
	for i, e := range c.Evidence {
		if i == shown {
			fmt.Fprintf(w, "      %s\n", s.dim(fmt.Sprintf("and %d more", len(c.Evidence)-shown)))
			break
		}
		fmt.Fprintf(w, "      %s\n", s.dim(fmt.Sprintf("%s: “%s”", visible(e.Author), visible(reverie.Excerpt(e.Quote, 100)))))
	}
}
