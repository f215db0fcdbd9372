package store_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	stdmaps "maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// Three groups with a row in every table. All that is text in them bears the group's id,
// which shows whose it is. The twin has the very ids of home: messages, memories, runs,
// sessions, accounts. The far one has others.
const (
	home = "a-home"
	twin = "b-twin"
	far  = "c-far"
)

// isolated is a database with the first of the three groups, and the means to have the others.
type isolated struct {
	parts
	t      testing.TB
	db     *sql.DB
	tables map[string][]column
	sums   *sql.Stmt
}

type column struct {
	Name, Type string
	Nullable   bool
}

func newIsolated(t testing.TB) *isolated {
	t.Helper()
	w := &isolated{parts: partsOf(pgtest.Open(t, pg.Options{Now: func() time.Time { return noon }})), t: t, db: raw(t), tables: map[string][]column{}}
	w.db.SetMaxOpenConns(1) // its settings are a session's
	_, err := w.db.Exec(`set session_replication_role = replica`)
	check(t, err)
	rows := must(w.db.Query(`select c.table_name, c.column_name, c.udt_name, c.is_nullable = 'YES' from information_schema.columns c
		where c.table_schema = 'public' and c.is_identity = 'NO' and c.table_name not in ('deployments', 'batches') and c.table_name in (
			select table_name from information_schema.columns where column_name = 'group_id')`))(t)
	for rows.Next() {
		var table string
		var c column
		check(t, rows.Scan(&table, &c.Name, &c.Type, &c.Nullable))
		w.tables[table] = append(w.tables[table], c)
	}
	check(t, rows.Err())
	var sums []string
	for _, table := range slices.Sorted(stdmaps.Keys(w.tables)) {
		sums = append(sums, fmt.Sprintf(`select '%s', group_id, md5(string_agg(x::text, '' order by x::text)) from %[1]s x group by group_id`, table))
	}
	w.sums = must(w.db.Prepare(strings.Join(sums, " union all ")))(t)
	t.Cleanup(func() { _ = w.sums.Close() })
	w.seed(home)
	return w
}

// seed gives a group, and the team that is called like it, the rows that they begin
// with, and no others.
func (w *isolated) seed(group string) {
	w.t.Helper()
	tables := slices.Sorted(stdmaps.Keys(w.tables))
	w.seedTables(group, tables)
	w.seedTables(reverie.TeamGroupID(group), tables)
}

func (w *isolated) seedTables(group string, tables []string) {
	w.t.Helper()
	var all strings.Builder
	for _, table := range tables {
		fmt.Fprintf(&all, "delete from %s where group_id = %s;\n", table, pq.QuoteLiteral(group))
		further := seedRows[table]
		if further == nil {
			further = []map[string]any{{}}
		}
		for _, given := range further {
			row, names := map[string]any{}, []string{}
			for _, c := range w.tables[table] {
				if v, ok := seedValue(group, table, c, given); ok {
					row[c.Name], names = v, append(names, pq.QuoteIdentifier(c.Name))
				}
			}
			text := string(must(json.Marshal(row))(w.t))
			fmt.Fprintf(&all, "insert into %s (%s) select %[2]s from jsonb_populate_record(null::%[1]s, %[3]s);\n", table, strings.Join(names, ", "), pq.QuoteLiteral(text))
		}
	}
	if _, err := w.db.Exec(all.String()); err != nil {
		w.t.Fatalf("seed group %s: %v (a new table or column may need a value in isolation_seed_test.go)", group, err)
	}
}

// seedValue is what a column has in a row: what is given, what is said of it in any
// table, or something of its type. false leaves it to its default.
func seedValue(group, table string, c column, given map[string]any) (any, bool) {
	v, ok := given[c.Name]
	if !ok {
		v, ok = seedColumns[c.Name]
	}
	switch v := v.(type) {
	case seedID:
		return v.of(group), true
	case func(string) any:
		return v(group), true
	}
	switch {
	case ok:
		return v, v != nil
	case c.Name == "group_id":
		return group, true
	case c.Type == "text":
		return group + "'s " + c.Name, true
	case c.Nullable:
		return nil, false
	}
	v, ok = map[string]any{"int4": 1, "int8": 1, "float8": 0.5, "bool": false, "timestamptz": noon, "jsonb": map[string]any{}, "_text": []string{},
		"_uuid": []string{}, "_int4": []int{}, "bytea": `\x` + strings.Repeat("ab", 32), "vector": "[1,0,0]", "numeric": 1, "date": "2026-01-15"}[c.Type]
	return v, ok
}

// seedID is an id that home and twin share, and the far group has another of.
type seedID string

func (id seedID) of(group string) string {
	switch {
	case !strings.HasSuffix(group, far):
		return string(id)
	case strings.HasPrefix(string(id), "aaaaaaaa-"):
		return "ffffffff-" + string(id[9:])
	}
	return "far-" + string(id)
}

func seedUUID(n int) seedID { return seedID(fmt.Sprintf("aaaaaaaa-0000-7000-8000-%012d", n)) }

// state is a sum of what each table holds of each group.
func (w *isolated) state() map[string]map[string]string {
	w.t.Helper()
	rows := must(w.sums.Query())(w.t)
	defer func() { _ = rows.Close() }()
	state := map[string]map[string]string{}
	for rows.Next() {
		var table, group, sum string
		check(w.t, rows.Scan(&table, &group, &sum))
		if state[group] == nil {
			state[group] = map[string]string{}
		}
		state[group][table] = sum
	}
	check(w.t, rows.Err())
	return state
}

// texts are all strings in a value, of fields that are not exported, too.
func texts(v reflect.Value, depth int, put func(string)) {
	if depth > 20 || !v.IsValid() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		put(v.String())
	case reflect.Pointer, reflect.Interface:
		texts(v.Elem(), depth+1, put)
	case reflect.Struct:
		for i := range v.NumField() {
			texts(v.Field(i), depth+1, put)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			texts(it.Key(), depth+1, put)
			texts(it.Value(), depth+1, put)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			put(string(v.Bytes()))
			return
		}
		for i := range v.Len() {
			texts(v.Index(i), depth+1, put)
		}
	}
}

// asked is what a call is made with: it names home, and ids that are home's and its
// twin's, or the far group's.
type asked struct {
	parts
	t                                                      testing.TB
	mem, lin, mem2, lin2, held, run, ent, ent2, usage, obs string
	evolving, impressing, extracting, maintaining          string // runs that are under way
	msg, msg2, ses, tok, conflict, question, again, batch  string
	lease                                                  reverie.Lease
}

func (w *isolated) asking(ids string) asked {
	id := func(s seedID) string { return s.of(ids) }
	return asked{parts: w.parts, t: w.t, mem: id(idMemory), lin: id(idLineage), mem2: id(idMemory2), lin2: id(idLineage2), held: id(idHeldRun), run: id(idRun),
		ent: id(idEntity), ent2: id(idEntity2), usage: id(idUsage), obs: id(idObservation), question: id(seedUUID(27)), again: id(seedUUID(29)), batch: id(seedUUID(28)), msg: id(idMessage), msg2: id(idMessage2), ses: id(idSession),
		tok: id(idToken), conflict: id(idConflict), evolving: id(idEvolving), impressing: id(idImpressing), extracting: id(idExtracting), maintaining: id(idMaintaining),
		lease: reverie.Lease{GroupID: home, Name: reverie.LeaseGroup, Holder: "h", Fence: 1}}
}
