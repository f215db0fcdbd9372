package store

import (
	"context"
	"fmt"
)

// Sweep has the server drop, from all tables with groups in them, the rows that were
// deleted or replaced, and learn anew what is in the columns: what it had learnt, values
// that occur often among it, it keeps in its catalogue. What is left of such a row in the
// files is written over as they are used. Whole also writes each table and its indexes
// into new files, under a lock that keeps everybody else from the table for that time.
// It needs the tables' owner.
func (s *Store) Sweep(ctx context.Context, whole bool) error {
	var tables []string
	err := s.run(ctx, work{what: "list the tables", readOnly: true, do: func(ctx context.Context, t *tx) error {
		tables = nil
		list, err := textTables(ctx, t)
		for _, table := range list {
			tables = append(tables, table.name)
		}
		return err
	}})
	if err != nil {
		return err
	}
	how := "analyze"
	if whole {
		how = "full, analyze"
	}
	for _, table := range tables {
		if _, err := s.db.ExecContext(ctx, `vacuum (`+how+`) `+table); err != nil {
			return translate(ctx, err, fmt.Sprintf("vacuum %s", table))
		}
	}
	return nil
}
