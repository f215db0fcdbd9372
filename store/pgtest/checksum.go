package pgtest

import (
	"database/sql"
	"testing"

	"github.com/lib/pq"
)

// Checksums hashes every table of a schema, by its name: rows in any order, each with
// all its columns. What it says of two instants is the same exactly where no row differs.
func Checksums(t testing.TB, db *sql.DB, schema string) map[string]string {
	t.Helper()
	rows, err := db.Query(`select tablename from pg_tables where schemaname = $1`, schema)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(tables) == 0 {
		t.Fatalf("schema %q has no tables", schema)
	}
	sums := make(map[string]string, len(tables))
	for _, name := range tables {
		var sum string
		if err := db.QueryRow(`select count(*) || ' ' || coalesce(md5(string_agg(h, '' order by h)), '')
			from (select md5(x::text) as h from ` + pq.QuoteIdentifier(schema) + `.` + pq.QuoteIdentifier(name) + ` x)
				rows`).Scan(&sum); err != nil {
			t.Fatal(err)
		}
		sums[name] = sum
	}
	return sums
}
