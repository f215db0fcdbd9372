package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

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
