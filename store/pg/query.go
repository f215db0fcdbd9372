package pg

import (
	"context"
	"database/sql"
)

// QueryRow reads one row by one prepared statement with a snapshot of its own, in one round trip.
// Behind TLS it has the time limits of ctx and of the connection alone, and under a role that
// confines it, which is a transaction's, three round trips.
func (d *DB) QueryRow(ctx context.Context, what string, dest any, query string, args ...any) error {
	return d.query(ctx, what, func(ctx context.Context, q Querier) error { return ReadRow(ctx, q, dest, query, args...) })
}

// QueryAll is [DB.QueryRow] for all rows.
func QueryAll[T any](ctx context.Context, d *DB, what, query string, args ...any) (rows []T, err error) {
	err = d.query(ctx, what, func(ctx context.Context, q Querier) error { return readRows(ctx, q, &rows, query, args...) })
	return rows, err
}

// QueryByKey is [QueryAll] by a statement that looks rows up by index: see [Work].
func QueryByKey[T any](ctx context.Context, d *DB, what, query string, args ...any) (rows []T, err error) {
	err = d.querySet(ctx, what, d.opts.bounds(d.opts.LockTimeout, true), func(ctx context.Context, q Querier) error {
		return readRows(ctx, q, &rows, query, args...)
	})
	return rows, err
}

// QueryRows is [DB.QueryRow] for rows that read scans itself, and closes.
func (d *DB) QueryRows(ctx context.Context, what string, read func(*sql.Rows) error, query string, args ...any) error {
	return d.query(ctx, what, func(ctx context.Context, q Querier) error {
		rows, err := q.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		return read(rows)
	})
}

// Exec writes by one statement that is safe to repeat, in a transaction of its own.
func (d *DB) Exec(ctx context.Context, what, query string, args ...any) error {
	return d.Run(ctx, Work{What: what, Prepare: true, Do: func(ctx context.Context, t *Tx) error {
		return t.Exec(ctx, query, args...)
	}})
}

// query reads by a statement until it is read or cannot be.
func (d *DB) query(ctx context.Context, what string, read func(context.Context, Querier) error) error {
	return d.querySet(ctx, what, nil, read)
}

// querySet is query with settings, if any.
func (d *DB) querySet(ctx context.Context, what string, settings Settings, read func(context.Context, Querier) error) error {
	confined, err := d.Confine(ctx)
	if err != nil {
		return err
	}
	if len(settings) == 0 && (d.plain || len(confined) > 0) {
		settings = d.opts.bounds(d.opts.LockTimeout, false)
	}
	settings = append(settings, confined...)
	if err := d.acquireConn(ctx); err != nil {
		return d.translate(ctx, err, what)
	}
	defer d.releaseConn()
	for range MaxTries {
		err = d.queryOnce(preparing(ctx), settings, read)
		if err == nil || ctx.Err() != nil || !canRepeat(err) {
			break
		}
	}
	return d.translate(ctx, err, what)
}

// queryOnce reads by itself, or with settings in a transaction that ends with the statement.
func (d *DB) queryOnce(ctx context.Context, settings Settings, read func(context.Context, Querier) error) error {
	if len(settings) == 0 {
		return read(ctx, d.db)
	}
	if d.plain {
		return read(context.WithValue(ctx, loneKey{}, append(settings, "transaction_read_only", "on")), d.db)
	}
	t, err := d.db.BeginTx(withSettings(ctx, settings), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }() // after a commit this is a no-op
	if err := read(ctx, t); err != nil {
		return err
	}
	return t.Commit()
}
