package erase

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// copiesQuery counts the schemas of replays and evaluations, in which nothing is erased.
const copiesQuery = `select count(*) from pg_namespace where starts_with(nspname, '` + store.ScratchPrefix + `')
	and nspname <> current_schema()`

// search reads every column that can hold text again, and counts what is left of the author.
func (e *eraser) search(ctx context.Context) error {
	tables, err := textTables(ctx, e.t)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if err := e.checkTable(ctx, table.of(words, names, authors, messages), e.left); err != nil {
			return fmt.Errorf("%s: %w", table.name, err)
		}
	}
	return nil
}

// verdict is an error that says where something is left of the author, and never what.
// What may stay is told in the receipt, which it completes.
func (e *eraser) verdict(ctx context.Context) error {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(e.left)) {
		if column, id := strings.CutPrefix(name, "id "); id {
			e.leave(column, e.left[name], "an id that other things are referred to by is the author's id or a name, or has it in it")
			continue
		}
		found = append(found, fmt.Sprintf("%s (%d)", name, e.left[name]))
	}
	if len(found) > 0 {
		return fmt.Errorf("the final check has found something of the author in %s, so that nothing is erased; please report this: %w",
			strings.Join(found, ", "), reverie.ErrConflict)
	}
	if e.counts.Nothing() {
		_, err := e.t.Exec(ctx, `delete from erasures where group_id = $1 and erasure_id = $2`, e.group, e.id)
		return err
	}
	var copies int
	if err := e.t.Get(ctx, &copies, copiesQuery); err != nil {
		return err
	}
	e.leave("schemas", copies, "replays and evaluations work in them, or were to keep them, and they may hold copies: drop "+store.ScratchPrefix+"...")
	text, err := pg.JSONText(e.counts)
	if err != nil {
		return err
	}
	_, err = e.t.Exec(ctx, `update erasures set counts = $3::jsonb where group_id = $1
		and erasure_id = $2`, e.group, e.id, text)
	return err
}

// checkTable counts by column the values that hold something.
func (e *eraser) checkTable(ctx context.Context, table textTable, left map[string]int) error {
	if len(table.text) == 0 {
		return nil
	}
	return e.rows(ctx, table, func(page [][]string) error {
		for _, row := range page {
			for i, c := range table.text {
				text := row[len(table.key)+i]
				if text == "" {
					continue
				}
				e.counts.Searched++
				switch what, way := e.holds(c, text), Columns[c.name()]; {
				case what == "":
				case way == words:
					left[c.name()+": "+what]++
				case what == ofMessage || what == ofAuthorID:
					left[c.name()+": "+what]++
				default:
					left["id "+c.name()]++
				}
			}
		}
		return nil
	})
}

// What else than a trace a value may be.
const (
	ofMessage  = "an id"
	ofAuthorID = "the author's id"
)

// holds says what of the author a value holds, "" for nothing.
func (e *eraser) holds(c textColumn, text string) string {
	way := Columns[c.name()]
	switch {
	case c.isJSON() || modelAnswers[c.name()]:
		return e.holdsJSON(c, text)
	case way == messages && e.theirs[text]:
		return ofMessage
	case way == authors && text == e.query.AuthorID:
		return ofAuthorID
	case way == words:
		return e.traces.Find(text)
	}
	return e.traces.FindName(text)
}

// holdsJSON goes over documents as the redaction does, and so leaves what that leaves.
func (e *eraser) holdsJSON(c textColumn, text string) (found string) {
	note := func(what string) {
		if found == "" {
			found = what
		}
	}
	w := &jsonErasure{e: e, foreign: foreignKeys(c)}
	w.word = func(s string) string { note(e.traces.Find(s)); return s }
	w.id = func(s string) string { note(ofMessage); return s }
	w.drop = func() bool { note(ofMessage); return false }
	for _, piece := range documents(text) {
		if doc, err := readJSON(piece); err == nil {
			w.of(c.Column, doc)
		} else {
			w.word(piece)
		}
	}
	return found
}
