package house_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// starters are calls and values of others that start goroutines, or keep connections
// for which they do.
var starters = []string{"http.Server", "http.Client", "http.Transport", "httptest.NewServer", "sql.Open", "sql.OpenDB", "sqlx.Open", "sqlx.Connect",
	"gocron.NewScheduler", "sdktrace.NewBatchSpanProcessor", "sentry.NewClient", "signal.Notify", "signal.NotifyContext", "time.AfterFunc", "context.AfterFunc", "exec.Command", "exec.CommandContext", "iter.Pull", "iter.Pull2"}

// withoutTests are packages that start goroutines and have no tests of their own: those
// of the packages that use them look for what they leave, and the program ends by itself.
var withoutTests = []string{"store/pgtest"}

// TestLeaksAreLookedFor: each package that starts goroutines has a TestMain that fails
// when its tests leave some behind.
func TestLeaksAreLookedFor(t *testing.T) {
	starts, looks, tests := map[string]string{}, map[string]bool{}, map[string]bool{}
	eachGoFile(t, func(path string, text []byte) {
		dir, test := filepath.ToSlash(filepath.Dir(path)), strings.HasSuffix(path, "_test.go")
		if tests[dir] = tests[dir] || test; test && !bytes.Contains(text, []byte("func TestMain(")) {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !test {
			if what := started(file); what != "" {
				starts[dir] = filepath.Base(path) + ": " + what
			}
			return
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "TestMain" && f.Recv == nil {
				looks[dir] = calls(f.Body, "goleak.VerifyTestMain", "pgtest.Main")
			}
		}
	})
	for dir, where := range starts {
		if !looks[dir] && (tests[dir] || !slices.Contains(withoutTests, dir)) {
			t.Errorf("%s starts goroutines (%s), and no TestMain of its hands them to goleak.VerifyTestMain or pgtest.Main", dir, where)
		}
	}
	if len(starts) < 10 {
		t.Errorf("only %d packages start goroutines: %v", len(starts), starts)
	}
}

// eachGoFile reads each Go file of the module.
func eachGoFile(t *testing.T, look func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "node_modules", "bin", "dist"}, d.Name())):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			look(path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// started says by what a file starts goroutines, "" if it does not.
func started(file *ast.File) (what string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			what = "go"
		case *ast.CompositeLit:
			if name := dotted(n.Type); slices.Contains(starters, name) {
				what = name
			}
		case *ast.CallExpr:
			name := dotted(n.Fun)
			if slices.Contains(starters, name) || strings.HasSuffix(name, ".Go") {
				what = name
			}
		}
		return what == ""
	})
	return what
}

// calls tells whether one of the functions is called in a body.
func calls(body *ast.BlockStmt, names ...string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && slices.Contains(names, dotted(call.Fun))
		return !found
	})
	return found
}

// dotted is a name with what it is of: "http.Server", "e.gone.Go".
func dotted(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return dotted(e.X) + "." + e.Sel.Name
	case *ast.IndexExpr: // iter.Pull[int]
		return dotted(e.X)
	case *ast.IndexListExpr:
		return dotted(e.X)
	}
	return ""
}

// TestStarted: what starts goroutines is seen in each of its forms.
func TestStarted(t *testing.T) {
	for body, want := range map[string]bool{
		"go f()": true, "g.Go(f)": true, "g().Go(func() {})": true, "exec.Command(`ps`).Start()": true, "iter.Pull[int](seq)": true, "iter.Pull2(seq)": true,
		"a.b.c.Go(x.y)": true, "f()": false, "g.Gone(f)": false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := started(file) != ""; got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}
