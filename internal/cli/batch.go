package cli

import "reverie/internal/reverie"

// PrintBatches shows a table of batches.
func (con *Console) PrintBatches(list []reverie.Batch) error {
	if len(list) == 0 {
		return con.Say("no batches; `reverie evolve --due --batch` makes them\n")
	}
	return con.Page("batches", list)
}
