// Package archive exports groups as records, and imports such records.
package archive

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// Archive reads and writes the records of groups.
type Archive struct{ db *pg.DB }

// New returns the archive of a database.
func New(db *pg.DB) *Archive { return &Archive{db} }

// RecordWriter receives an export in order: first the number of groups, then their records, group by group.
type RecordWriter interface {
	Begin(groups int) error
	Write(reverie.Record) error
}

const (
	// exportPage is how many rows are read at once. The ids of all groups are in memory.
	exportPage = 200

	exportGroupsQuery = `select group_id from groups where $1 = '' or group_id = $1 order by group_id`

	exportGroupQuery = `select row_to_json(g)::text from (
		select ` + store.GroupColumns + `, created_at, (
			select coalesce(json_agg(json_build_object('valid_until', p.valid_until, 'time_zone', p.time_zone, 'day_boundary',
				p.day_boundary)
				order by p.valid_until), '[]') from past_calendars p where p.group_id = $1) as past
		from groups where group_id = $1) g`
)

// Export writes all that is remembered, in one snapshot and in bounded memory. The groups come by id, and the records
// of each by type, in the order of reverie.RecordTypes. Two exports of the same state are equal. An unknown group is
// reverie.ErrNotFound. Errors of the writer are returned unchanged.
func (s *Archive) Export(ctx context.Context, q reverie.ExportQuery, to RecordWriter) error {
	what := "export all groups"
	if q.GroupID != "" {
		what = fmt.Sprintf("export group %q", q.GroupID)
	}
	var refused error
	err := s.db.Stream(ctx, pg.Settings{"timezone", "UTC", "extra_float_digits", "1"}, func(ctx context.Context,
		t *pg.Tx) error {
		e := exporter{t: t, query: q, to: to}
		err := e.all(ctx)
		refused = e.refused
		return err
	})
	if refused != nil {
		return refused
	}
	return pg.Translate(ctx, err, what)
}

// exporter is one export in progress.
type exporter struct {
	t       *pg.Tx
	query   reverie.ExportQuery
	to      RecordWriter
	refused error // the writer's error
}

