package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// dialogue is one question about a session: "author: text" lines; "bot " stands
// before an assistant, "tool " before a tool. Known facts are m1, m2, ...
type dialogue struct {
	summary string
	known   []string
	turns   []string
}

func (d dialogue) views(t testing.TB) []map[string]any {
	t.Helper()
	out := []map[string]any{}
	for i, l := range d.turns {
		m := map[string]any{"id": i + 1, "time": "2026-01-15T20:00:00Z"}
		for prefix, role := range map[string]reverie.Role{"bot ": reverie.RoleAssistant, "tool ": reverie.RoleTool} {
			if rest, ok := strings.CutPrefix(l, prefix); ok {
				l, m["role"] = rest, role
			}
		}
		author, text, ok := strings.Cut(l, ": ")
		if !ok {
			t.Fatalf("no author in %q", l)
		}
		m["author"], m["text"] = author, text
		out = append(out, m)
	}
	return out
}

// generate asks a question that must be answered whole.
func generate(t testing.TB, user map[string]any) string {
	t.Helper()
	data, err := json.Marshal(user)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := New(0).Generate(context.Background(), llm.Request{User: string(data)})
	if err != nil || resp.Finish != llm.FinishStop {
		t.Fatalf("%+v, %v", resp, err)
	}
	return resp.Text
}

// extract returns the facts and the summary of a dialogue, each checked.
func (d dialogue) extract(t testing.TB) (facts []fact, summary fact) {
	t.Helper()
	known := []map[string]any{}
	for i, s := range d.known {
		known = append(known, map[string]any{"id": fmt.Sprintf("m%d", i+1), "statement": s, "last_supported_at": "2026-01-01"})
	}
	views := d.views(t)
	lines := decodeLines[fact](t, generate(t, map[string]any{"notice": "data", "session_summary": d.summary, "known_facts": known, "session_turns": views}))
	for _, f := range lines {
		checkFact(t, f, views)
	}
	last := len(lines) - 1
	if lines[last].Type != typeSummary || slices.ContainsFunc(lines[:last], func(f fact) bool { return f.Type == typeSummary }) {
		t.Fatalf("the summary does not stand last: %+v", lines)
	}
	return lines[:last], lines[last]
}

// checkFact fails on what no line may hold.
func checkFact(t testing.TB, f fact, views []map[string]any) {
	t.Helper()
	if err := safety.CheckStatement(f.Content); err != nil && f.Type != typeSummary {
		t.Fatalf("a fact that would be refused: %q: %v", f.Content, err)
	}
	if f.Content == "" || utf8.RuneCountInString(f.Content) > reverie.MaxStatement {
		t.Fatalf("content %q", f.Content)
	}
	if f.Type != typeSummary && (len(f.Evidence) == 0 || f.Confidence < 0.6 || f.Confidence > 1) {
		t.Fatalf("%+v", f)
	}
	for _, c := range f.Evidence {
		if c.Message < 1 || c.Message > len(views) || views[c.Message-1]["role"] != nil || !text.VerifyQuote(c.Quote, views[c.Message-1]["text"].(string)) {
			t.Fatalf("%+v is no evidence", c)
		}
	}
}

func TestExtract(t *testing.T) {
	d := dialogue{known: []string{"Ann says: I live in Lisbon"}, turns: []string{"Ann: I live in Lisbon. I'm allergic to peanuts, can you name a café?",
		"bot Helper: I love peanuts.", "小满: 我喜欢火车，帮我订票", "Ann: I like it."}}
	facts, s := d.extract(t)
	var got []string
	for _, f := range facts {
		got = append(got, string(f.Type)+" "+f.Content)
	}
	if s := strings.Join(got, ", "); s != "fact Ann says: I'm allergic to peanuts, preference 小满说：我喜欢火车" {
		t.Error(s)
	}
	if s.Content != "Ann: I'm allergic to peanuts, can you name a café? 小满：我喜欢火车，帮我订票。 Ann: I like it." {
		t.Error(s.Content)
	}
}

// TestSummariesStayShort leaves out the shortest sentences, and then what came first.
func TestSummariesStayShort(t *testing.T) {
	d := dialogue{}
	for i := range 60 {
		d.turns = append(d.turns, fmt.Sprintf("Ann: How do I polish lens number %d of the old telescope?", i), fmt.Sprintf("bot Helper: Lens %d needs rouge and patience.", i))
	}
	_, s := d.extract(t)
	if !strings.HasPrefix(s.Content, "Ann: How") || !strings.HasSuffix(s.Content, "number 59 of the old telescope?") || strings.Contains(s.Content, "number 9 ") {
		t.Errorf("%s", s.Content)
	}
	var got rolling
	if err := json.Unmarshal([]byte(generate(t, map[string]any{"rolling_summary": strings.Repeat("字", 3000), "older_turns": d.views(t)})), &got); err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCountInString(got.Summary); n > reverie.MaxRollingSummary || !strings.Contains(got.Summary, "telescope") {
		t.Errorf("%d characters: %s", n, got.Summary)
	}
}

// FuzzExtract holds answers to what they may say of any dialogue.
func FuzzExtract(f *testing.F) {
	f.Add("Ann", "I live in Lisbon", "I moved to Porto", "Ann lives in Lisbon")
	f.Add("小林", "我住在上海，推荐一家吧", "我们的项目3月5日上线", "小林说：我们的项目3月1日上线")
	f.Add("", "how?", "。", " says: ")
	f.Add("a", "我用的 说：\u200b", "my is is", "说：")
	f.Fuzz(func(t *testing.T, author, first, second, known string) {
		author, first, second, known = strings.ToValidUTF8(author, ""), strings.ToValidUTF8(first, ""), strings.ToValidUTF8(second, ""), strings.ToValidUTF8(known, "")
		d := dialogue{summary: known, known: []string{known}}
		for _, text := range []string{first, second} {
			d.turns = append(d.turns, strings.ReplaceAll(author, ": ", "")+": "+text)
		}
		facts, s := d.extract(t)
		for _, x := range facts {
			if said := unattributed(x.Content); !strings.Contains(strings.Join(strings.Fields(first+" "+second), " "), said) {
				t.Fatalf("nobody wrote %q", said)
			}
		}
		if s.Content == "" {
			t.Fatal("no summary")
		}
		generate(t, map[string]any{"rolling_summary": known, "older_turns": d.views(t)})
	})
}
