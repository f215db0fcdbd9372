package store_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"reverie/store/pgtest"
)

// unconfined are the statements that name no group, each by what is peculiar to it, with
// the reason.
var unconfined = map[string]string{
	"from llm_calls where purpose = $1":             "how long a model's answers are is asked of all groups, and is a number",
	"from llm_calls where created_at >= $1":         "a budget is that of all groups, and a number",
	"select exists (select 1 from api_tokens)":      "whether there is a token at all",
	"from deployments":                              "what this database is called is no group's",
	"delete from page_sessions where sha256 = $1":   "a login is known by the hash of its cookie, which nobody else has",
	"where (failures > 0 or fold_failures > 0) and": "a part, to which callers add the groups",
}

// Every statement of this package, and of those that it is divided into, that reads or writes a table names group_id: of which
// group it is, or what all groups are told apart by. A part of a statement that is put
// together elsewhere counts with the statement. One that is to be about all groups goes
// into unconfined.
func TestEveryStatementNamesTheGroup(t *testing.T) {
	pgtest.New(t)
	tables := strings1(t, raw(t), `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> 'goose_db_version'`)
	touches := regexp.MustCompile(`\b(?:from|join|into|update)\s+(?:only\s+)?(?:` + strings.Join(tables, "|") + `)\b`)
	used, found := map[string]bool{}, 0
	for where, text := range sqlTexts(t) {
		text = strings.Join(strings.Fields(text), " ")
		if !touches.MatchString(strings.ToLower(text)) {
			continue
		}
		found++
		if strings.Contains(text, "group_id") {
			continue
		}
		excused := false
		for part := range unconfined {
			if strings.Contains(text, part) {
				excused, used[part] = true, true
			}
		}
		if !excused {
			t.Errorf("%s: no group_id in %s", where, text)
		}
	}
	for part := range unconfined {
		if !used[part] {
			t.Errorf("no statement has %q any more", part)
		}
	}
	if found < 200 {
		t.Errorf("%d statements found: they are looked for in the wrong way", found)
	}
}

// sqlTexts are the longest constant texts in this package's files, put together as the
// compiler does, by where they stand.
func sqlTexts(t *testing.T) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: nothing{}, Error: func(error) {}} // what is imported makes no statement
	var all []*ast.File
	for _, dir := range []string{".", "audit", "archive", "erase", "events", "history", "hooks", "links", "teams"} {
		var files []*ast.File
		for _, name := range must(filepath.Glob(filepath.Join(dir, "*.go")))(t) {
			if !strings.HasSuffix(name, "_test.go") {
				files = append(files, must(parser.ParseFile(set, name, nil, 0))(t))
			}
		}
		_, _ = conf.Check(dir, set, files, info)
		all = append(all, files...)
	}
	found := map[string]string{}
	for _, f := range all {
		ast.Inspect(f, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			if v := info.Types[e].Value; v != nil && v.Kind() == constant.String {
				found[set.Position(e.Pos()).String()] = constant.StringVal(v)
				return false
			}
			return true
		})
	}
	for i, part := range strings.Split(string(must(os.ReadFile("audit/invariants.toml"))(t)), "'''") {
		if i%2 == 1 {
			found[fmt.Sprintf("audit/invariants.toml, query %d", i/2+1)] = part
		}
	}
	return found
}

// nothing imports empty packages.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}
