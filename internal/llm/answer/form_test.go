package answer

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForms shows a person the grammar and the schema of every prompt.
func TestForms(t *testing.T) {
	for _, prompt := range slices.Sorted(maps.Keys(allForms().Prompts)) {
		name, small := strings.CutSuffix(prompt, "_small")
		form, found := FormOf(name + map[bool]string{true: ".small.zh", false: ".zh"}[small])
		if !found {
			t.Fatalf("%s is not found", prompt)
		}
		var schema bytes.Buffer
		if err := json.Indent(&schema, form.Schema(), "", "  "); err != nil {
			t.Fatalf("%s: %v: %s", prompt, err, form.Schema())
		}
		got := form.Grammar("") + "\n" + schema.String() + "\n"
		path := filepath.Join("testdata", "forms", prompt+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: -want +got\n%s", prompt, diff)
		}
	}
	if _, found := FormOf("of_my_own.en"); found {
		t.Error("a prompt that is none of ours has a form")
	}
}

// TestGrammarNamesItsRules: a rule that is used and not defined is refused by llama.cpp, and a
// repetition without an end may never stop.
func TestGrammarNamesItsRules(t *testing.T) {
	literals := regexp.MustCompile(`"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|\{[0-9,]*\}`)
	for prompt, form := range allForms().Prompts {
		grammar := literals.ReplaceAllString(form.Grammar(`"x"`), " ")
		defined := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^(\S+) ::=`).FindAllStringSubmatch(grammar, -1) {
			defined[m[1]] = true
		}
		for _, name := range regexp.MustCompile(`[a-z_]+`).FindAllString(grammar, -1) {
			if !defined[name] || strings.Contains(name, "_") { // llama.cpp reads none in a name
				t.Errorf("%s: the rule %q is not defined", prompt, name)
			}
		}
		if bytes.Contains([]byte(grammar), []byte("space*")) || bytes.Contains([]byte(grammar), []byte("space+")) {
			t.Errorf("%s: white space without an end", prompt)
		}
	}
}

// TestReadsOneObject: what a schema binds to one object is read as lines.
func TestReadsOneObject(t *testing.T) {
	res := Read("{\"lines\": [\n {\"action\": \"keep\", \"old_id\": \"m1\"},\n {\"action\": \"none\"}]}")
	if len(res.Lines) != 2 || len(res.Skipped) != 0 || string(res.Lines[0].Object) != `{"action":"keep","old_id":"m1"}` {
		t.Errorf("%+v", res)
	}
}
