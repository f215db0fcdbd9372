package cli

import (
	"fmt"
	"strconv"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// MaintainPrinter prints what maintenance has done.
type MaintainPrinter struct {
	FanOutPrinter
	DryRun     bool
	ByActivity bool // memories age only while their group talks
	replies    []reverie.MaintainReply
}

// Add takes in what became of a group; one in which nothing was due is left out.
func (p *MaintainPrinter) Add(r reverie.MaintainReply) {
	switch {
	case r.Message != "":
	case p.JSON:
		_ = PrintJSONLine(p.Stdout, r) // a reader that has gone does not end the work
	default:
		p.replies = append(p.replies, r)
	}
}

// End prints what is left to say when all is done.
func (p *MaintainPrinter) End(s jobs.Summary, err error) error {
	if !p.JSON {
		return p.table(s, err)
	}
	if p.DryRun {
		return nil
	}
	return PrintJSONLine(p.Stdout, SummaryLine{reverie.JobMaintain, err == nil, s})
}

// nothingFades is what to say where nothing was due.
const nothingFades = "nothing to do"

// table shows what was done in each group, and in all of them.
func (p *MaintainPrinter) table(s jobs.Summary, err error) error {
	var t Table
	var sum reverie.MaintainReply
	t.Row("GROUP", "DECAYED", "ARCHIVED", "SHORT-TERM", "MESSAGES", "ANSWERS", "USAGE", "RUN")
	row := func(name string, r reverie.MaintainReply) {
		run := r.RunID
		if r.Status != "" && r.Status != reverie.RunSucceeded {
			run += "  " + p.Style().Status(r.Status)
		}
		cells := []string{name}
		for _, n := range []int{r.Decayed, r.Archived, r.Pruned.ShortTerm, r.Pruned.Messages, r.Pruned.Answers, r.Pruned.Usage} {
			cells = append(cells, unlessZero(n))
		}
		t.Cells(append(cells, run))
	}
	for _, r := range p.replies {
		row(Visible(r.GroupID), r)
		sum.Decayed, sum.Archived = sum.Decayed+r.Decayed, sum.Archived+r.Archived
		sum.Pruned.Add(r.Pruned)
		for _, c := range r.Changes {
			t.Note("  - "+Visible(c.OldStatement), "      "+p.Style().Dim("why: "+Visible(c.ChangeReason)))
		}
	}
	if len(p.replies) == 0 {
		if err == nil && s.Skipped == 0 {
			fmt.Fprintln(p.Stdout, nothingFades)
			if p.ByActivity {
				fmt.Fprintln(p.Stdout, p.Style().Dim("the age of memories counts up to the newest message of their group ([maintain] decay_by)"))
			}
		}
		return nil
	}
	if len(p.replies) > 1 {
		row(Plural(len(p.replies), "group"), sum)
	}
	t.Trim("DECAYED", "ARCHIVED", "SHORT-TERM", "MESSAGES", "ANSWERS", "USAGE", "RUN")
	if err := t.Write(p.Stdout, p.Style()); err != nil {
		return err
	}
	if p.DryRun {
		_, err = fmt.Fprintln(p.Stdout, p.Style().Amber("dry run: nothing was written"))
		return err
	}
	return nil
}

// unlessZero is a count in a table, where none is left blank.
func unlessZero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
