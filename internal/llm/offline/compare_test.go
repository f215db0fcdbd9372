package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// compareOffline asks how a fact stands to memories.
func compareOffline(t testing.TB, fact string, memories ...string) []opinion {
	t.Helper()
	candidates := []map[string]any{}
	for i, m := range memories {
		candidates = append(candidates, map[string]any{"id": fmt.Sprintf("c%d", i+1), "statement": m, "last_supported_at": "2026-01-05"})
	}
	data, err := json.Marshal(map[string]any{"notice": "data", "fact": map[string]any{"statement": fact, "date": "2026-01-06"}, "candidates": candidates})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := New(0).Generate(context.Background(), llm.Request{User: string(data)})
	if err != nil || resp.Finish != llm.FinishStop {
		t.Fatal(resp, err)
	}
	return decodeLines[opinion](t, resp.Text)
}

func decodeLines[L any](t testing.TB, text string) []L {
	t.Helper()
	var out []L
	for l := range strings.Lines(text) {
		var x L
		if err := json.Unmarshal([]byte(l), &x); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		out = append(out, x)
	}
	return out
}

// TestNearMissIsNoDuplicate changes one figure, weekday or negation of a
// statement at a time: however it is written, the result is never the same fact,
// nor is it merged into the other.
func TestNearMissIsNoDuplicate(t *testing.T) {
	pairs := 0
	for _, statement := range nearStatements(t) {
		for _, other := range nearMisses(statement) {
			if text.ContentHash(statement) == text.ContentHash(other) {
				t.Fatalf("%q and %q are one to the content hash", statement, other)
			}
			pairs++
			if sameWords(statement, other) || sameWords(other, statement) {
				t.Errorf("%q and %q are the same", statement, other)
			}
		}
	}
	t.Logf("%d pairs", pairs)
	if pairs < 300 {
		t.Errorf("%d pairs are too few to say anything", pairs)
	}
}

// nearStatements are those that the vectors are measured on, and those that the
// layer above is.
func nearStatements(t testing.TB) []string {
	t.Helper()
	raw, err := os.ReadFile("../../decide/testdata/wordings.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, w := range decodeLines[struct {
		Text, Base string
	}](t, string(raw)) {
		if out = append(out, w.Text); w.Base != "" {
			out = append(out, w.Base)
		}
	}
	for _, pairs := range [][][2]string{restated, related} {
		for _, p := range pairs {
			out = append(out, p[0], p[1])
		}
	}
	return append(out, "The court costs 3.5 euros", "温度是-5度", "Room 12 seats 8 people", "费用是每人三十五块", "版本 2.10 周五发布", "Backups run at 03:30 every day", "小满不吃辣",
		"Maya can't swim", "C# is used for the 2 tools", "The group has 1,200 photos")
}

// nearMisses are variants of a statement that say something else: each digit
// changed, each weekday moved, a negation put in.
func nearMisses(s string) []string {
	var out []string
	for i, r := range s {
		if r >= '0' && r <= '9' {
			out = append(out, s[:i]+string('0'+(r-'0'+1)%10)+s[i+1:])
		}
	}
	days := []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "周一", "周二", "周三", "周四", "周五", "周六", "周日"}
	for i, day := range days {
		if at := strings.Index(s, day); at >= 0 {
			next := days[i/7*7+(i+1)%7]
			out = append(out, s[:at]+next+s[at+len(day):])
		}
	}
	for _, verb := range []string{" is ", " are ", " must ", " can "} {
		if strings.Contains(s, verb) {
			out = append(out, strings.Replace(s, verb, verb+"not ", 1), strings.Replace(s, verb, verb+"no longer ", 1))
		}
	}
	for _, verb := range []string{"打", "开", "放", "用", "要", "发", "吃", "去", "买"} {
		if at := strings.Index(s, verb); at > 0 {
			out = append(out, s[:at]+"不"+s[at:], s[:at]+"不再"+s[at:])
			if before, n := utf8.DecodeLastRuneInString(s[:at]); before == '不' {
				out = append(out, s[:at-n]+s[at:])
			}
		}
	}
	return out
}

// FuzzCompare holds verdicts to what they may say of any two statements.
func FuzzCompare(f *testing.F) {
	for _, p := range restated {
		f.Add(p[0], p[1])
	}
	f.Add("on every Monday", "every each 每周一")
	f.Add("Lin says: I", "林说：我")
	f.Fuzz(func(t *testing.T, fact, memory string) {
		fact, memory = strings.ToValidUTF8(fact, "?"), strings.ToValidUTF8(memory, "?")
		got := compareOffline(t, fact, memory)
		if len(got) != 1 || got[0].ID != "c1" || got[0].Reason == "" {
			t.Fatalf("%+v", got)
		}
		alike := text.ContentHash(fact) == text.ContentHash(memory)
		switch o := got[0]; o.Relation {
		case reverie.RelationDuplicate:
		case reverie.RelationUnrelated:
			if alike {
				t.Fatalf("%q and %q are the same", fact, memory)
			}
		default:
			t.Fatalf("%+v", o)
		}
	})
}

func TestCompare(t *testing.T) {
	got := compareOffline(t, "The group plays chess on Thursdays", "Group plays chess on Thursdays.", "The group plays chess on Fridays", "小林下棋")
	var relations []string
	for _, o := range got {
		relations = append(relations, o.ID+" "+string(o.Relation))
	}
	if s := strings.Join(relations, ", "); s != "c1 duplicate, c2 unrelated, c3 unrelated" {
		t.Error(s)
	}
}
