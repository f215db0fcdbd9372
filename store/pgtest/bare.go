package pgtest

import (
	"database/sql"
	"net/url"
	"testing"
)

// bareConns is as many connections as the store has by default.
const bareConns = 8

// Bare is the test's database through the driver alone, for what benchmarks do in plain
// SQL beside the store: with as many connections, parameters in binary, and the planner's
// settings of the store's transactions. Left to itself PostgreSQL would plan statements that
// unnest short lists anew each time, which takes longer than to run them, and read whole
// tables as long as they are small.
func Bare(b testing.TB) *sql.DB {
	b.Helper()
	u, err := url.Parse(URL(b))
	if err != nil {
		b.Fatal(err)
	}
	q := u.Query()
	q.Set("binary_parameters", "yes")
	q.Set("plan_cache_mode", "force_generic_plan")
	q.Set("enable_seqscan", "off")
	q.Set("jit", "off")
	u.RawQuery = q.Encode()
	db, err := sql.Open("postgres", u.String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(bareConns)
	db.SetMaxIdleConns(bareConns)
	return db
}

// Prepare prepares a statement until the test ends.
func Prepare(b testing.TB, db *sql.DB, query string) *sql.Stmt {
	b.Helper()
	st, err := db.Prepare(query)
	if err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	b.Cleanup(func() { _ = st.Close() })
	return st
}

// Read runs a prepared statement and scans all of its rows into the fields of a value of
// its own each.
func Read[T any](b testing.TB, st *sql.Stmt, fields func(*T) []any, args ...any) (list []T) {
	b.Helper()
	rows, err := st.Query(args...)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var v T
		if err := rows.Scan(fields(&v)...); err != nil {
			b.Fatal(err)
		}
		list = append(list, v)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return list
}
