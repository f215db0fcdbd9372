package cli

import "reverie/internal/reverie"

// violated is an invariant, and how many of its violations are not listed.
type violated struct {
	reverie.Invariant
	NotListed int
}

// PrintAudit shows which invariants hold, and where others do not.
func (con *Console) PrintAudit(list []reverie.Invariant) error {
	var t Table
	var page []violated
	t.Row("", "INVARIANT", "CHECKED", "VIOLATIONS")
	for _, i := range list {
		t.Row(con.Style().Mark(i.Violated == 0), i.Name, i.Checked, i.Violated)
		page = append(page, violated{i, i.Violated - len(i.Violations)})
	}
	if err := con.Print(t); err != nil {
		return err
	}
	return con.Page("audit", page)
}
