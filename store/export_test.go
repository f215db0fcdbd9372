package store

import (
	"context"
	"database/sql/driver"
	"maps"
	"net"
	"slices"
)

// WithDial makes a store connect through another network.
func WithDial(o Options, dial func(ctx context.Context, network, address string) (net.Conn, error)) Options {
	o.dial = dial
	return o
}

// Setting asks for a session's setting, outside of any transaction.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.db.GetContext(ctx, &value, `select current_setting($1)`, name)
	return value, err
}

// WaitingPageQuery is the statement behind a page of due groups of a job.
func WaitingPageQuery() string { return waitingPageQuery }

// DueSessionPage is the statement behind a page of groups with sessions that are
// due, and the arguments that its rule makes.
func DueSessionPage(q SessionQueue) (query string, args []any) {
	return dueSessionPageQuery, q.limits()
}

// DreamQueries are the statements that a scheduler asks of every group, and that a
// dream begins with, and how they take what they are asked.
func DreamQueries() []string {
	const args = ` (text, timestamptz, timestamptz, text, uuid[]`
	return []string{args + `) as ` + dreamSignsQuery, args + `, text) as ` + materialQuery, args + `, text[]) as ` + coveredQuery}
}

// ErasedColumns are the columns that an erasure knows.
func ErasedColumns() []string { return slices.Sorted(maps.Keys(erasedColumns)) }

// KeepOpen opens n connections, and leaves them to the pool.
func (s *Store) KeepOpen(ctx context.Context, n int) error {
	for range n {
		c, err := s.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }() // at the end: the pool has it back
	}
	return nil
}

// Isolation is the level of the transactions that say none.
func (s *Store) Isolation(ctx context.Context) (level string, err error) {
	err = s.run(ctx, work{what: "look at the isolation", do: func(ctx context.Context, t *tx) error {
		return t.get(ctx, &level, `show transaction_isolation`)
	}})
	return level, err
}

// VectorArray is a vector[] as the store sends it, for bare SQL beside it.
func VectorArray(oid uint32, vectors [][]float32) driver.Valuer { return vectorArray{oid, vectors} }
