package store

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// look reads one row by one prepared statement, in one round trip where a transaction
// takes three. It is for look-ups that stand before everything else, by an index. The
// time limits are those of ctx and of the connection.
func (s *Store) look(ctx context.Context, what string, dest any, query string, args ...any) error {
	var err error
	for range maxTries {
		if err = s.lookOnce(ctx, dest, query, args...); err == nil || ctx.Err() != nil || !repeatable(err) {
			break
		}
	}
	return translate(ctx, err, what)
}

func (s *Store) lookOnce(ctx context.Context, dest any, query string, args ...any) error {
	prepared, err := s.prepare(ctx, []string{query})
	if err != nil {
		return err
	}
	if st := prepared[query]; st != nil {
		return st.GetContext(ctx, dest, args...)
	}
	return sqlx.GetContext(ctx, s.db, dest, query, args...)
}
