package pgtest

import (
	"context"
	"database/sql"
	"strings"
	"testing"
)

// Rows is a query's result, the columns of a row joined by a bar; NULL is empty. It
// is read also when the test's context is over.
func Rows(t testing.TB, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for rows.Next() {
		cells, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, c := range cells {
			parts = append(parts, c.String)
		}
		list = append(list, strings.Join(parts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
