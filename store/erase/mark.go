package erase

import (
	"slices"

	"reverie/store"
)

// mark notes that a row was changed whose key is the first of these texts.
func (e *eraser) mark(table textTable, row []string) {
	columns, ok := store.ExportedKeys[table.name]
	if !ok || e.shared != nil {
		return
	}
	key := make([]string, len(columns))
	for i, name := range columns {
		at := slices.IndexFunc(table.key, func(c textColumn) bool { return c.Column == name })
		if at < 0 {
			return
		}
		key[i] = row[at]
	}
	e.marks = append(e.marks, store.RowMark(table.name, key...))
}
