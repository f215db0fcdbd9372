package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"reverie/internal/text"
)

// TestPatterns compiles what the binary compiles when it is first used: none is wrong.
func TestPatterns(t *testing.T) {
	if text.CompileAll() == 0 {
		t.Error("no expression is known")
	}
}

// TestNothingCompiledAtStart: expressions of package variables are compiled when they are
// first used. They were a fifth of the time of every start.
func TestNothingCompiledAtStart(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			vars, ok := decl.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			ast.Inspect(vars, func(n ast.Node) bool {
				if _, later := n.(*ast.FuncLit); later {
					return false
				}
				if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "MustCompile" {
					t.Errorf("%s compiles an expression at each start of the binary: lazyregexp.New", set.Position(call.Pos()))
				}
				return true
			})
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files read: %v", files, err)
	}
}
