package main

import (
	"fmt"

	"reverie/internal/reverie"
)

func (con *console) printAudit(list []reverie.Invariant) error {
	s := con.style()
	var t table
	t.row("", "INVARIANT", "CHECKED", "VIOLATIONS")
	for _, i := range list {
		mark := s.green("ok")
		if i.Violated > 0 {
			mark = s.red("--")
		}
		t.row(mark, i.Name, fmt.Sprint(i.Checked), fmt.Sprint(i.Violated))
	}
	if err := t.write(con.stdout, s); err != nil {
		return err
	}
	for _, i := range list {
		if i.Violated == 0 {
			continue
		}
		fmt.Fprintf(con.stdout, "\n%s: %s\n", s.bold(i.Name), i.Says)
		for _, v := range i.Violations {
			fmt.Fprintf(con.stdout, "  %s: %s\n", visible(v.GroupID), visible(v.What))
		}
		if more := i.Violated - len(i.Violations); more > 0 {
			fmt.Fprintf(con.stdout, "  and %d more\n", more)
		}
	}
	return nil
}
