package offline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// night is one question about material. A session is its summary, "" for none, and
// its facts, each by a bar; "preference: " and the like before a fact is its type.
// A memory is new where "new " stands before it; an item is "type: content".
type night struct {
	sessions, memories, items []string
}

// user numbers everything as a dream does, and says which handles are sources.
func (n night) user() (user map[string]any, sources map[string]bool) {
	sources = map[string]bool{}
	sessions, memories, items := []map[string]any{}, []map[string]any{}, []map[string]any{}
	facts, summaries := 0, 0
	for _, text := range n.sessions {
		parts := strings.Split(text, " | ")
		s := map[string]any{"from": "2026-01-15", "to": "2026-01-15"}
		if parts[0] != "" {
			summaries++
			s["id"], s["summary"] = fmt.Sprintf("s%d", summaries), parts[0]
			sources[fmt.Sprintf("s%d", summaries)] = true
		}
		list := []map[string]any{}
		for _, fact := range parts[1:] {
			facts++
			kind, statement, typed := strings.Cut(fact, ": ")
			if !typed || !slices.Contains([]string{"fact", "preference", "project"}, kind) {
				kind, statement = "", fact
			}
			list = append(list, map[string]any{"id": fmt.Sprintf("f%d", facts), "type": kind, "statement": statement, "date": "2026-01-15"})
			sources[fmt.Sprintf("f%d", facts)] = true
		}
		s["facts"] = list
		sessions = append(sessions, s)
	}
	for i, m := range n.memories {
		statement, fresh := strings.CutPrefix(m, "new ")
		memories = append(memories, map[string]any{"id": fmt.Sprintf("m%d", i+1), "statement": statement, "date": "2026-01-15", "new": fresh})
		sources[fmt.Sprintf("m%d", i+1)] = true
	}
	for i, it := range n.items {
		kind, content, _ := strings.Cut(it, ": ")
		items = append(items, map[string]any{"id": fmt.Sprintf("d%d", i+1), "type": kind, "content": content, "since": "2026-01-01"})
	}
	return map[string]any{"notice": "data", "as_of": "2026-01-15", "last_dream": "", "dream_items": items, "dream_sessions": sessions, "group_memories": memories}, sources
}

// dream returns the narrative and the items of a night, each checked.
func (n night) dream(t testing.TB) (narrative insight, items []insight) {
	t.Helper()
	user, sources := n.user()
	return dreamt(t, user, sources, len(n.items))
}

func dreamt(t testing.TB, user map[string]any, sources map[string]bool, known int) (narrative insight, items []insight) {
	t.Helper()
	lines := decodeLines[insight](t, generate(t, user))
	replaced := map[string]bool{}
	for i, l := range lines {
		checkInsight(t, l, sources, known)
		if (l.Type == string(typeSummary)) != (i == 0) {
			t.Fatalf("line %d: %+v: the summary stands first, and once", i+1, l)
		}
		if l.Replace != "" && replaced[l.Replace] {
			t.Fatalf("%s is replaced twice: %+v", l.Replace, lines)
		}
		replaced[l.Replace] = true
	}
	if len(lines) > maxInsights+1+known {
		t.Fatalf("%d lines", len(lines))
	}
	return lines[0], lines[1:]
}

// checkInsight fails on what a dream would refuse.
func checkInsight(t testing.TB, l insight, sources map[string]bool, known int) {
	t.Helper()
	if err := safety.CheckStatement(l.Content); err != nil && !l.Keep {
		t.Fatalf("%q would be refused: %v", l.Content, err)
	}
	if l.Keep && (l.Content != "" || l.Replace == "" || l.Done) {
		t.Fatalf("%+v keeps nothing", l)
	}
	facts := 0
	for i, s := range l.Sources {
		if !sources[s] || slices.Contains(l.Sources[:i], s) {
			t.Fatalf("%+v cites %s", l, s)
		}
		if s[0] == 'f' || s[0] == 'c' {
			facts++
		}
	}
	if l.Type == string(typeSummary) {
		return
	}
	var n int
	if _, err := fmt.Sscanf(l.Replace, "d%d", &n); l.Replace != "" && (err != nil || n < 1 || n > known) {
		t.Fatalf("%+v replaces what was not shown", l)
	}
	if len(l.Sources) < 2 && facts == 0 && l.Replace == "" || len(l.Sources) == 0 || l.Confidence < 0.6 || l.Confidence > 1 ||
		l.Done && (l.Type != string(reverie.DreamTodo) || l.Replace == "") || !slices.Contains(reverie.DreamTypes, reverie.DreamType(l.Type)) {
		t.Fatalf("%+v has no ground", l)
	}
}

// dreamBrief writes items as "type replace! content <sources>", with the mark where
// one is done, "~" where one is kept.
func dreamBrief(items []insight) string {
	var out []string
	for _, f := range items {
		out = append(out, fmt.Sprintf("%s %s%s %s <%s>", f.Type, f.Replace, map[bool]string{true: "!"}[f.Done]+map[bool]string{true: "~"}[f.Keep], f.Content, strings.Join(f.Sources, " ")))
	}
	return strings.Join(strings.Fields(strings.Join(out, " / ")), " ")
}