func (e *exporter) all(ctx context.Context) error {
	groups, err := pg.Select[string](ctx, e.t, exportGroupsQuery, e.query.GroupID)
	if err != nil {
		return err
	}
	if len(groups) == 0 && e.query.GroupID != "" {
		return fmt.Errorf("group %q: %w", e.query.GroupID, reverie.ErrNotFound)
	}
	if e.refused = e.to.Begin(len(groups)); e.refused != nil {
		return e.refused
	}
	for _, id := range groups {
		if err := e.group(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) group(ctx context.Context, id string) error {
	var row string
	if err := e.t.Get(ctx, &row, exportGroupQuery, id); err != nil {
		return err
	}
	if err := e.write(reverie.Record{GroupID: id, Type: reverie.RecordGroup, Row: json.RawMessage(row)}); err != nil {
		return err
	}
	for _, table := range recordTables {
		if err := e.table(ctx, id, table); err != nil {
			return fmt.Errorf("%s: %w", table.Name, err)
		}
	}
	return nil
}

// exportedRow is a row as a record, with its vector.
type exportedRow struct {
	Record string
	Vector pg.Vector
}

// table exports a group's rows of a table.
func (e *exporter) table(ctx context.Context, id string, table recordTable) error {
	return pg.Pages(ctx, e.t, exportPage, func(page []exportedRow) error {
		for _, r := range page {
			if err := e.write(reverie.Record{GroupID: id, Type: table.Kind, Row: json.RawMessage(r.Record),
				Vector: r.Vector}); err != nil {
				return err
			}
		}
		return nil
	}, table.exportQuery(), id, !e.query.NoVectors)
}

func (e *exporter) write(r reverie.Record) error {
	e.refused = e.to.Write(r)
	return e.refused
}

//go:embed tables.toml
var tablesFile []byte

// recordTable is a table of tables.toml, which says how its rows become records, and records become rows.
type recordTable struct {
	Kind              reverie.RecordType
	Name, From, Order string
	Columns, Loose    nameList
	Counted           bool
	Reads             map[string]string
	Rules             []recordRule
}

// recordRule is an expression over the columns that must be true of every record.
type recordRule struct {
	Name string `db:"name"` // names the subject of the rule
	Expr string `db:"expr"`
}

// nameList is a list of names, separated by white space.
type nameList []string

func (l *nameList) UnmarshalText(text []byte) error {
	*l = strings.Fields(string(text))
	return nil
}

// recordTables are the tables of all record types except the group itself.
var recordTables, queries = func() ([]recordTable, map[string]string) {
	var file struct {
		Table   []recordTable
		Queries map[string]string
	}
	if err := toml.Unmarshal(tablesFile, &file); err != nil {
		panic(err) // the file is compiled in
	}
	return file.Table, file.Queries
}()

// key returns the primary key without group_id.
func (r recordTable) key() []string { return store.ExportedKeys[r.Name] }

// recordTableOf returns the table of a record type.
func recordTableOf(kind reverie.RecordType) (recordTable, error) {
	i := slices.IndexFunc(recordTables, func(r recordTable) bool { return r.Kind == kind })
	if i < 0 {
		return recordTable{}, fmt.Errorf("%q is not a type of record: %w", kind, reverie.ErrInvalid)
	}
	return recordTables[i], nil
}

// columnNames lists columns in SQL, each with a prefix.
func columnNames(prefix string, columns []string) string {
	return prefix + strings.Join(columns, ", "+prefix)
}

// source is the SQL source of the exported rows.
func (r recordTable) source() string { return cmp.Or(r.From, r.compared()) }

// compared is the SQL source of the rows that a record is compared with.
func (r recordTable) compared() string {
	if r.Counted {
		return r.From
	}
	return "(select * from " + r.Name + " where group_id = $1)"
}

// exportQuery reads all records of group $1, with vectors if $2 is true.
func (r recordTable) exportQuery() string {
	columns := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		columns[i] = "t." + c
		if read, ok := r.Reads[c]; ok {
			columns[i] = read + " as " + c
		}
	}
	vector := "null::bytea"
	if r.Kind == reverie.RecordMemory {
		vector = "vector_send(t.embedding)"
	}
	return `select (select row_to_json(c)::text from (select ` + strings.Join(columns, ", ") + `) c) as record,
		case when $2::bool then ` + vector + ` end as vector from ` + r.source() + ` t order by ` + r.Order
}

// rows is the SQL source r of the records in parameter $2, a JSON array.
func (r recordTable) rows() string {
	return `json_populate_recordset(null::` + r.Name + `, $2::json) r`
}

// same is the SQL condition that a row t is that of record r.
func (r recordTable) same() string {
	var on []string
	for _, k := range r.key() {
		on = append(on, "t."+k+" = r."+k)
	}
	return strings.Join(on, " and ")
}

// compareQuery finds the records of $2 that group $1 has, and the columns that differ.
func (r recordTable) compareQuery() string {
	var key, differs []string
	for _, c := range r.Columns {
		switch {
		case slices.Contains(r.key(), c):
			key = append(key, "r."+c+"::text")
		case !slices.Contains(r.Loose, c):
			differs = append(differs, `case when t.`+c+` is distinct from r.`+c+` then '`+c+`' end`)
		}
	}
	return `select concat_ws(', ', ` + strings.Join(key, ", ") + `) as key,
			array_to_string(array[` + strings.Join(append(differs, "null"), ", ") + `]::text[], ', ') as differs
		from ` + r.rows() + ` join ` + r.compared() + ` t on ` + r.same() + ` order by 1`
}

// insertQuery writes the records of $2 that group $1 does not have. Versions get the vectors of $3 and $4.
func (r recordTable) insertQuery() string {
	columns, values, from := "group_id, "+columnNames("", r.Columns), "$1, "+columnNames("r.", r.Columns), r.rows()
	if r.Kind == reverie.RecordMemory {
		columns, values = columns+", embedding", values+", v.embedding"
		from += ` left join unnest($3::uuid[], $4::vector[]) as v (id, embedding) on v.id = r.memory_id`
	}
	return `insert into ` + r.Name + ` (` + columns + `) select ` + values + ` from ` + from + `
		where not exists (select 1 from ` + r.compared() + ` t where ` + r.same() + `)
		on conflict (group_id, ` + columnNames("", r.key()) + `) do nothing`
}

// brokenQuery returns the first record of $2 that breaks rules, with those rules.
func (r recordTable) brokenQuery(rules []recordRule) string {
	breaks := make([]string, len(rules))
	for i, rule := range rules {
		breaks[i] = `case when not (` + rule.Expr + `) then '` + rule.Name + `' end`
	}
	return `select * from (select concat_ws(', ', ` + columnNames("r.", r.key()) + `) as key,
			array_to_string(array[` + strings.Join(breaks, ", ") + `]::text[], ', ') as differs
		from ` + r.rows() + `) x where $1 <> '' and differs <> '' limit 1`
}
