package erase

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// erasePage is how many rows are read at once.
const erasePage = 1000

// shortColumns are those that hold no more than so many characters.
var shortColumns = map[string]int{"memories.statement": 500, "entities.subject": reverie.MaxNameLength,
	"entity_names.name":  reverie.MaxNameLength,
	"entity_claims.name": reverie.MaxNameLength, "entity_claims.value": reverie.MaxValueLength}

// redactAll takes the author out of the words of others, in all tables.
func (e *eraser) redactAll(ctx context.Context) error {
	if err := e.dropAliases(ctx); err != nil {
		return err
	}
	return e.redactTables(ctx)
}

func (e *eraser) redactTables(ctx context.Context) error {
	tables, err := textTables(ctx, e.t)
	if err != nil {
		return err
	}
	for _, table := range tables {
		of := table.of(words)
		if len(of.text) == 0 {
			continue
		}
		changed, err := e.redactTable(ctx, of)
		if err == nil {
			err = e.rehash(ctx, of.name, changed)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", of.name, err)
		}
	}
	return nil
}

// redactTable goes over the group's rows of a table, and returns the keys of those that
// it changed, the first column of each.
func (e *eraser) redactTable(ctx context.Context, table textTable) (pq.StringArray, error) {
	var keys pq.StringArray
	return keys, e.rows(ctx, table, func(page [][]string) error {
		columns := make([]pq.StringArray, len(table.key)+len(table.text))
		for _, row := range page {
			touched := false
			for i := range table.text {
				at := len(table.key) + i
				text, changed := e.redact(table.text[i], row[at])
				row[at], touched = text, touched || changed
			}
			if !touched {
				continue
			}
			for i, v := range row {
				columns[i] = append(columns[i], v)
			}
			if len(table.key) > 0 {
				keys = append(keys, row[0])
			}
			e.mark(table, row)
		}
		if len(columns[len(table.key)]) == 0 {
			return nil
		}
		args := []any{e.group}
		for _, c := range columns {
			args = append(args, c)
		}
		n, err := e.t.Exec(ctx, table.updateQuery(), args...)
		e.counts.Changed[table.name] += n
		return err
	})
}

// rows hands over the group's rows of a table, page by page behind a cursor: their keys,
// then their texts. A null is "". Of a team they are those of the group's memories there.
func (e *eraser) rows(ctx context.Context, table textTable, take func(page [][]string) error) error {
	where, args := "group_id = $1", []any{e.group}
	if e.shared != nil {
		if teamRows[table.name] == "" {
			return nil
		}
		where, args = where+" and "+teamRows[table.name], append(args, e.shared)
	}
	var columns []string
	for _, k := range table.key {
		columns = append(columns, "coalesce(t."+k.Column+"::text, '')")
	}
	for _, c := range table.text {
		columns = append(columns, "coalesce("+c.read()+", '')")
	}
	if _, err := e.t.Exec(ctx, `declare erased no scroll cursor for
		select array[`+strings.Join(columns, ", ")+`] as texts from `+table.name+
		` t where `+where, args...); err != nil {
		return err
	}
	for {
		var list []pq.StringArray
		if err := e.t.Select(ctx, &list, fmt.Sprintf("fetch %d from erased", erasePage)); err != nil {
			return err
		}
		page := make([][]string, len(list))
		for i, r := range list {
			page[i] = r
		}
		if err := take(page); err != nil {
			return err
		}
		if len(list) < erasePage {
			_, err := e.t.Exec(ctx, `close erased`)
			return err
		}
	}
}

// updateQuery writes the texts of rows that are found by their keys.
func (t textTable) updateQuery() string {
	var from, as, set []string
	where := []string{"t.group_id = $1"}
	for i, k := range t.key {
		from, as = append(from, fmt.Sprintf("$%d::text[]", i+2)), append(as, fmt.Sprintf("k%d", i))
		where = append(where, fmt.Sprintf("t.%s = u.k%d::%s", k.Column, i, k.Type))
	}
	for i, c := range t.text {
		from, as = append(from, fmt.Sprintf("$%d::text[]", len(t.key)+i+2)), append(as, fmt.Sprintf("c%d", i))
		set = append(set, fmt.Sprintf("%s = case when t.%[1]s is not null then %s end", c.Column,
			c.write(fmt.Sprintf("u.c%d", i))))
	}
	return `update ` + t.name + ` t set ` + strings.Join(set, ", ") + `
		from unnest(` + strings.Join(from, ", ") + `) as u (` + strings.Join(as, ", ") + `)
		where ` + strings.Join(where, " and ")
}

// redact takes the author out of a column's text.
func (e *eraser) redact(c textColumn, s string) (string, bool) {
	if s == "" {
		return s, false
	}
	if !c.isJSON() && !modelAnswers[c.name()] {
		text, changed := e.traces.Redact(s)
		if most := shortColumns[c.name()]; changed && most > 0 && utf8.RuneCountInString(text) > most {
			text = string([]rune(text)[:most])
		}
		return text, changed
	}
	w := e.redactor(c)
	var b strings.Builder
	for _, piece := range documents(s) {
		doc, err := readJSON(piece)
		switch {
		case err == nil:
			before := w.changed
			w.changed = false
			doc = w.of(c.Column, doc)
			if w.changed {
				piece = writeJSON(doc) + piece[len(strings.TrimRight(piece, "\n")):]
			}
			w.changed = w.changed || before
		case c.isJSON(): // PostgreSQL has read it: this cannot be
			return text.Erased, true
		default:
			piece = w.word(piece)
		}
		b.WriteString(piece)
	}
	return b.String(), w.changed
}
