package store_test

import (
	"cmp"
	"database/sql"
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	stdmaps "maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lib/pq"
	"github.com/pelletier/go-toml/v2"

	"reverie/store/migrations"
	"reverie/store/pgtest"
)

// Every statement that the stores of this package's tests have sent to PostgreSQL is about one group, which it
// names by a parameter on each table: see [loose]. PostgreSQL says what a statement does, by its parse tree. Those that
// cross groups are named in crossing. And every statement in the sources of the store has been seen: a new one, or a
// changed one, cannot stay aside.
func TestEveryStatementNamesItsGroup(t *testing.T) {
	pgtest.OnOneServer(t, "it is asked besides where a group is, and tests that are skipped there send nothing")
	t.Parallel() // so that it comes after all others
	a := newAnalyzer(t)
	texts, used := sentStatements(), map[string]bool{}
	for _, text := range texts {
		if strings.HasPrefix(text, "BEGIN ") {
			_, text, _ = strings.Cut(text, "; ") // what comes with it
		}
		if strings.Contains(migrationTexts(), text) {
			continue
		}
		found, err := a.unpinned(text)
		if err != nil {
			t.Errorf("%v in %s", err, text)
		}
		for _, fault := range faults(text, found, used) {
			t.Errorf("%s\n%s", fault, text)
		}
	}
	allRan := flag.Lookup("test.run").Value.String()+flag.Lookup("test.skip").Value.String() == ""
	sources := a.sources(t)
	longestFirst := func(x, y string) int { return cmp.Compare(len(sources[y]), len(sources[x])) }
	for _, where := range slices.SortedFunc(stdmaps.Keys(sources), longestFirst) {
		source := sources[where]
		parts := filled.Split(source, -1)
		if slices.ContainsFunc(texts, func(text string) bool { return holds(text, parts) }) {
			continue
		}
		found, err := a.unpinned(source)
		if err != nil && (allRan || strings.Contains(err.Error(), "data type of parameter $1")) { // nothing names the group
			t.Errorf("%s: no test of this package sends this part of a statement: %s", where, source)
		}
		if err != nil {
			continue
		}
		texts = append(texts, source)
		for _, fault := range faults(source, found, used) {
			t.Errorf("%s: %s\n%s", where, fault, source)
		}
	}
	for _, c := range crossing {
		if !used[c.part] && allRan {
			t.Errorf("no statement that crosses groups has %q any more", c.part)
		}
	}
}

// What the functions of the schema read in their turn is of the group that they are given.
func TestFunctionsKeepToTheGroup(t *testing.T) {
	a := newAnalyzer(t)
	if want := []string{"reverie_quotes"}; !slices.Equal(slices.Collect(stdmaps.Values(a.functions)), want) {
		t.Fatalf("functions %v read tables of groups, and this test knows %v", a.functions, want)
	}
	_, err := a.db.Exec(`select from reverie_quotes($1, array['tea'], '', now(), 0.5, 1)`, "g1")
	check(t, err)
	found := a.ofPrinted()
	if len(a.printed) < 5 || len(found) > 0 {
		t.Errorf("of %d statements, loose: %v", len(a.printed), found)
	}
}

