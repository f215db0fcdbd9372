package pg

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"
)

// QueryRow reads one row by one prepared statement, in one round trip where a transaction
// takes three. It is for what stands before everything else, or is asked very often: by
// an index, and a snapshot of its own. The time limits are those of ctx and of the
// connection. Under [AsReader] it is a transaction all the same, since a role is one's.
func (d *DB) QueryRow(ctx context.Context, what string, dest any, query string, args ...any) error {
	return d.query(ctx, what, query, func(l source) error {
		if l.st == nil {
			return sqlx.GetContext(ctx, l.db, dest, query, args...)
		}
		return l.st.GetContext(ctx, dest, args...)
	})
}

// QueryAll is look for all rows.
func QueryAll[T any](ctx context.Context, d *DB, what, query string, args ...any) (rows []T, err error) {
	err = d.query(ctx, what, query, func(l source) error {
		rows = nil
		if l.st == nil {
			return sqlx.SelectContext(ctx, l.db, &rows, query, args...)
		}
		return l.st.SelectContext(ctx, &rows, args...)
	})
	return rows, err
}

// QueryRows is look for rows that read scans itself, and closes.
func (d *DB) QueryRows(ctx context.Context, what string, read func(*sql.Rows) error, query string, args ...any) error {
	return d.query(ctx, what, query, func(l source) error {
		var rows *sql.Rows
		var err error
		if l.st == nil {
			rows, err = l.db.QueryContext(ctx, query, args...)
		} else {
			rows, err = l.st.QueryContext(ctx, args...)
		}
		if err != nil {
			return err
		}
		return read(rows)
	})
}

// source is what one look reads by: a statement, which is nil where nothing is prepared,
// or else the pool or transaction.
type source struct {
	st *sqlx.Stmt
	db sqlx.QueryerContext
}

// query reads by a statement until it is read or cannot be.
func (d *DB) query(ctx context.Context, what, query string, read func(source) error) error {
	confined, err := d.confinement(ctx)
	if err != nil {
		return err
	}
	if err := d.acquireConn(ctx); err != nil {
		return d.translate(ctx, err, what)
	}
	defer d.releaseConn()
	for range MaxTries {
		var prepared map[string]*sqlx.Stmt
		if prepared, err = d.prepare(ctx, []string{query}); err == nil {
			err = d.queryOnce(ctx, confined, source{st: prepared[query], db: d.db}, read)
		}
		if err == nil || ctx.Err() != nil || !canRepeat(err) {
			break
		}
	}
	return d.translate(ctx, err, what)
}

// queryOnce reads by itself, or confined in a transaction.
func (d *DB) queryOnce(ctx context.Context, confined string, l source, read func(source) error) error {
	if confined == "" {
		return read(l)
	}
	t, err := d.db.BeginTxx(withSettings(ctx, d.opts.bounds(d.opts.LockTimeout, false)+confined),
		&sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }() // after a commit this is a no-op
	l.db = t
	if l.st != nil {
		l.st = t.StmtxContext(ctx, l.st)
	}
	if err := read(l); err != nil {
		return err
	}
	return t.Commit()
}
