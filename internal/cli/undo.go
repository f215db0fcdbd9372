package cli

import (
	"fmt"
	"strings"

	"reverie/internal/reverie"
)

// PrintUndone says what taking a run back changed, what it left, and what the group
// remembers now.
func (con *Console) PrintUndone(u reverie.Undone, reply reverie.UndoReply) {
	w, s := con.Stdout, con.Style()
	fmt.Fprintf(w, "%s  %s of %s  began %s UTC\n", s.Bold(u.RunID), u.Job, Visible(reply.GroupID), Stamp(u.Began))
	if u.Nothing {
		fmt.Fprintln(w, "  nothing to take back: it has left nothing")
		return
	}
	for _, c := range u.Changes {
		switch inPlace := c.OldID != nil && *c.OldID == c.MemoryID; {
		case c.NewStatement == "":
			c.Action = reverie.ActionDelete
		case inPlace: // of its strength alone
			continue
		case c.OldStatement == c.NewStatement:
			c.Action = reverie.ActionCreate // it had ended
		}
		c.Summary = ""
		con.PrintChange(s, c)
	}
	done := "taken back"
	if reply.DryRun {
		done = "would be taken back"
	}
	fmt.Fprintf(w, "  %s: %s\n", done, takenBack(u))
	for _, l := range u.Left {
		fmt.Fprintf(w, "  %s %s\n      %s\n", s.Amber("left"), Visible(l.Statement), s.Dim(Visible(l.Reason)))
	}
	con.printRemembers(u, reply.DryRun)
}

// takenBack counts what taking a run back changed. What is zero is left out.
func takenBack(u reverie.Undone) string {
	read := "message"
	if u.Job == reverie.JobDream {
		read = "memory"
	}
	var parts []string
	for _, c := range []struct {
		n           int
		thing, what string
	}{
		{u.Restored, "memory", "back as before"}, {u.Deprecated, "memory", "that it had made"},
		{u.Weakened, "memory", "in strength alone"},
		{u.Entities, "entity", "as before"}, {u.Rejected, "plan", "rejected"}, {u.Requeued, read, "to be read again"},
	} {
		if c.n > 0 {
			parts = append(parts, Plural(c.n, c.thing)+" "+c.what)
		}
	}
	if len(parts) == 0 {
		return "it had changed nothing"
	}
	return strings.Join(parts, ", ")
}

// printRemembers compares what the group remembers with what it did before the run.
func (con *Console) printRemembers(u reverie.Undone, dry bool) {
	w, s := con.Stdout, con.Style()
	remembers := "remembers"
	if dry {
		remembers = "would remember"
	}
	sets := fmt.Sprintf("(active set %.12s -> %.12s", u.Before, u.After)
	if u.Exact {
		fmt.Fprintf(w, "  %s %s\n", s.Green("the group "+remembers+" again exactly what it did before the run"),
			s.Dim(sets+")"))
		return
	}
	var but []string
	if n := len(u.Left); n > 0 {
		but = append(but, "what is left above")
	}
	if u.Others > 0 {
		but = append(but, Plural(u.Others, "memory")+" that others have made, changed or ended since")
	}
	fmt.Fprintf(w, "  the group %s what it did before the run, but for %s %s\n", remembers, strings.Join(but, " and "),
		s.Dim(sets+fmt.Sprintf("; before the run %.12s)", u.Was)))
}
