package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/cli"
	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/jobs"
)

// show is what is printed of a fan-out of one job.
type show struct {
	*app
	job    reverie.Job
	asJSON bool
}

// window tells of one run of a fan-out.
func (p show) window(e jobs.Report) {
	if e.NoNew || e.RunID == "" {
		return
	}
	if !p.asJSON {
		p.printWindow(e)
		return
	}
	_ = cli.PrintJSONLine(p.Stdout, p.line(e)) // a reader that has gone does not end the work
	for _, why := range e.Held {
		fmt.Fprintf(p.Stderr, "warning: run %s of group %q is held: %s\n", e.RunID, e.GroupID, why)
	}
}

// line is a run in the shape of the API, with its window where that is a date.
func (p show) line(e jobs.Report) any {
	var dated *reverie.Window
	if e.Window.Date != "" {
		dated = &e.Window
	}
	switch r := e.Result.(type) {
	case evolve.Result:
		return struct {
			reverie.EvolveReply
			Window *reverie.Window `json:"window,omitempty"`
		}{r.Reply(), dated}
	case entity.Result:
		return struct {
			reverie.ImpressionsReply
			Window *reverie.Window `json:"window,omitempty"`
		}{p.impressionReply(context.Background(), r), dated}
	case session.Result:
		return cli.ExtractReply(r)
	case dream.Result:
		return cli.DreamReply(r)
	}
	return nil
}

// group tells of a group that is not done.
func (p show) group(r jobs.GroupResult) {
	if p.asJSON && r.Outcome != jobs.Done && len(r.Windows) == 0 {
		_ = cli.PrintJSONLine(p.Stdout, groupLine{p.named(), r.Outcome == jobs.Skipped, r.GroupID, r.Outcome, r.Reason})
	}
	p.printGroup(r)
}

// named is the job where it must be said: lines without one are evolve's.
func (p show) named() reverie.Job {
	if p.job == reverie.JobEvolve {
		return ""
	}
	return p.job
}

// summary tells how far a fan-out came; nothing is what to say of one that found
// nothing to do, "" for not a word.
func (p show) summary(s jobs.Summary, err error, nothing string) error {
	if err := p.writeSummary(s, err, nothing); !errors.Is(err, syscall.EPIPE) { // a reader that has gone is no failure
		return err
	}
	return nil
}

func (p show) writeSummary(s jobs.Summary, err error, nothing string) error {
	none := s.Done+s.Skipped+s.Failed+s.Deferred == 0
	if partial := (*jobs.PartialError)(nil); none && (nothing == "" || err != nil && !errors.As(err, &partial)) {
		return nil // nothing was begun
	}
	if p.asJSON {
		return cli.PrintJSONLine(p.Stdout, summaryLine{p.named(), err == nil, s})
	}
	if err == nil && s.Done+s.Skipped == 0 {
		_, err = fmt.Fprintln(p.Stdout, nothing)
		return err
	}
	of := ""
	if p.named() != "" {
		of = string(p.job) + ": "
	}
	_, err = fmt.Fprintf(p.Stdout, "%s%s done, %d skipped, %d deferred, %d failed; %s finished, %d left\n", of, cli.Plural(s.Done, "group"), s.Skipped, s.Deferred, s.Failed,
		cli.Plural(s.Windows, "window"), s.Left)
	return err
}

// printWindow shows one run of a fan-out in a line or two.
func (p show) printWindow(e jobs.Report) {
	s := p.Style()
	date, of := e.Window.Date, ""
	if date != "" {
		date += "  "
	}
	if p.named() != "" {
		of = string(p.job) + " "
	}
	session := ""
	switch {
	case e.Through != "":
		session = "  up to " + cli.Visible(e.Through)
	case e.Window.SessionID != "":
		session = "  " + cli.Visible(e.Window.SessionID)
	}
	fmt.Fprintf(p.Stdout, "%s%s%s  %s%s in %s  %s\n", date, s.Bold(cli.Visible(e.GroupID)), session, of, s.Status(e.Status), e.Took.Round(10*time.Millisecond), s.Dim("run "+e.RunID))
	fmt.Fprintf(p.Stdout, "  %s\n", cli.Counts(p.job, e.Stats))
	for _, h := range e.Held {
		fmt.Fprintf(p.Stdout, "  %s held: %s; look at it with `reverie runs show %s`\n", s.Amber("?"), cli.Visible(h), e.RunID)
	}
}

// printGroup shows a group that is not done: why, and what follows.
func (p show) printGroup(r jobs.GroupResult) {
	what := fmt.Sprintf("group %q", r.GroupID)
	if p.named() != "" {
		what = string(p.job) + " of " + what
	}
	switch r.Outcome {
	case jobs.Skipped:
		if p.asJSON {
			break
		}
		fmt.Fprintf(p.Stdout, "%s  skipped: %s\n", cli.Visible(r.GroupID), cli.Visible(r.Reason))
	case jobs.Failed, jobs.Deferred:
		fmt.Fprintf(p.Stderr, "reverie: %s %s: %s\n", what, r.Outcome, cli.Visible(r.Reason))
	}
	if r.Parked && r.Outcome == jobs.Failed {
		fmt.Fprintf(p.Stderr, "reverie: %s is parked now: after mending the cause, run `reverie groups resume %s`\n", what, r.GroupID)
	}
	if r.Capped > 0 {
		fmt.Fprintf(p.Stderr, "reverie: %s has %s to make up, beyond [jobs] missed_nights: the next run goes on, or `reverie backfill`\n",
			what, cli.Plural(r.Capped, "more night"))
	}
}

// groupLine is a group under --json that was not worked on.
type groupLine struct {
	Job     reverie.Job  `json:"job,omitempty"`
	Success bool         `json:"success"`
	GroupID string       `json:"group_id"`
	Outcome jobs.Outcome `json:"outcome"`
	Reason  string       `json:"reason"`
}

// summaryLine ends the lines of a fan-out.
type summaryLine struct {
	Job     reverie.Job  `json:"job,omitempty"`
	Success bool         `json:"success"`
	Summary jobs.Summary `json:"summary"`
}