// What makes a statement loose is found, and nothing else is.
func TestLooseStatementsAreFound(t *testing.T) {
	a := newAnalyzer(t)
	for statement, want := range map[string]string{
		`select 1 from memories where group_id = $1`:                                                                               "",
		`select 1 from memories where $1 = group_id and weight > 1`:                                                                "",
		`select 1 from memories where group_id = ''`:                                                                               "",
		`select 1 from webhooks where group_id in ('', $1)`:                                                                        "",
		`select 1 from memories m join runs r on r.group_id = $1 where m.group_id = $1`:                                            "",
		`select 1 from memories m left join runs r on r.group_id = $1 where m.group_id = $1`:                                       "",
		`select 1 from memories m, lateral (select from runs r where r.group_id = $1) r where m.group_id = $1`:                     "",
		`declare c cursor for select 1 from memories where group_id = $1`:                                                          "",
		`insert into active_nights (night, group_id) values ($2, $1) on conflict (group_id, night) do nothing`:                     "",
		`insert into active_nights select $1, n from unnest($2::date[]) n order by n`:                                              "",
		`insert into active_nights (group_id, night) values ($1, $2), ($1, $3)`:                                                    "",
		`insert into active_nights select group_id, $2::date from memories where group_id = $1`:                                    "",
		`with m as (select group_id from memories where group_id = $1) insert into active_nights select group_id, $2::date from m`: "",
		`with d as (delete from active_nights where group_id = $1 returning *) insert into active_nights select * from d`:          "",
		`update memories m set weight = 1 from runs r where m.group_id = $1 and r.group_id = $1`:                                   "",
		`delete from memories m using runs r where m.group_id = $1 and r.group_id = $1`:                                            "",
		`select from reverie_quotes($1, $2, '', now(), 0.5, 1)`:                                                                    "",

		`select 1 from memories`:                                                                                            "memories",
		`select 1 from memories where group_id = 'g1'`:                                                                      "memories",
		`select 1 from memories where group_id <> $1`:                                                                       "memories, tied",
		`select 1 from memories where not group_id = $1`:                                                                    "memories, tied",
		`select 1 from memories where group_id = $1 or weight > 1`:                                                          "memories, tied",
		`select 1 from memories where $1 = '' or group_id = $1`:                                                             "memories, tied",
		`select 1 from memories where group_id = any ($1::text[])`:                                                          "memories, tied",
		`select 1 from memories where group_id = all (array[$1])`:                                                           "memories, tied",
		`select 1 from memories where group_id = (select $1::text)`:                                                         "memories",
		`select 1 from memories where lower(group_id) = $1`:                                                                 "memories, tied",
		`select 1 from memories where session_id = $1`:                                                                      "memories",
		`select group_id from memories group by 1 having group_id = $1`:                                                     "memories",
		`select 1 from (select * from memories) m where group_id = $1`:                                                      "memories",
		`with m as (select * from memories) select 1 from m where group_id = $1`:                                            "memories",
		`select 1 from memories m join runs r on r.group_id = m.group_id where m.group_id = $1`:                             "runs, tied",
		`select 1 from memories join runs using (group_id, run_id) where group_id = $1`:                                     "runs, tied",
		`select 1 from memories m join runs r using (run_id) where m.group_id = $1`:                                         "runs",
		`select 1 from memories m left join runs r on r.group_id = $1 and m.group_id = $1`:                                  "memories",
		`select 1 from memories m right join runs r on r.group_id = $1 and m.group_id = $1`:                                 "runs",
		`select 1 from memories m full join runs r on r.group_id = m.group_id and r.group_id = $1`:                          "memories; runs",
		`select 1 from memories m where m.group_id = $1 and exists (select from runs r where r.run_id = m.run_id)`:          "runs",
		`select 1 from memories m where m.group_id = $1 and exists (select from runs r where r.group_id = m.group_id)`:      "runs, tied",
		`select 1 from memories m where m.group_id = $1 union select 1 from runs`:                                           "runs",
		`select 1 from memories m join runs r on r.group_id = $2 where m.group_id = $1`:                                     "more than one group, tied",
		`insert into active_nights (group_id, night) values ('g1', $1)`:                                                     "active_nights",
		`insert into active_nights (group_id, night) values ($1, $2), ('g1', $3)`:                                           "active_nights",
		`insert into active_nights select unnest($1::text[]), $2::date`:                                                     "active_nights",
		`insert into active_nights select group_id, $1::date from memories`:                                                 "active_nights; memories",
		`insert into active_nights select session_id, $2::date from memories where group_id = $1`:                           "active_nights",
		`insert into active_nights select group_id, $2::date from memories where group_id = $1 union select 'g1', $2::date`: "active_nights",
		`update memories set weight = 1`:                                                                                    "memories",
		`update memories set group_id = session_id where group_id = $1`:                                                     "memories, tied",
		`update memories m set weight = 1 from runs r where m.group_id = $1`:                                                "runs",
		`delete from memories m using runs r where r.group_id = $1`:                                                         "memories",
		`select reverie_quotes(m.session_id, $2, '', now(), 0.5, 1) from memories m where m.group_id = $1`:                  "reverie_quotes",
	} {
		found := must(a.unpinned(statement))(t)
		var names []string
		for _, l := range found {
			if l.tied {
				l.name += ", tied"
			}
			names = append(names, l.name)
		}
		slices.Sort(names)
		if got := strings.Join(names, "; "); got != want {
			t.Errorf("%s: loose is %q, want %q", statement, got, want)
		}
	}
}

