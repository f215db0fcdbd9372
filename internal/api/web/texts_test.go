package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

var (
	keyPattern  = regexp.MustCompile(`^[a-z][a-z_]*(\.[A-Za-z0-9_+]+)+$`)
	usePattern  = regexp.MustCompile(`\bt \(?(?:printf )?"([^"]+)"`)
	setPattern  = regexp.MustCompile(`\bword "([^"]+)"`)
	verbPattern = regexp.MustCompile(`%[a-z]`)
)

// TestTexts holds the texts against the code and the templates: each has both languages
// and the same arguments in both, each that is used is there, and each is used.
func TestTexts(t *testing.T) {
	used, sets := usedTexts(t)
	for key := range locales()[chinese] {
		if _, known := locales()[english][key]; !known {
			t.Errorf("%s is not in locales/en.toml", key)
		}
	}
	for key, en := range locales()[english] {
		zh := locales()[chinese][key]
		if strings.TrimSpace(en) == "" || strings.TrimSpace(zh) == "" {
			t.Errorf("%s lacks a language: %q, %q", key, en, zh)
		}
		if !keyPattern.MatchString(key) {
			t.Errorf("key %q is not one", key)
		}
		for _, form := range strings.Split(en, "|") {
			en, zh := verbPattern.FindAllString(form, -1), verbPattern.FindAllString(zh, -1)
			if strings.Join(en, "") != strings.Join(zh, "") {
				t.Errorf("%s takes %v in English and %v in Chinese", key, en, zh)
			}
		}
		set, _, _ := strings.Cut(key, ".")
		if prefix := key[:strings.LastIndex(key, ".")+1]; !used[key] && !sets[set] && !used[prefix] && !used["."+key[strings.LastIndex(key, ".")+1:]] {
			t.Errorf("%s is used nowhere", key)
		}
	}
	for key := range used {
		if _, known := locales()[english][key]; !known && keyPattern.MatchString(key) {
			t.Errorf("%s is used, and is not there", key)
		}
	}
}

// usedTexts are the keys, and the beginnings of keys, that stand in the code and in the
// templates, and the sets of words.
func usedTexts(t *testing.T) (used, sets map[string]bool) {
	used, sets = map[string]bool{}, map[string]bool{}
	parts := map[string]bool{}
	for key := range locales()[english] {
		part, _, _ := strings.Cut(key, ".")
		parts[part] = true
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") || strings.HasPrefix(f.Name(), "texts") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, _ := strconv.Unquote(lit.Value)
				if part, _, dotted := strings.Cut(s, "."); dotted && parts[part] {
					used[s] = true
				}
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if fn, ok := call.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "word" {
					s, _ := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
					sets[s] = true
				}
			}
			return true
		})
	}
	err = fs.WalkDir(templateFiles, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(templateFiles, path)
		for _, m := range usePattern.FindAllStringSubmatch(string(body), -1) {
			before, after, formed := strings.Cut(m[1], "%s")
			if used[before] = true; formed && after != "" {
				used[after] = true
			}
		}
		for _, m := range setPattern.FindAllStringSubmatch(string(body), -1) {
			sets[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, t := range (view{visit: &visit{Group: &reverie.GroupReply{}}}).Tabs() {
		used[t.Key] = true
	}
	return used, sets
}

// TestWords asks for words that are in sets of the rest of the product.
func TestWords(t *testing.T) {
	words := map[string][]string{}
	for _, j := range reverie.Jobs {
		words["job"] = append(words["job"], string(j))
	}
	for _, s := range reverie.RunStatuses {
		words["status"] = append(words["status"], string(s))
	}
	for _, s := range reverie.Scopes {
		words["scope"] = append(words["scope"], string(s))
	}
	for _, s := range []reverie.GroupState{reverie.GroupActive, reverie.GroupPaused, reverie.GroupParked} {
		words["state"] = append(words["state"], string(s))
	}
	for _, a := range []reverie.Action{reverie.ActionKeep, reverie.ActionUpdate, reverie.ActionCreate, reverie.ActionDelete, reverie.ActionRestore,
		reverie.ActionArchive, reverie.ActionStrength, reverie.ActionWeight, reverie.ActionUndo} {
		words["action"] = append(words["action"], string(a))
	}
	for set, values := range words {
		for _, value := range values {
			if chinese.word(set, value) == value {
				t.Errorf("%s %q has no Chinese word", set, value)
			}
			if english.word(set, value) != value {
				t.Errorf("%s %q has the English word %q", set, value, english.word(set, value))
			}
		}
	}
	if got := chinese.word("job", "of tomorrow"); got != "of tomorrow" {
		t.Errorf("a word that is not known yet is shown as %q", got)
	}
	if one, many := english.text("done.created", 1), english.text("timeline.archived_now", 2); one != "1 created" || many != "2 memories archived" {
		t.Errorf("%q, %q", one, many)
	}
	if got := english.text("timeline.archived_now", 1); got != "1 memory archived" {
		t.Errorf("%q", got)
	}
}
