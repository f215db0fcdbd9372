package erase

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// treatment is how a kind of column is erased: see erase.toml.
type treatment string

const (
	words    treatment = "words" // also of unknown columns
	names    treatment = "names"
	authors  treatment = "authors"
	messages treatment = "messages"
)

// Columns are all columns that can hold text, with their treatment. A test compares them with the schema.
var Columns = func() map[string]treatment {
	all := map[string]treatment{}
	for way, list := range script.Columns {
		for _, name := range strings.Fields(list) {
			all[name] = way
		}
	}
	return all
}()

// textColumn is a column that can hold text, or a column of its table's primary key.
type textColumn struct {
	Table, Column, Type string
	Key, Text, List     bool
}

func (c textColumn) name() string { return c.Table + "." + c.Column }

func (c textColumn) treatment() treatment {
	if way, known := Columns[c.name()]; known {
		return way
	}
	return words
}

func (c textColumn) isJSON() bool { return c.List || strings.HasPrefix(c.Type, "json") }

// authorNames are the columns with the names of authors. The name in a row of another account is its own, and stays.
var authorNames = map[string]bool{"messages.author": true, "memory_evidence.author": true,
	"entity_evidence.author": true}

// read is an SQL expression for the column as text: a list or a document as JSON.
func (c textColumn) read() string {
	if authorNames[c.name()] {
		return "case when t.author_id = '' then t." + c.Column + " end"
	}
	if c.isJSON() {
		return "to_jsonb(t." + c.Column + ")::text"
	}
	return "t." + c.Column + "::text"
}

// write is an SQL expression that converts such text back to the column's type.
func (c textColumn) write(from string) string {
	switch {
	case c.List:
		return "array(select x from jsonb_array_elements_text(" + from + "::jsonb) with ordinality as l (x, no) order by no)"
	case c.isJSON():
		return from + "::" + c.Type
	case authorNames[c.name()]:
		return "case when x.author_id = '' then " + from + " else x." + c.Column + " end"
	}
	return from
}

// textTable is a table with its columns that can hold text.
type textTable struct {
	name string
	key  []textColumn // columns of the primary key, without group_id
	text []textColumn
}

// textTables reads the tables from the catalogue, so that columns added later are searched, too.
func textTables(ctx context.Context, t *pg.Tx) ([]textTable, error) {
	rows, err := ask[textColumn](ctx, t, "text_columns", nil)
	if err != nil {
		return nil, err
	}
	var list []textTable
	for _, r := range rows {
		if len(list) == 0 || list[len(list)-1].name != r.Table {
			list = append(list, textTable{name: r.Table})
		}
		of := &list[len(list)-1]
		if r.Key && r.Column != "group_id" {
			of.key = append(of.key, r)
		}
		if r.Text && (r.Column != "group_id" || r.Table == "groups") {
			of.text = append(of.text, r)
		}
	}
	return list, nil
}

// of returns the table with only the columns of these treatments.
func (t textTable) of(ways ...treatment) textTable {
	t.text = slices.DeleteFunc(slices.Clone(t.text), func(c textColumn) bool { return !slices.Contains(ways, c.treatment()) })
	return t
}

// pageRows is how many rows are read at once.
const pageRows = 500

// read calls take with the rows of a table, page by page. A row has its key first, then its texts; null is "".
func (t textTable) read(ctx context.Context, tx *pg.Tx, take func(page []pq.StringArray) error, where string,
	args ...any) error {
	if len(t.text) == 0 {
		return nil
	}
	var columns []string
	for _, k := range t.key {
		columns = append(columns, "coalesce(t."+k.Column+"::text, '')")
	}
	for _, c := range t.text {
		columns = append(columns, "coalesce("+c.read()+", '')")
	}
	return pg.Pages(ctx, tx, pageRows, take, `select array[`+strings.Join(columns, ", ")+`] from `+t.name+` t where `+where,
		args...)
}

// set is the end of an update of table x. It writes the texts of rows, which it finds by their keys.
func (t textTable) set() string {
	var from, as, set []string
	where := []string{"x.group_id = $1"}
	for i, k := range t.key {
		from, as = append(from, fmt.Sprintf("$%d::text[]", i+2)), append(as, fmt.Sprintf("k%d", i))
		where = append(where, fmt.Sprintf("x.%s = u.k%d::%s", k.Column, i, k.Type))
	}
	for i, c := range t.text {
		from, as = append(from, fmt.Sprintf("$%d::text[]", len(t.key)+i+2)), append(as, fmt.Sprintf("c%d", i))
		set = append(set, fmt.Sprintf("%s = case when x.%[1]s is not null then %s end", c.Column,
			c.write(fmt.Sprintf("u.c%d", i))))
	}
	return strings.Join(set, ", ") + ` from unnest(` + strings.Join(from, ", ") + `) as u (` + strings.Join(as, ", ") + `)
		where ` + strings.Join(where, " and ")
}