// faults are what a statement does that it may not.
func faults(text string, found []loose, used map[string]bool) (faults []string) {
	crosses, free, text := false, "", squeezed(text)
	for _, c := range crossing {
		if len(found) > 0 && strings.Contains(text, c.part) {
			crosses, used[c.part], free = true, true, free+" "+c.free+" "
		}
	}
	for _, l := range found {
		if !crosses {
			faults = append(faults, l.name+" is held to no group by a parameter")
		} else if !l.tied && !strings.Contains(free, " "+l.name+" ") {
			faults = append(faults, l.name+" is joined by no group_id")
		}
	}
	return faults
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// migrationTexts are what migrations do, with all groups.
var migrationTexts = sync.OnceValue(func() string {
	var all strings.Builder
	_ = fs.WalkDir(migrations.Files(), ".", func(path string, _ fs.DirEntry, _ error) error {
		text, _ := fs.ReadFile(migrations.Files(), path)
		all.Write(text)
		return nil
	})
	return all.String()
})

// analyzer has PostgreSQL parse statements.
type analyzer struct {
	*tenants
	db      *sql.DB
	printed []string       // the parse trees of what was parsed last
	touches *regexp.Regexp // a part of a statement that names a tenant's table
}

func newAnalyzer(t testing.TB) *analyzer {
	t.Helper()
	a := &analyzer{tenants: &tenants{map[int]tenantTable{}, map[int]string{}, map[*tree]bool{}, nil}}
	a.db = sql.OpenDB(pq.ConnectorWithNoticeHandler(must(pq.NewConnector(pgtest.URL(t)))(t), func(notice *pq.Error) {
		if notice.Message == "parse tree:" {
			a.printed = append(a.printed, notice.Detail)
		}
	}))
	t.Cleanup(func() { _ = a.db.Close() })
	a.db.SetMaxOpenConns(1) // its settings are a session's
	var names []string
	rows := must(a.db.Query(`select c.oid::int, c.relname, a.attnum from pg_class c join pg_attribute a on a.attrelid = c.oid
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'group_id'`))(t)
	for rows.Next() {
		var id int
		var table tenantTable
		check(t, rows.Scan(&id, &table.name, &table.column))
		a.tables[id], names = table, append(names, table.name)
	}
	check(t, rows.Err())
	rows = must(a.db.Query(`select oid::int, proname from pg_proc where pronamespace = 'public'::regnamespace and prosrc ~ $1`,
		`\m(from|join|into|update)\s+(`+strings.Join(names, "|")+`)\M`))(t)
	for rows.Next() {
		var id int
		var name string
		check(t, rows.Scan(&id, &name))
		a.functions[id] = name
	}
	check(t, rows.Err())
	a.touches = regexp.MustCompile(`(?i)\b(from|join|into|update|table)\s+(only\s+)?(` + strings.Join(names, "|") + `)\b`)
	// A test has a column that no migration makes.
	_, err := a.db.Exec(`alter table runs add column remark text; set client_min_messages = log; set debug_pretty_print = off; set debug_print_parse = on`)
	check(t, err)
	return a
}

// unpinned are the tables and functions that a statement does not pin to a group.
func (a *analyzer) unpinned(statement string) ([]loose, error) {
	a.printed = nil
	st, err := a.db.Prepare(statement)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return a.ofPrinted(), nil
}

func (a *analyzer) ofPrinted() (found []loose) {
	a.named = map[string]bool{}
	for _, printed := range a.printed {
		found = append(found, a.loose(parseTree(printed), nil)...)
	}
	if len(a.named) > 1 {
		found = append(found, loose{"more than one group", true})
	}
	return found
}

// sources are the statements, and parts of them, in the sources of the store, by where they stand: constants of Go,
// put together as the compiler does, and texts of TOML.
func (a *analyzer) sources(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	put := func(where, text string) {
		if a.touches.MatchString(text) {
			found[where] = numbered(text)
		}
	}
	c := &constants{set: token.NewFileSet(), known: map[string]*types.Package{}}
	check(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "pgtest" && path != "migrations":
			c.of(path, put)
		case filepath.Ext(path) == ".toml":
			var file any
			if err := toml.Unmarshal(must(os.ReadFile(path))(t), &file); err != nil {
				return err
			}
			tomlTexts(path, file, put)
		}
		return nil
	}))
	return found
}

