package cli

import (
	"fmt"
	"maps"
	"slices"
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

// PrintErasures prints the receipts, and, where no group failed, that nothing is left. The author's
// names are told by a dry run alone, to
// whoever is to decide which of them are words that should stay.
func (con *Console) PrintErasures(dry, asJSON bool, list []reverie.Erasure, failed error) error {
	if asJSON {
		if list == nil {
			list = []reverie.Erasure{}
		}
		return PrintJSON(con.Stdout, struct {
			Success bool              `json:"success"`
			DryRun  bool              `json:"dry_run,omitempty"`
			Groups  []reverie.Erasure `json:"groups"`
		}{failed == nil, dry, list})
	}
	if len(list) == 0 && failed == nil {
		return con.Say("nothing is left of an author of that id or name; a name is compared exactly, and an id as the " +
			"platform writes it\n")
	}
	for _, e := range list {
		if err := con.printErasure(dry, e); err != nil {
			return err
		}
	}
	return nil
}

func (con *Console) printErasure(dry bool, e reverie.Erasure) error {
	did, held := "erased", "held and judged again by the next run"
	if dry {
		did, held = "would be erased", "would be held and judged again by the next run"
	}
	text := fmt.Sprintf("%s: %s and %s %s, %s %s\n", Visible(e.GroupID), Plural(e.Messages, "message"),
		Plural(e.Erased, "memory"), did, Plural(e.Held, "memory"), held)
	for _, part := range []struct {
		what string
		rows map[string]int
	}{{"rows deleted", e.Deleted}, {"rows changed", e.Changed}} {
		if len(part.rows) > 0 {
			text += fmt.Sprintf("  %s: %s\n", part.what, tableCounts(part.rows))
		}
	}
	if e.Team > 0 {
		text += fmt.Sprintf("  %s ended\n", Plural(e.Team, "memory")+" of teams")
	}
	for _, l := range e.Left {
		text += fmt.Sprintf("  left: %d %s: %s\n", l.Rows, Visible(l.What), l.Why)
	}
	if dry && len(e.Names) > 0 {
		text += fmt.Sprintf("  looked for in the words of others: the id, what they wrote, and the names %s (--keep-name "+
			"leaves one)\n", Visible(strings.Join(e.Names, ", ")))
	}
	text += fmt.Sprintf("  read again: %s, in which nothing of the author is left but that\n", Plural(e.Searched, "value"))
	if e.ID != "" {
		text += fmt.Sprintf("  receipt %s\n", e.ID)
	}
	return con.Say("%s", text)
}

// tableCounts lists counts by table.
func tableCounts(rows map[string]int) string {
	var parts []string
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		parts = append(parts, fmt.Sprintf("%s %d", table, rows[table]))
	}
	return strings.Join(parts, ", ")
}
