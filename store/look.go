package store

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"
)

// look reads one row by one prepared statement, in one round trip where a transaction
// takes three. It is for what stands before everything else, or is asked very often: by
// an index, and a snapshot of its own. The time limits are those of ctx and of the
// connection. Under [AsReader] it is a transaction all the same, since a role is one's.
func (s *Store) look(ctx context.Context, what string, dest any, query string, args ...any) error {
	return s.looking(ctx, what, query, func(l looker) error {
		if l.st == nil {
			return sqlx.GetContext(ctx, l.db, dest, query, args...)
		}
		return l.st.GetContext(ctx, dest, args...)
	})
}

// lookAll is look for all rows.
func lookAll[T any](ctx context.Context, s *Store, what, query string, args ...any) (rows []T, err error) {
	err = s.looking(ctx, what, query, func(l looker) error {
		rows = nil
		if l.st == nil {
			return sqlx.SelectContext(ctx, l.db, &rows, query, args...)
		}
		return l.st.SelectContext(ctx, &rows, args...)
	})
	return rows, err
}

// lookRows is look for rows that read scans itself, and closes.
func (s *Store) lookRows(ctx context.Context, what string, read func(*sql.Rows) error, query string, args ...any) error {
	return s.looking(ctx, what, query, func(l looker) error {
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

// looker is what one look reads by: a statement, which is nil where nothing is prepared,
// or else the pool or transaction.
type looker struct {
	st *sqlx.Stmt
	db sqlx.QueryerContext
}

// looking reads by a statement until it is read or cannot be.
func (s *Store) looking(ctx context.Context, what, query string, read func(looker) error) error {
	confined, err := s.confinement(ctx)
	if err != nil {
		return err
	}
	if err := s.turn(ctx); err != nil {
		return translate(ctx, err, what)
	}
	defer s.done()
	for range maxTries {
		var prepared map[string]*sqlx.Stmt
		if prepared, err = s.prepare(ctx, []string{query}); err == nil {
			err = s.lookOnce(ctx, confined, looker{st: prepared[query], db: s.db}, read)
		}
		if err == nil || ctx.Err() != nil || !repeatable(err) {
			break
		}
	}
	return translate(ctx, err, what)
}

// lookOnce reads by itself, or confined in a transaction.
func (s *Store) lookOnce(ctx context.Context, confined string, l looker, read func(looker) error) error {
	if confined == "" {
		return read(l)
	}
	t, err := s.db.BeginTxx(withSettings(ctx, s.opts.bounds(s.opts.LockTimeout, false)+confined), &sql.TxOptions{ReadOnly: true})
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
