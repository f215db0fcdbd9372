package house_test

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module      = "reverie/"
	importTable = "test/house/imports.txt"
	deepest     = 8 // arrows on the longest way from the command down
)

// TestAllowedImports holds each package to its row of the table in imports.txt.
// Two of our packages may be joined only by an arrow that the table has, and the table
// has no arrow that no package uses.
func TestAllowedImports(t *testing.T) {
	allowed, imports := readImportTable(t), importsOfOurs(t)
	for _, problem := range compareImports(allowed, imports) {
		t.Error(problem)
	}
	if circle := findCircle(imports); circle != nil {
		t.Errorf("these packages import each other in a circle: %s", strings.Join(circle, " -> "))
	}
	if way := longestWay(imports); len(way)-1 > deepest {
		t.Errorf("%d arrows, and at most %d are allowed: %s", len(way)-1, deepest, strings.Join(way, " -> "))
	}
}

// TestAddedArrow: an arrow that the table lacks is found, and one that is left over.
func TestAddedArrow(t *testing.T) {
	allowed := map[string][]string{"a": {"b"}, "b": nil}
	for name, tc := range map[string]struct {
		imports map[string][]string
		want    int
	}{
		"as allowed":         {map[string][]string{"a": {"b"}, "b": nil}, 0},
		"an arrow is added":  {map[string][]string{"a": {"b"}, "b": {"a"}}, 1},
		"an arrow is unused": {map[string][]string{"a": nil, "b": nil}, 1},
		"a package is new":   {map[string][]string{"a": {"b"}, "b": nil, "c": nil}, 1},
		"a package is gone":  {map[string][]string{"a": {"b"}}, 1},
	} {
		if got := compareImports(allowed, tc.imports); len(got) != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if findCircle(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}}) == nil {
		t.Error("a circle was not found")
	}
	if way := longestWay(map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": nil}); len(way) != 3 {
		t.Errorf("the longest way is %q", way)
	}
}

// readImportTable reads lines of "package: package package", without the module's name.
func readImportTable(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(importTable)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || table[name] != nil {
			t.Fatalf("%s: %q is no row of the table, or the second for its package", importTable, line)
		}
		table[name] = append([]string{}, strings.Fields(list)...)
	}
	return table
}

// importsOfOurs lists what each package of the product imports of ours, tests left out.
func importsOfOurs(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	eachGoFile(t, func(name string, text []byte) {
		dir := filepath.ToSlash(filepath.Dir(name))
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(dir, "test/") || strings.HasPrefix(dir, "scripts/") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		list := imports[dir]
		for _, one := range file.Imports {
			full, err := strconv.Unquote(one.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if short, ours := strings.CutPrefix(full, module); ours && !slices.Contains(list, short) {
				list = append(list, short)
			}
		}
		imports[dir] = list
	})
	return imports
}

func compareImports(allowed, imports map[string][]string) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		row, ok := allowed[name]
		if !ok {
			problems = append(problems, name+" has no row in "+importTable)
		}
		for _, to := range imports[name] {
			if ok && !slices.Contains(row, to) {
				problems = append(problems, name+" imports "+to+", which "+importTable+" does not allow")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if _, ok := imports[name]; !ok {
			problems = append(problems, importTable+" has "+name+", which is no package")
			continue
		}
		for _, to := range allowed[name] {
			if !slices.Contains(imports[name], to) {
				problems = append(problems, importTable+" lets "+name+" import "+to+", which it does not")
			}
		}
	}
	return problems
}

// findCircle returns packages that import each other, the first one last again.
func findCircle(imports map[string][]string) (circle []string) {
	done := map[string]bool{}
	var visit func(name string, way []string) []string
	visit = func(name string, way []string) []string {
		if at := slices.Index(way, name); at >= 0 {
			return append(slices.Clone(way[at:]), name)
		}
		if done[name] {
			return nil
		}
		done[name] = true
		for _, to := range imports[name] {
			if circle := visit(to, append(way, name)); circle != nil {
				return circle
			}
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if circle = visit(name, nil); circle != nil {
			return circle
		}
	}
	return nil
}

// longestWay returns the packages on the longest way down, of which there is no circle.
func longestWay(imports map[string][]string) (longest []string) {
	if findCircle(imports) != nil {
		return nil
	}
	known := map[string][]string{}
	var below func(name string) []string
	below = func(name string) []string {
		if way := known[name]; way != nil {
			return way
		}
		var way []string
		for _, to := range imports[name] {
			if next := below(to); len(next) > len(way) {
				way = next
			}
		}
		known[name] = append([]string{path.Clean(name)}, way...)
		return known[name]
	}
	for name := range imports {
		if way := below(name); len(way) > len(longest) {
			longest = way
		}
	}
	return longest
}
