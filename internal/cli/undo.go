package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// undone is an undone run, as a page shows it.
type undone struct {
	reverie.Undone
	Counted, Remembers, Sets string
	But                      []string // differences from before the run
}

// PrintUndone shows what undoing runs changed, what it left, and the number of memories now. With an error, it
// shows the runs before the failing one.
func (con *Console) PrintUndone(reply reverie.UndoReply, failed error) error {
	page := struct {
		reverie.UndoReply
		Runs []undone
	}{UndoReply: reply}
	for _, u := range reply.Runs {
		shown := undone{Undone: u, Counted: takenBack(u), Remembers: "remembers",
			Sets: fmt.Sprintf("(active set %.12s -> %.12s", u.Before, u.After)}
		if reply.DryRun {
			shown.Remembers = "would remember"
		}
		shown.Changes = nil
		for _, c := range u.Changes {
			switch inPlace := c.OldID != nil && *c.OldID == c.MemoryID; {
			case c.NewStatement == "":
				c.Action = reverie.ActionDelete
			case inPlace: // only of its strength
				continue
			case c.OldStatement == c.NewStatement:
				c.Action = reverie.ActionCreate // it had ended
			}
			c.Summary = ""
			shown.Changes = append(shown.Changes, c)
		}
		if len(u.Left) > 0 {
			shown.But = append(shown.But, "what is left above")
		}
		if u.Others > 0 {
			shown.But = append(shown.But, Plural(u.Others, "memory")+" that others have made, changed or ended since")
		}
		page.Runs = append(page.Runs, shown)
	}
	err := con.Page("undone", page)
	switch {
	case err != nil || failed != nil:
		return err
	case len(reply.Runs) == 0:
		return con.Say("%s: no run since then is left to undo\n", Visible(reply.GroupID))
	case reply.DryRun:
		return con.Say("\nnothing was written: leave out --dry-run to do it\n")
	}
	return nil
}

// takenBack counts what undoing a run changed, without zero counts.
func takenBack(u reverie.Undone) string {
	read := "message"
	if u.Job == reverie.JobDream {
		read = "memory"
	}
	return cmp.Or(listed(", ", things(u.Restored, "memory", " back as before"),
		things(u.Deprecated, "memory", " that it had made"), things(u.Weakened, "memory", " in strength alone"),
		things(u.Entities, "entity", " as before"), things(u.Rejected, "plan", " rejected"),
		things(u.Requeued, read, " to be read again")), "it had changed nothing")
}

// PrintErasures prints the receipts and, if no group failed, that nothing is left. Only a dry run prints the
// author's names, for the person who decides which of them are ordinary words and should stay.
func (con *Console) PrintErasures(dry bool, list []reverie.Erasure, failed error) error {
	reply := struct {
		Success bool              `json:"success"`
		DryRun  bool              `json:"dry_run,omitempty"`
		Groups  []reverie.Erasure `json:"groups"`
	}{failed == nil, dry, append([]reverie.Erasure{}, list...)}
	return con.Show(reply, func() error {
		if len(list) == 0 && failed == nil {
			return con.Say("nothing is left of an author of that id or name; a name is compared exactly, and an id as the " +
				"platform writes it\n")
		}
		return con.Page("erased", reply)
	})
}

// tableCounts lists counts by table.
func tableCounts(rows map[string]int) string {
	counted := func(table string) string { return fmt.Sprintf("%s %d", table, rows[table]) }
	return strings.Join(text.Each(slices.Sorted(maps.Keys(rows)), counted), ", ")
}
