package pg

import (
	"context"
	"database/sql"
)

// QueryRow reads one row with one prepared statement, in its own snapshot and in one round trip.
func (d *DB) QueryRow(ctx context.Context, what string, dest any, query string, args ...any) error {
	return d.query(ctx, what, false, func(ctx context.Context, q Querier) error {
		return ReadRow(ctx, q, dest, query, args...)
	})
}

// QueryAll is [DB.QueryRow] for all rows.
func QueryAll[T any](ctx context.Context, d *DB, what, query string, args ...any) (rows []T, err error) {
	err = d.query(ctx, what, false, func(ctx context.Context, q Querier) error {
		return readRows(ctx, q, &rows, query, args...)
	})
	return rows, err
}

// QueryByKey is [QueryAll] for a statement that finds rows by index: see [Work].
func QueryByKey[T any](ctx context.Context, d *DB, what, query string, args ...any) (rows []T, err error) {
	err = d.query(ctx, what, true, func(ctx context.Context, q Querier) error {
		return readRows(ctx, q, &rows, query, args...)
	})
	return rows, err
}

// QueryRows is [DB.QueryRow] for a callback that scans and closes the rows itself.
func (d *DB) QueryRows(ctx context.Context, what string, read func(*sql.Rows) error, query string, args ...any) error {
	return d.query(ctx, what, false, func(ctx context.Context, q Querier) error {
		rows, err := q.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		return read(rows)
	})
}

// Exec runs one statement that is safe to repeat, in its own transaction.
func (d *DB) Exec(ctx context.Context, what, query string, args ...any) error {
	return d.Run(ctx, Work{What: what, Prepare: true, Do: func(ctx context.Context, t *Tx) error {
		return t.Exec(ctx, query, args...)
	}})
}

// query reads with one statement, with retries, and with settings that end with it.
func (d *DB) query(ctx context.Context, what string, byKey bool, read func(context.Context, Querier) error) error {
	confined, err := d.Confine(ctx, false)
	if err != nil {
		return err
	}
	settings := append(d.opts.bounds(d.opts.LockTimeout, byKey), confined...)
	err = d.readAlone(context.WithValue(preparing(ctx), singleReadKey{},
		append(settings, "transaction_read_only", "on")), read)
	if ctx.Err() == nil && d.needsWhole(err) {
		return d.whole.query(ctx, what, byKey, read)
	}
	return d.translate(ctx, err, what)
}

func (d *DB) readAlone(ctx context.Context, read func(context.Context, Querier) error) error {
	err := d.acquireConn(ctx)
	if err != nil {
		return err
	}
	defer d.releaseConn()
	for range MaxTries {
		err = read(ctx, d.db)
		if err == nil || ctx.Err() != nil || !canRepeat(err) {
			break
		}
	}
	return err
}
