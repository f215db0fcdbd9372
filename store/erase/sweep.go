package erase

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// notOurs are those of the tables $1 that belong to somebody else: the server passes over
// them, and says so in a notice alone.
const notOurs = `select coalesce(string_agg(relname, ', ' order by relname), '') from pg_class
	where relnamespace = current_schema()::regnamespace and relname = any ($1) and not pg_has_role(relowner, 'usage')`

// sweepTimeout is how long the server may say nothing while it goes through one table.
const sweepTimeout = 24 * time.Hour

// Sweep has the server drop, from all tables with groups in them, the rows that were
// deleted or replaced, and learn anew what is in the columns: what it had learnt, values
// that occur often among it, it keeps in its catalogue. What is left of such a row in the
// files is written over as they are used. Whole also writes each table and its indexes
// into new files, under a lock that keeps everybody else from the table for that time.
// It needs the tables' owner: else the error is reverie.ErrConfiguration.
func (s *Eraser) Sweep(ctx context.Context, whole bool) error {
	var tables []string
	err := s.db.Run(ctx, pg.Work{What: "drop from the files what was erased", ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			tables = nil
			list, err := textTables(ctx, t)
			for _, table := range list {
				tables = append(tables, table.name)
			}
			if err != nil {
				return err
			}
			var others string
			if err := t.Get(ctx, &others, notOurs, pq.StringArray(tables)); err != nil {
				return err
			}
			if others != "" {
				return fmt.Errorf("only their owner may vacuum %s; have them vacuumed by that user: %w", others,
					reverie.ErrConfiguration)
			}
			return nil
		}})
	if err != nil {
		return err
	}
	how := "analyze"
	if whole {
		how = "full, analyze"
	}
	opts := s.db.Options()
	opts.MaxConns, opts.ReadTimeout = 1, sweepTimeout
	db, err := pg.Connect(opts)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is open in it
	for _, table := range tables {
		if _, err := db.ExecContext(ctx, `vacuum (`+how+`) `+table); err != nil {
			return pg.Translate(ctx, err, fmt.Sprintf("vacuum %s", table))
		}
	}
	return nil
}
