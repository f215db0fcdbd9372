package cli

import "reverie/internal/reverie"

// PrintAudit shows which invariants hold, and where others do not.
func (con *Console) PrintAudit(list []reverie.Invariant) error { return con.Page("audit", list) }
