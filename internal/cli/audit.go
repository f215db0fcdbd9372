package cli

import (
	"fmt"

	"reverie/internal/reverie"
)

func (con *Console) PrintAudit(list []reverie.Invariant) error {
	s := con.Style()
	var t Table
	t.Row("", "INVARIANT", "CHECKED", "VIOLATIONS")
	for _, i := range list {
		mark := s.Green("ok")
		if i.Violated > 0 {
			mark = s.Red("--")
		}
		t.Row(mark, i.Name, i.Checked, i.Violated)
	}
	if err := t.Write(con.Stdout, s); err != nil {
		return err
	}
	for _, i := range list {
		if i.Violated == 0 {
			continue
		}
		fmt.Fprintf(con.Stdout, "\n%s: %s\n", s.Bold(i.Name), i.Says)
		for _, v := range i.Violations {
			fmt.Fprintf(con.Stdout, "  %s: %s\n", Visible(v.GroupID), Visible(v.What))
		}
		if more := i.Violated - len(i.Violations); more > 0 {
			fmt.Fprintf(con.Stdout, "  and %d more\n", more)
		}
	}
	return nil
}
