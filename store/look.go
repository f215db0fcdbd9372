package store

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// look reads one row by one prepared statement, in one round trip where a transaction
// takes three. It is for what stands before everything else, or is asked very often: by
// an index, and a snapshot of its own. The time limits are those of ctx and of the
// connection.
func (s *Store) look(ctx context.Context, what string, dest any, query string, args ...any) error {
	return s.looking(ctx, what, query, func(st *sqlx.Stmt) error {
		if st == nil {
			return sqlx.GetContext(ctx, s.db, dest, query, args...)
		}
		return st.GetContext(ctx, dest, args...)
	})
}

// lookAll is look for all rows.
func lookAll[T any](ctx context.Context, s *Store, what, query string, args ...any) (rows []T, err error) {
	err = s.looking(ctx, what, query, func(st *sqlx.Stmt) error {
		rows = nil
		if st == nil {
			return sqlx.SelectContext(ctx, s.db, &rows, query, args...)
		}
		return st.SelectContext(ctx, &rows, args...)
	})
	return rows, err
}

// looking reads by a statement, which is nil where nothing is prepared, until it is read
// or cannot be.
func (s *Store) looking(ctx context.Context, what, query string, read func(*sqlx.Stmt) error) error {
	if err := s.turn(ctx); err != nil {
		return translate(ctx, err, what)
	}
	defer s.done()
	var err error
	for range maxTries {
		var prepared map[string]*sqlx.Stmt
		if prepared, err = s.prepare(ctx, []string{query}); err == nil {
			err = read(prepared[query])
		}
		if err == nil || ctx.Err() != nil || !repeatable(err) {
			break
		}
	}
	return translate(ctx, err, what)
}
