package safety

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// hostileScenarios are those in which somebody tries to inject something.
var hostileScenarios = []string{"en-guild-forgeries", "zh-oss-poison", "zh-security-quote"}

// ordinaryTalk is what people say: the chats of the scenarios and of the demo, and the
// statements that must be allowed. None is made from a template.
func ordinaryTalk(t *testing.T) (list []string) {
	files, err := filepath.Glob("../eval/scenarios/*/messages.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "../../test/halfframe/chat.jsonl") {
		if slices.Contains(hostileScenarios, filepath.Base(filepath.Dir(file))) {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			var m struct{ Text string }
			if err := json.Unmarshal([]byte(line), &m); err == nil && m.Text != "" {
				list = append(list, m.Text)
			}
		}
	}
	for _, c := range poisonCases(t, "poison/harmless_en.txt", "poison/harmless_zh.txt", "statement/allowed.txt") {
		list = append(list, c.text)
	}
	return list
}

// What people say to each other is no instruction to a model, in either language.
func TestNoFalseAlarmsOnTalk(t *testing.T) {
	han, latin := 0, 0
	for _, s := range ordinaryTalk(t) {
		if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			han++
		} else {
			latin++
		}
		if at := findInstruction(s) + findSuspicious(s); at != "" {
			t.Errorf("%q in %q", at, s)
		}
	}
	if han < 1000 || latin < 1000 {
		t.Errorf("%d Chinese and %d English sentences are too few to mean anything", han, latin)
	}
}