// combined asks about parts, each "summary | type[ replace[!~]]: content | ...".
func combined(t testing.TB, parts []string, known int) (insight, []insight) {
	t.Helper()
	var views []map[string]any
	sources := map[string]bool{}
	for _, p := range parts {
		said := strings.Split(p, " | ")
		items := []map[string]any{}
		for _, it := range said[1:] {
			head, content, _ := strings.Cut(it, ": ")
			kind, replace, _ := strings.Cut(head, " ")
			replace, done := strings.CutSuffix(replace, "!")
			replace, keep := strings.CutSuffix(replace, "~")
			id := fmt.Sprintf("c%d", len(sources)+1)
			sources[id] = true
			items = append(items, map[string]any{"id": id, "type": kind, "content": content, "confidence": 0.8, "sources": 2, "replace": replace, "done": done, "keep": keep})
		}
		views = append(views, map[string]any{"summary": said[0], "items": items})
	}
	return dreamt(t, map[string]any{"notice": "data", "dream_items": []any{}, "dream_parts": views}, sources, known)
}

// TestDreamsAreBounded asks about more than an answer can hold.
func TestDreamsAreBounded(t *testing.T) {
	var n night
	for i := range 60 {
		n.sessions = append(n.sessions, fmt.Sprintf("Ann asked about lens %d of the old telescope. | preference: Ann likes lens number %d best | Ann has to polish mirror number %d", i, i, i))
	}
	narrative, items := n.dream(t)
	if len(items) != maxInsights || utf8.RuneCountInString(narrative.Content) > reverie.MaxStatement || !strings.HasSuffix(narrative.Content, "lens 59 of the old telescope.") {
		t.Errorf("%d items, narrative %s", len(items), narrative.Content)
	}
	user, _ := n.user()
	if first, again := generate(t, user), generate(t, user); first != again {
		t.Error("not the same twice")
	}
}

// TestDreamRefusesWhatItCannotRead tells data of another shape from material.
func TestDreamRefusesWhatItCannotRead(t *testing.T) {
	for _, user := range []string{`{"dream_items":{}}`, `{"dream_items":[],"dream_sessions":[{"id":1}]}`, `{"dream_items":[],"group_memories":"m1"}`, `{"dream_parts":{}}`, `{"dream_sessions":[]}`} {
		resp, err := New(0).Generate(t.Context(), llm.Request{User: user})
		if fault := (*llm.Error)(nil); !errors.As(err, &fault) || fault.Fault != llm.FaultBadRequest {
			t.Errorf("%s: %+v, %v; want a bad request", user, resp, err)
		}
	}
	if got := generate(t, map[string]any{"dream_items": nil}); got != `{"type":"summary","content":"There was nothing to tell."}`+"\n" {
		t.Errorf("of nothing: %s", got)
	}
}

// FuzzDream holds answers to what they may say of any material.
func FuzzDream(f *testing.F) {
	f.Add("Ann asked about a lighthouse.", "Ann prefers trains", "Ann still has to send the zine", "Ann sent the zine")
	f.Add("小林询问羽毛球场。", "小林说：我不吃香菜", "小林还要寄帐篷", "小林已经寄了帐篷，羽毛球场")
	f.Add("", " says: i prefer", "说：还要", "Done: .")
	f.Add("A", "i like \u200b", "will", "已经")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		for _, s := range []*string{&a, &b, &c, &d} {
			*s = strings.ReplaceAll(strings.ToValidUTF8(*s, ""), "|", "")
		}
		n := night{sessions: []string{a + " | preference: " + b + " | " + c, d + " | " + a + " | " + d}, memories: []string{"new " + b, d}, items: []string{"todo: " + c, "preference: " + d, "theme: " + a}}
		_, items := n.dream(t)
		var parts []string
		for _, it := range items {
			head := strings.TrimSpace(it.Type + " " + it.Replace + map[bool]string{true: "!"}[it.Done] + map[bool]string{true: "~"}[it.Keep])
			parts = append(parts, d+" | "+head+": "+cmp.Or(it.Content, "tea"))
		}
		combined(t, append(parts, a), len(n.items))
		if raw, err := json.Marshal(items); err != nil || !utf8.Valid(raw) {
			t.Fatal(err)
		}
	})
}

func TestDream(t *testing.T) {
	n := night{sessions: []string{"Ann spoke of trains. | preference: Ann wants short answers", "Bo likes trains. | fact: Bo still has to send the scans", "All about trains. | fact: The sky is blue"},
		items: []string{"todo: Bo must write a letter"}}
	narrative, items := n.dream(t)
	if narrative.Content != "Ann spoke of trains. Bo likes trains. All about trains." {
		t.Error(narrative.Content)
	}
	if got := dreamBrief(items); got != "preference Ann wants short answers <f1> / todo Bo still has to send the scans <f2>" {
		t.Error(got)
	}
	if _, again := (night{sessions: []string{"Ann spoke. | preference: Ann wants short answers"}, items: []string{"preference: Ann wants short answers"}}).dream(t); len(again) > 0 {
		t.Errorf("said again: %+v", again)
	}
}
