package pg

import (
	"database/sql/driver"
	"testing"
	"time"
)

// TestColumns: each value comes out as PostgreSQL reads it, whatever its type.
func TestColumns(t *testing.T) {
	type action string
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))
	id, n := "a", 7
	var c Columns
	c.Add("x", action("keep"), 1, 0.1, true, at, &id, &n, &at, JSON[any]{[]int{1}})
	c.Add(`q" \`, action(""), -2, 1e-300, false, time.Time{}, (*string)(nil), (*int)(nil), nil, JSON[any]{nil})
	want := []string{`{"x","q\" \\"}`, `{"keep",""}`, `{"1","-2"}`, `{"0.1","1e-300"}`, `{"true","false"}`,
		`{"2026-01-02T02:04:05.000006Z","0001-01-01T00:00:00Z"}`, `{"a",NULL}`, `{"7",NULL}`,
		`{"2026-01-02T02:04:05.000006Z",NULL}`, `{"[1]","null"}`}
	args, err := c.Args("first")
	if err != nil || c.Len() != 2 || len(args) != len(want)+1 || args[0] != "first" {
		t.Fatalf("%d rows, %d arguments, %v", c.Len(), len(args), err)
	}
	for i, w := range want {
		if got, err := args[i+1].(driver.Valuer).Value(); err != nil || got != w {
			t.Errorf("column %d: %v, %v; want %s", i, got, err, w)
		}
	}
}

// TestColumnsNone: without rows nothing is asked of the database, and what is no value is said.
func TestColumnsNone(t *testing.T) {
	var c Columns
	if n, err := c.ExecRows(t.Context(), nil, "select $1"); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	c.Add([]string{"a"})
	if err := c.Exec(t.Context(), nil, "select $1"); err == nil {
		t.Error("a list was taken for an element")
	}
}
