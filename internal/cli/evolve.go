package cli

import (
	"fmt"
	"strings"
	"time"

	"reverie/evolve"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// runHead is the first line on a run: of what, how it ended, and its id.
func (con *Console) runHead(of string, r pipeline.Result, took time.Duration) {
	s := con.Style()
	id := s.Dim("run " + r.RunID)
	if r.DryRun {
		id = s.Amber("dry run: nothing was written")
	}
	fmt.Fprintf(con.Stdout, "%s %s in %s  %s\n", of, s.Status(r.Status), took.Round(10*time.Millisecond), id)
}

// onDate leads with the date of a run's window, which is "" where it need not be told
// from others.
func onDate(date, text string) string { return strings.TrimLeft(date+"  "+text, " ") }

// runGrounds shows what was kept, on which new grounds.
func (con *Console) runGrounds(r pipeline.Result) {
	s := con.Style()
	for _, k := range r.Supported {
		fmt.Fprintf(con.Stdout, "  = %s\n", Visible(k.OldStatement))
		con.printEvidence(s, k.Evidence, 1)
	}
}

// runRest shows what was refused, and what is held.
func (con *Console) runRest(r pipeline.Result) {
	con.printRefusals(con.Style(), r.Refusals)
	con.printHeld(con.Style(), r.Held, r.RunID)
}

// PrintResult shows a run to a person: what it did, in a line and on what grounds.
func (con *Console) PrintResult(r evolve.Result, took time.Duration, date, line string) {
	if r.NoNew {
		fmt.Fprintf(con.Stdout, "%s: no new messages\n", Visible(r.GroupID))
		return
	}
	con.runHead(onDate(date, con.Style().Bold(Visible(r.GroupID))+" "), r.Result, took)
	fmt.Fprintf(con.Stdout, "  %s\n", line)
	for _, c := range r.Changes {
		con.PrintChange(con.Style(), c)
	}
	con.runGrounds(r.Result)
	con.runRest(r.Result)
}

// printHeld says why plans are held, and of a run that has an id how to decide on
// them.
func (con *Console) printHeld(s Style, held []string, runID string) {
	for _, h := range held {
		fmt.Fprintf(con.Stdout, "  %s held: %s\n", s.Amber("?"), Visible(h))
		if runID != "" {
			fmt.Fprintf(con.Stdout, "    look at it with `reverie runs show %s`, then `runs approve` or `runs reject`\n", runID)
		}
	}
}

// PrintWarnings tells of what did not keep a run from its end.
func (con *Console) PrintWarnings(warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(con.Stderr, "warning: %s\n", Visible(text))
	}
}

// Status colours how a run stands.
func (s Style) Status(status reverie.RunStatus) string {
	switch status {
	case reverie.RunSucceeded:
		return s.Green(string(status))
	case reverie.RunFailed:
		return s.Red(string(status))
	default:
		return s.Amber(string(status))
	}
}

// Counts sums a run up in one line; what is zero and mostly is, is left out.
func Counts(job reverie.Job, st reverie.Stats) string {
	if job == reverie.JobMaintain {
		return fmt.Sprintf("%d decayed, %d archived, %d pruned", st.Decayed, st.Archived, st.Pruned)
	}
	parts := []string{Effects(job, st)}
	if job == reverie.JobPropose { // it has read nothing
		return parts[0]
	}
	if job == reverie.JobDream {
		taken := "nothing"
		if st.Material > 0 {
			taken = Plural(st.Sessions, "session") + " and " + Plural(st.Material, "memory")
		}
		return fmt.Sprintf("%s; %s taken in, %s", parts[0], taken, Plural(st.Asked, "question"))
	}
	messages := fmt.Sprintf("%s (%d cited", Plural(st.Cited+st.Considered+st.Filtered, "message"), st.Cited)
	if st.Filtered > 0 {
		messages += fmt.Sprintf(", %d filtered", st.Filtered)
	}
	parts = append(parts, messages+")")
	if st.Folded > 0 {
		parts = append(parts, fmt.Sprintf("%d folded", st.Folded))
	}
	if st.Deferred > 0 {
		parts = append(parts, fmt.Sprintf("%d pending", st.Deferred))
	}
	return strings.Join(parts, "; ")
}

// Effects sums up what a run made of what is remembered.
func Effects(job reverie.Job, st reverie.Stats) string {
	text := fmt.Sprintf("%d kept, %d updated, %d created, %d deleted", st.Kept, st.Updated, st.Created, st.Deleted)
	if job == reverie.JobImpression {
		text = fmt.Sprintf("%s created, %d updated", Plural(st.Created, "entity"), st.Updated)
	}
	for _, c := range []struct {
		n    int
		what string
	}{{st.Postponed, "postponed"}, {st.Refused, "refused"}, {st.Held, "held"}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return text
}

// printRefusals shows the first lines that were not accepted, and how many more
// there are.
func (con *Console) printRefusals(s Style, list []reverie.Refusal) {
	const shown = 10
	for i, f := range list {
		if i == shown {
			fmt.Fprintf(con.Stdout, "  %s and %d more refused; --json and `reverie runs show` list them\n", s.Amber("!"),
				len(list)-shown)
			break
		}
		con.printRefusal(s, f)
	}
}

// printRefusal shows a line of the answer that was not accepted.
func (con *Console) printRefusal(s Style, f reverie.Refusal) {
	what := strings.Join(strings.Fields("refused "+f.Action+" "+Visible(f.Handle)), " ")
	fmt.Fprintf(con.Stdout, "  %s %s %s: %s\n", s.Amber("!"), what, s.Dim("("+f.Rule+")"), Visible(f.Detail))
}

// PrintChange shows one change and its evidence.
func (con *Console) PrintChange(s Style, c reverie.Change) {
	w := con.Stdout
	switch c.Action {
	case reverie.ActionCreate:
		fmt.Fprintf(w, "  %s %s\n", s.Green("+"), Visible(c.NewStatement))
	case reverie.ActionDelete:
		fmt.Fprintf(w, "  %s %s\n", s.Red("-"), Visible(c.OldStatement))
	default:
		fmt.Fprintf(w, "  %s %s  %s\n", s.Amber("~"), WordDiff(s, c.OldStatement, c.NewStatement),
			s.Dim(fmt.Sprintf("v%d", c.Version)))
	}
	if c.Summary != "" {
		fmt.Fprintf(w, "      %s\n", s.Dim("why: "+Visible(c.Summary)))
	}
	con.printEvidence(s, c.Evidence, 3)
}

// printEvidence shows the first quotes of a change, and how many more there are.
func (con *Console) printEvidence(s Style, evidence []reverie.Evidence, shown int) {
	for i, e := range evidence {
		line := fmt.Sprintf("%s: “%s”", Visible(e.Author), Visible(text.Excerpt(e.Quote, 100)))
		if more := len(evidence) - shown; i == shown-1 && more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		if i < shown {
			fmt.Fprintf(con.Stdout, "      %s\n", s.Dim(line))
		}
	}
}
