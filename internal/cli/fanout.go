package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/entity"
	"reverie/internal/maintain"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/internal/text"
	"reverie/jobs"
)

// FanOutPrinter prints the results of a fan-out of one job.
type FanOutPrinter struct {
	*Console
	Job reverie.Job
	// Subjects returns the names of the changed entities.
	Subjects func(ctx context.Context, groupID string, changes []reverie.EntityChange) map[string]string
}

// Window prints one run of a fan-out. Its output may be a log that erasure does not reach, so it has no quotes.
func (p FanOutPrinter) Window(e jobs.Report) {
	if e.NoNew || e.RunID == "" {
		return
	}
	if !p.JSON {
		brief := *p.Console
		brief.Brief, p.Console = true, &brief
		_ = p.Run(e.Result, e.Took, e.Window.Date) // the work continues if its reader ends
		return
	}
	_ = p.WriteJSONLine(p.Line(e)) // the work continues if its reader ends
	p.WarnHeld(e.RunID, e.GroupID, e.Held)
}

// WarnHeld prints why plans of a run are held.
func (con *Console) WarnHeld(runID, groupID string, held []string) {
	for _, why := range held {
		fmt.Fprintf(con.Stderr, "warning: lines of run %s of group %q are pending review: %s\n", runID, groupID, why)
	}
}

// Line converts a run for the API, with its window if that is a date.
func (p FanOutPrinter) Line(e jobs.Report) any {
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
		}{ImpressionReply(r, p.Subjects(context.Background(), r.GroupID, r.Changes)), dated}
	case session.Result:
		return ExtractReply(r)
	case dream.Result:
		return DreamReply(r)
	case maintain.Result:
		return r.Reply()
	}
	return nil
}

// Group prints a group that was not finished.
func (p FanOutPrinter) Group(r jobs.GroupResult) {
	printed := slices.ContainsFunc(r.Windows, func(e jobs.Report) bool { return e.RunID != "" })
	if p.JSON && r.Outcome != jobs.Done && !printed {
		_ = p.WriteJSONLine(groupLine{p.named(), r.Outcome == jobs.Skipped, r.GroupID, r.Outcome, r.Reason})
	}
	p.printGroup(r)
}

// named returns the job for a line; lines without one are evolve's.
func (p FanOutPrinter) named() reverie.Job {
	if p.Job == reverie.JobEvolve {
		return ""
	}
	return p.Job
}

// Summary prints how far a fan-out came. nothing is the message if there was nothing to do, "" for none.
func (p FanOutPrinter) Summary(s jobs.Summary, err error, nothing string) error {
	if err := p.writeSummary(s, err, nothing); !errors.Is(err, syscall.EPIPE) { // a reader that ended is no failure
		return err
	}
	return nil
}

func (p FanOutPrinter) writeSummary(s jobs.Summary, err error, nothing string) error {
	none := s.Done+s.Skipped+s.Failed+s.Deferred == 0
	if partial := (*jobs.PartialError)(nil); none && (nothing == "" || err != nil && !errors.As(err, &partial)) {
		return nil // nothing was started
	}
	if p.JSON {
		return p.WriteJSONLine(SummaryLine{p.named(), err == nil, s})
	}
	if err == nil && s.Done+s.Skipped == 0 {
		_, err = fmt.Fprintln(p.Stdout, nothing)
		return err
	}
	of := ""
	if p.named() != "" {
		of = string(p.Job) + ": "
	}
	_, err = fmt.Fprintf(p.Stdout, "%s%s done, %d skipped, %d deferred, %d failed; %s finished, %d left\n", of,
		Plural(s.Done, "group"), s.Skipped, s.Deferred, s.Failed,
		Plural(s.Windows, "window"), s.Left)
	return err
}

// Run shows a run to a person.
func (p FanOutPrinter) Run(result any, took time.Duration, date string) error {
	switch r := result.(type) {
	case evolve.Result:
		return p.PrintResult(r, took, date, Counts(reverie.JobEvolve, r.Stats))
	case entity.Result:
		return p.PrintImpression(r, p.Subjects(context.Background(), r.GroupID, r.Changes), took, date)
	case session.Result:
		return p.PrintExtraction(r, took)
	case dream.Result:
		return p.PrintDream(r, took)
	case maintain.Result:
		return p.PrintMaintained(r, took)
	}
	return nil
}

// printGroup shows a group that was not finished: why, and what happens next.
func (p FanOutPrinter) printGroup(r jobs.GroupResult) {
	what := fmt.Sprintf("group %q", r.GroupID)
	if p.named() != "" {
		what = string(p.Job) + " of " + what
	}
	switch r.Outcome {
	case jobs.Skipped:
		if p.JSON {
			break
		}
		fmt.Fprintf(p.Stdout, "%s  skipped: %s\n", Visible(r.GroupID), Visible(r.Reason))
	case jobs.Failed, jobs.Deferred:
		fmt.Fprintf(p.Stderr, "reverie: %s %s: %s\n", what, r.Outcome, Visible(r.Reason))
	}
	if r.Parked && r.Outcome == jobs.Failed {
		fmt.Fprintf(p.Stderr, "reverie: %s is parked now: fix the cause, then run `reverie groups resume %s`\n", what,
			r.GroupID)
	}
	if r.Capped > 0 {
		fmt.Fprintf(p.Stderr,
			"reverie: %s has %s to make up, beyond [jobs] missed_nights: the next run goes on, or `reverie backfill`\n",
			what, Plural(r.Capped, "more night"))
	}
}

// groupLine is the JSON of a group that was not processed.
type groupLine struct {
	Job     reverie.Job  `json:"job,omitempty"`
	Success bool         `json:"success"`
	GroupID string       `json:"group_id"`
	Outcome jobs.Outcome `json:"outcome"`
	Reason  string       `json:"reason"`
}

// SummaryLine is the last line of a fan-out.
type SummaryLine struct {
	Job     reverie.Job  `json:"job,omitempty"`
	Success bool         `json:"success"`
	Summary jobs.Summary `json:"summary"`
}

// PrintMaintained shows what maintenance did to a group.
func (con *Console) PrintMaintained(r maintain.Result, took time.Duration) error {
	if r.NoNew {
		return con.Say("%s: nothing to do\n", Visible(r.GroupID))
	}
	return con.printOutcome(con.Style().Bold(Visible(r.GroupID))+"  maintain", r.Result, took,
		outcome{Line: Counts(reverie.JobMaintain, r.Stats), Changes: text.Each(r.Changes, open)})
}
