package erase

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/lib/pq"

	"reverie/internal/text"
	"reverie/store"
	"reverie/store/events"
	"reverie/store/pg"
)

//go:embed erase.toml
var scriptFile string

// script is erase.toml, which explains its parts.
var script = func() scriptParts {
	file := text.ReadTOML[scriptParts](scriptFile)
	file.Parts["message_hash"] = strings.ReplaceAll(store.ErasedMessageHash, "$1", "{group}")
	of := strings.NewReplacer("$1", "{group}", "$2::text[]", "{sessions}", "$3::timestamptz", "{at}")
	file.Parts["recount_sessions"] = of.Replace(store.RecountSessions)
	file.Parts["recount_summaries"] = of.Replace(store.RecountSummaries)
	file.Parts["memory_columns"] = store.MemoryColumns
	file.Parts["tell_ended"] = strings.ReplaceAll(events.OfRuns, "$1", "{group}")
	file.Parts["tell_erased"] = strings.ReplaceAll(events.OfErased, "$1", "{group}")
	return file
}()

type scriptParts struct {
	Columns                    map[treatment]string
	JSON, Parts, Queries, Team map[string]string
	Phases                     map[string][]step
}

// step is one statement of a phase.
type step struct {
	Delete  string // delete the rows of this table for which sql is true
	Change  string // update rows of this table; sql follows "set", and the rows are marked
	Deleted string // sql deletes rows of this table
	Changed string // sql changes rows of this table
	Find    string // sql returns ids, which become the value of this name
	Counts  string // the ids of Find are counted as changed rows of this table
	SQL     string
}

// values are what replaces the names in a text of the script, by name.
type values map[string]any

// types are the SQL types of values that are no lists of uuids.
var types = map[string]string{"group": "text", "home": "text", "author": "text", "scratch": "text", "summary": "text",
	"erased": "text", "erased_hash": "text", "erased_key": "text", "hash": "text", "words": "text", "kind": "text", "status": "text",
	"name_key": "text", "messages": "text[]", "texts": "text[]", "mute": "text[]", "folded": "text[]", "quotes": "text[]", "claim_quotes": "text[]", "sessions": "text[]", "again": "text[]", "name_keys": "text[]",
	"planned": "text[]", "linked_groups": "text[]", "changed_ids": "text[]", "at": "timestamptz", "erasure": "uuid", "zero": "uuid", "id": "uuid"}

var scriptName = text.NewPattern(`\{([a-z_]+)\}`)

// bind makes a statement and its arguments of a text of the script.
func (v values) bind(sql string) (query string, args []any) {
	var places []string
	fill := func(name string) string {
		name = strings.Trim(name, "{}")
		if part, ok := script.Parts[name]; ok {
			return part
		}
		at := slices.Index(places, name)
		if at < 0 {
			value, ok := v[name]
			if !ok {
				panic("the script of an erasure names " + name + " before it is known")
			}
			if list, ok := value.(pq.StringArray); ok {
				value = store.OrEmpty(list)
			}
			places, args = append(places, name), append(args, value)
			at = len(places) - 1
		}
		kind, ok := types[name]
		if !ok {
			kind = "uuid[]"
		}
		return fmt.Sprintf("$%d::%s", at+1, kind)
	}
	for scriptName.MatchString(sql) { // parts may contain parts
		sql = scriptName.ReplaceAllStringFunc(sql, fill)
	}
	return sql, args
}

// ask reads the rows of a query of the script.
func ask[T any](ctx context.Context, t *pg.Tx, query string, v values) ([]T, error) {
	sql, args := v.bind(script.Queries[query])
	rows, err := pg.Select[T](ctx, t, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.ReplaceAll(query, "_", " "), err)
	}
	return rows, nil
}

// do runs a phase of the script.
func (e *eraser) do(ctx context.Context, phase string) error {
	for _, s := range script.Phases[phase] {
		if err := e.step(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", phase, err)
		}
	}
	return nil
}

func (e *eraser) step(ctx context.Context, s step) error {
	sql := s.SQL
	if s.Delete != "" {
		s.Deleted, sql = s.Delete, "delete from "+s.Delete+" x where group_id = {group} and "+sql
	}
	query, args := e.values.bind(sql)
	switch {
	case s.Find != "":
		var ids pq.StringArray
		err := e.t.Select(ctx, &ids, query, args...)
		e.values[s.Find] = ids
		count(e.counts.Changed, s.Counts, len(ids))
		return err
	case s.Change != "":
		return e.changed(ctx, s.Change, query, args...)
	}
	n, err := e.t.ExecRows(ctx, query, args...)
	count(e.counts.Deleted, s.Deleted, n)
	count(e.counts.Changed, s.Changed, n)
	return err
}

// deleted deletes rows of a table by id, and counts them.
func (e *eraser) deleted(ctx context.Context, table, key string, ids pq.StringArray) error {
	n, err := e.t.ExecRows(ctx, `delete from `+table+` where group_id = $1 and `+key+` = any ($2::uuid[])`, e.group(),
		store.OrEmpty(ids))
	count(e.counts.Deleted, table, n)
	return err
}

// changed runs an update of table x, and counts and marks the changed rows.
func (e *eraser) changed(ctx context.Context, table, set string, args ...any) error {
	n, marks, err := store.ChangeMarkedRows(ctx, e.t, table, set, args...)
	count(e.counts.Changed, table, n)
	e.marks = append(e.marks, marks...)
	return err
}

func count(by map[string]int, table string, n int) {
	if table != "" && n > 0 {
		by[table] += n
	}
}
