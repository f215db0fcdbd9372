package web

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWhyHeld translates the phrases that are known, and leaves the others as they are.
func TestWhyHeld(t *testing.T) {
	for why, want := range map[string]string{
		"": "",
		"the run would delete or rewrite 5 of the 9 memories that the group had; at most 2 pass without a person; " + locales()[english]["why_held.frozen"]: "<bdi>本次运行将删除或改写 5 条记忆（群组原有 9 条），超过 2 条须经人工审批</bdi>；<bdi>新内容涉及正等待审批删除的记忆</bdi>",
		"proposed by 12": "<bdi>由 12 提议</bdi>",
		"proposed by <b>, without evidence: it would rest on whoever approves it": "<bdi>由 &lt;b&gt; 提议，没有依据，由批准者负责</bdi>",
		"of another age; " + locales()[english]["why_held.deletes"]:               `<span lang="en"><bdi>of another age</bdi></span>；<bdi>删除仍有效的记忆，且没有经核实的引文</bdi>`,
	} {
		if got := string(chinese.phrased(heldPhrases(), why)); got != want {
			t.Errorf("%q is shown as %s", why, got)
		}
		if got := string(english.phrased(heldPhrases(), why)); got != string(say(why)) {
			t.Errorf("%q is shown in English as %s", why, got)
		}
	}
}

// joinedLiterals stand where a long text goes on in the next line of the code.
var joinedLiterals = regexp.MustCompile(`" ?\+\n\s*"`)

// TestHeldTexts holds the phrases against the code that says them.
func TestHeldTexts(t *testing.T) {
	var code strings.Builder
	for _, file := range []string{"../../../evolve/decide.go", "../../session/decide.go", "../../../dream/decide.go", "../../decide/planner.go", "../propose.go"} {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(body)
	}
	says := joinedLiterals.ReplaceAllString(code.String(), "")
	for key, en := range locales()[english] {
		if !strings.HasPrefix(key, "why_held.") {
			continue
		}
		for _, part := range regexp.MustCompile(`%s`).Split(en, -1) {
			if !strings.Contains(says, part) {
				t.Errorf("%s: nothing says %q", key, part)
			}
		}
	}
}

// TestWhyLeft translates what the store says, and holds the phrases against its code.
func TestWhyLeft(t *testing.T) {
	for why, want := range map[string]string{
		"run <1> has deleted it since":              "<bdi>其后已被运行 &lt;1&gt; 删除</bdi>",
		"a person has made others part of it since": "<bdi>其后已有其他对象被人工并入</bdi>",
		"of another age":                            `<span lang="en"><bdi>of another age</bdi></span>`,
	} {
		if got := string(chinese.phrased(leftPhrases(), why)); got != want {
			t.Errorf("%q is shown as %s", why, got)
		}
	}
	var code strings.Builder
	files, err := filepath.Glob("../../../store/history/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(body)
	}
	did := regexp.MustCompile(`\b(changed|deleted|restored|archived)\b`)
	for key, en := range locales()[english] {
		if !strings.HasPrefix(key, "why_left.") {
			continue
		}
		said := did.ReplaceAllString(en, "%s")
		if text := code.String(); !strings.Contains(text, `"`+en+`"`) && !strings.Contains(text, `"`+said+`"`) &&
			!strings.Contains(text, `"`+strings.ReplaceAll(said, "%s", `" + did + "`)+`"`) {
			t.Errorf("%s: nothing says %q", key, en)
		}
		if did := did.FindString(en); did != "" && !strings.Contains(code.String(), `"`+did+`"`) {
			t.Errorf("%s: nothing is ever %s", key, did)
		}
	}
}
