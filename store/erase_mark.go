package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reverie/store/pg"
	"slices"
	"strings"

	"github.com/lib/pq"
)

// A row that an erasure has changed is marked in erased_memories by a hash of its table
// and key, in the form of an id: what an older export has in its place is passed over.

// rowMark is the mark of a row whose key is those parts, in the order of its recordTable.
func rowMark(table string, key ...string) string {
	s := sha256.Sum256([]byte(table + "\n" + strings.Join(key, "/")))
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
}

// recordMark is the mark of the row that a record would be.
func recordMark(table recordTable, row map[string]any) string {
	key := make([]string, len(table.key))
	for i, name := range table.key {
		key[i] = fmt.Sprint(row[name])
		if n, ok := row[name].(json.Number); ok {
			key[i] = n.String()
		}
	}
	return rowMark(table.table, key...)
}

// exportedTable is the table if its rows are exported.
func exportedTable(name string) (recordTable, bool) {
	i := slices.IndexFunc(recordTables, func(r recordTable) bool { return r.table == name && r.beside == "" })
	if i < 0 {
		return recordTable{}, false
	}
	return recordTables[i], true
}

// changeRows runs an update of a table, x in it, and returns how many rows that changed,
// and, where they are exported, their marks.
func changeRows(ctx context.Context, t *pg.Tx, table, set string, args ...any) (int, pq.StringArray, error) {
	query := `update ` + table + ` x set ` + set
	exported, ok := exportedTable(table)
	if !ok {
		n, err := t.Exec(ctx, query, args...)
		return n, nil, err
	}
	var marks pq.StringArray
	if err := t.Select(ctx, &marks, query+` returning concat_ws('/', `+columnNames("x.", exported.key)+`)`, args...); err != nil {
		return 0, nil, err
	}
	for i, key := range marks {
		marks[i] = rowMark(table, key)
	}
	return len(marks), marks, nil
}

// mark notes that a row was changed whose key is the first of these texts.
func (e *eraser) mark(table textTable, row []string) {
	exported, ok := exportedTable(table.name)
	if !ok || e.shared != nil {
		return
	}
	key := make([]string, len(exported.key))
	for i, name := range exported.key {
		at := slices.IndexFunc(table.key, func(c textColumn) bool { return c.Column == name })
		if at < 0 {
			return
		}
		key[i] = row[at]
	}
	e.marks = append(e.marks, rowMark(table.name, key...))
}