// placeholder is where a parameter is put into a text.
var placeholder = regexp.MustCompile(`\{\w+\}`)

// numbered has parameters in place of names in braces, and the first for the group.
func numbered(text string) string {
	numbers := map[string]int{"{group}": 1}
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if numbers[name] == 0 {
			numbers[name] = len(numbers) + 1
		}
		return fmt.Sprintf("$%d", numbers[name])
	})
}

// filled is what stands for something else in a statement that is sent: a parameter, or what fmt puts in.
var filled = regexp.MustCompile(`\$\d+|%(?:\[\d+\])?s`)

// holds tells whether a statement has parts of a text, one behind the other.
func holds(statement string, parts []string) bool {
	for _, part := range parts {
		_, after, ok := strings.Cut(statement, part)
		if !ok {
			return false
		}
		statement = after
	}
	return true
}

// constants are the constant texts of packages, put together as the compiler does.
type constants struct {
	set   *token.FileSet
	known map[string]*types.Package
}

// of puts the longest texts of a package.
func (c *constants) of(dir string, put func(where, text string)) *types.Package {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	var files []*ast.File
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range names {
		if f, err := parser.ParseFile(c.set, name, nil, 0); err == nil && !strings.HasSuffix(name, "_test.go") {
			files = append(files, f)
		}
	}
	conf := types.Config{Importer: c, Error: func(error) {}} // other modules' packages are not looked at
	p, _ := conf.Check(dir, c.set, files, info)
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			v := info.Types[e].Value
			if v == nil || v.Kind() != constant.String {
				return true
			}
			put(c.set.Position(e.Pos()).String(), constant.StringVal(v))
			return false
		})
	}
	return p
}

// Import is a package of ours, or an empty one.
func (c *constants) Import(path string) (*types.Package, error) {
	if c.known[path] == nil {
		dir, ours := strings.CutPrefix(path, "reverie/")
		c.known[path] = types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
		c.known[path].MarkComplete()
		if ours {
			c.known[path] = c.of(filepath.Join("..", dir), func(string, string) {})
		}
	}
	return c.known[path], nil
}

func tomlTexts(where string, value any, put func(where, text string)) {
	switch value := value.(type) {
	case string:
		put(where, value)
	case []any:
		for i, v := range value {
			tomlTexts(fmt.Sprintf("%s, %d", where, i+1), v, put)
		}
	case map[string]any:
		for key, v := range value {
			tomlTexts(where+", "+key, v, put)
		}
	}
}