// Texts calls take with all texts of a group in the database, page by page in one snapshot. It reads every column that
// can hold text, including those added later. For a list or a JSON document, take gets each string by itself. Ids and
// words of Reverie's own are left out. An unknown group is reverie.ErrNotFound. An error of take ends the reading and
// is returned unchanged.
func (s *Eraser) Texts(ctx context.Context, groupID string, take func(reverie.StoredText) error) error {
	var refused error
	err := s.db.Stream(ctx, nil, func(ctx context.Context, t *pg.Tx) error {
		if _, err := store.GetGroup(ctx, t, groupID); err != nil {
			return err
		}
		tables, err := textTables(ctx, t)
		if err != nil {
			return err
		}
		for _, table := range tables {
			table = table.of(words)
			order := "t.group_id"
			for _, k := range table.key {
				order += ", t." + k.Column
			}
			err := table.read(ctx, t, func(page []pq.StringArray) error {
				for _, row := range page {
					for _, text := range table.texts(row) {
						if refused = take(text); refused != nil {
							return refused
						}
					}
				}
				return nil
			}, "t.group_id = $1 order by "+order, groupID)
			if err != nil {
				return fmt.Errorf("%s: %w", table.name, err)
			}
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	return pg.Translate(ctx, err, fmt.Sprintf("read the texts of group %q", groupID))
}

// texts returns the texts of one row.
func (t textTable) texts(row []string) (list []reverie.StoredText) {
	key := strings.Join(row[:len(t.key)], " ")
	for i, c := range t.text {
		value := row[len(t.key)+i]
		texts := []string{value}
		if doc, err := readJSON(value); err == nil && c.isJSON() {
			texts = stringsOf(nil, doc)
		}
		for _, text := range texts {
			if text != "" {
				list = append(list, reverie.StoredText{Table: t.name, Column: c.Column, Key: key, Text: text})
			}
		}
	}
	return list
}

// stringsOf appends the strings of a document, without the keys of objects.
func stringsOf(list []string, doc any) []string {
	switch v := doc.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, item := range v {
			list = stringsOf(list, item)
		}
	case map[string]any:
		for _, item := range v {
			list = stringsOf(list, item)
		}
	}
	return list
}

// notOurs returns those of the tables $1 that belong to another role. The server would only skip them with a notice.
const notOurs = `select coalesce(string_agg(relname, ', ' order by relname), '') from pg_class
	where relnamespace = current_schema()::regnamespace and relname = any ($1) and not pg_has_role(relowner, 'usage')`

// sweepTimeout is the longest time that the server may work on one table.
const sweepTimeout = 24 * time.Hour

// Sweep makes the server vacuum and analyze all tables of groups. Vacuum drops rows that were deleted or replaced.
// Analyze renews the statistics, which contain frequent values of columns. The remains of dropped rows in the files are
// overwritten as the space is reused. With whole, each table and its indexes are rewritten into new files, under a lock
// that blocks all other access to the table. Sweep must run as the owner of the tables, or it returns
// reverie.ErrConfiguration.
func (s *Eraser) Sweep(ctx context.Context, whole bool) error {
	const what = "drop from the files what was erased"
	tables, err := pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) (names pq.StringArray, err error) {
		list, err := textTables(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, table := range list {
			names = append(names, table.name)
		}
		others, err := pg.Get[string](ctx, t, notOurs, names)
		if err == nil && others != "" {
			err = fmt.Errorf("only their owner may vacuum %s; have them vacuumed by that user: %w", others,
				reverie.ErrConfiguration)
		}
		return names, err
	})
	if err != nil {
		return err
	}
	how := "analyze"
	if whole {
		how = "full, analyze"
	}
	opts := s.db.Options()
	opts.MaxConns, opts.ReadTimeout = 1, sweepTimeout
	db, err := pg.Connect(opts)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // no statement is running in it
	for _, table := range tables {
		if _, err := db.ExecContext(ctx, `vacuum (`+how+`) `+table); err != nil {
			return pg.Translate(ctx, err, fmt.Sprintf("vacuum %s", table))
		}
	}
	return nil
}
