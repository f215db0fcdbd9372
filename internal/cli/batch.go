package cli

import "reverie/internal/reverie"

// ShowBatches shows batches, as JSON or as a table.
func (con *Console) ShowBatches(list []reverie.Batch) error {
	return con.Show(map[string]any{"success": true, "batches": append([]reverie.Batch{}, list...)}, func() error {
		if len(list) == 0 {
			return con.Say("no batches; `reverie evolve --due --batch` makes them\n")
		}
		return con.Page("batches", list)
	})
}

// ShowBatch shows one batch, or says why not.
func (con *Console) ShowBatch(b reverie.Batch, err error) error {
	if err != nil {
		return err
	}
	return con.Show(b, func() error { return con.Page("batch", b) })
}
