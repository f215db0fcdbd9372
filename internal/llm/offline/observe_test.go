package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/text"
)

// gossip is one question: subjects, those of the chat if none are given, and
// "author: text" lines. "bot author: text" is by an assistant.
type gossip struct {
	subjects []map[string]any
	chat     []string
}

func (g gossip) ask(t testing.TB) []remark {
	t.Helper()
	var messages []map[string]any
	subjects, seen := g.subjects, map[string]bool{}
	for i, l := range g.chat {
		m := map[string]any{"id": i + 1}
		if rest, ok := strings.CutPrefix(l, "bot "); ok {
			l, m["role"] = rest, "assistant"
		}
		author, text, ok := strings.Cut(l, ": ")
		if !ok {
			t.Fatalf("no author in %q", l)
		}
		m["author"], m["text"] = author, text
		messages = append(messages, m)
		if g.subjects == nil && !seen[author] {
			seen[author] = true
			subjects = append(subjects, map[string]any{"name": author, "kind": "person"})
		}
	}
	data, err := json.Marshal(map[string]any{"notice": "data", "subjects": subjects, "messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := New(0).Generate(context.Background(), llm.Request{User: string(data)})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Text == `{"none":true}`+"\n" {
		return nil
	}
	lines := decodeLines[remark](t, resp.Text)
	for _, r := range lines {
		checkRemark(t, r, messages)
	}
	return lines
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

// checkRemark fails on what no line may hold: evidence that is not there, is a
// bot's, or is by somebody else than the line's speaker.
func checkRemark(t testing.TB, r remark, messages []map[string]any) {
	t.Helper()
	cited := slices.Clone(r.Evidence)
	for _, c := range r.Impressions {
		cited = append(cited, c.Evidence...)
	}
	for _, c := range r.Features {
		cited = append(cited, c.Evidence...)
	}
	speaker := ""
	for _, c := range cited {
		if c.Message < 1 || c.Message > len(messages) {
			t.Fatalf("no message %d", c.Message)
		}
		m := messages[c.Message-1]
		if m["role"] != nil || !strings.Contains(m["text"].(string), c.Quote) || !text.VerifyQuote(c.Quote, m["text"].(string)) {
			t.Errorf("%+v is no evidence", c)
		}
		if author := m["author"].(string); speaker == "" {
			speaker = author
		} else if speaker != author {
			t.Errorf("a line on %s is by %s and %s", r.Subject, speaker, author)
		}
	}
	if self := r.Subject == speaker; speaker == "" || self != (r.Confidence == sureOfSelf) || r.Reason == "" {
		t.Errorf("%+v, said by %q", r, speaker)
	}
}

// FuzzObserve holds answers to what they may say of any chat.
func FuzzObserve(f *testing.F) {
	f.Add("Lin", "I live in Lisbon", "Lin moved to Porto")
	f.Add("小林", "我养了一只猫叫年糕", "小林是我同事")
	f.Add("I", "my dog is called 's ", "@I's 's")
	f.Add("", "call me  ", "我叫")
	f.Fuzz(func(t *testing.T, author, first, second string) {
		messages := []map[string]any{{"id": 1, "author": author, "text": first}, {"id": 2, "author": "Bo", "text": second}}
		data, err := json.Marshal(map[string]any{"subjects": []map[string]any{{"name": author, "kind": "person"}, {"name": "Bo", "kind": "person"}}, "messages": messages})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &struct{ Messages *[]map[string]any }{&messages}); err != nil { // bytes that are not UTF-8 are not asked about
			t.Fatal(err)
		}
		resp, err := New(32).Generate(context.Background(), llm.Request{User: string(data)})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Text == `{"none":true}`+"\n" {
			return
		}
		for _, r := range decodeLines[remark](t, resp.Text) {
			if r.Subject == "" || r.Kind == "" || len(r.Evidence) == 0 || len(r.Features)+len(r.Impressions) == 0 {
				t.Fatalf("an empty line: %s", fmt.Sprint(r))
			}
			for _, c := range r.Evidence {
				if s := messages[c.Message-1]["text"].(string); !text.VerifyQuote(c.Quote, s) {
					t.Fatalf("%+v does not stand in %q", c, s)
				}
			}
		}
	})
}

// Only what people say of themselves in plain words is observed.
func TestObserve(t *testing.T) {
	lines := gossip{chat: []string{"Lin: I moved to Porto, and I like trains.", "Lin: Bo lives in Rome", "Bo: I like that!", "bot Helper: I live in Oslo",
		"小满: 我对花生过敏，我不吃香菜", "Bo: maybe I live in Rome"}}.ask(t)
	var got []string
	for _, r := range lines {
		for _, f := range r.Features {
			got = append(got, r.Subject+" "+f.Key+": "+f.Value)
		}
		for _, i := range r.Impressions {
			got = append(got, r.Subject+" "+i.Text)
		}
	}
	if s := strings.Join(got, ", "); s != "Lin city: Porto, Lin likes trains, 小满 过敏: 花生, 小满 不吃香菜" {
		t.Error(s)
	}
	known := []map[string]any{{"name": "Lin", "kind": "person", "known": map[string]any{"features": map[string]string{"city": "Rome"}}}}
	lines = gossip{subjects: known, chat: []string{"Lin: I live in Porto"}}.ask(t)
	if len(lines) != 1 || len(lines[0].Features) != 1 || lines[0].Features[0].Replaces != "Rome" {
		t.Errorf("%+v", lines)
	}
}
