package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

func TestGenerateRefusesOtherPrompts(t *testing.T) {
	for _, user := range []string{"", "hello", "[]", "null", "{}", `{"existing_memories":[]}`, `{"new_discussions":{}}`,
		`{"new_discussions":[{"id":"one"}]}`, `{"dialogue":[{"text":"hi"}]}`, `{"new_discussions":[]`} {
		resp, err := New(0).Generate(context.Background(), llm.Request{User: user})
		var fault *llm.Error
		if !errors.As(err, &fault) || fault.Fault != llm.FaultBadRequest || fault.Provider != "offline" {
			t.Errorf("%q: %+v, %v; want a bad request", user, resp, err)
		}
	}
}

func TestGenerateSaysNone(t *testing.T) {
	for _, user := range []string{`{"new_discussions":null}`, `{"existing_memories":[],"new_discussions":[]}`,
		`{"new_discussions":[{"id":1,"text":"good morning"}]}`} {
		resp, err := New(0).Generate(context.Background(), llm.Request{User: user})
		if err != nil || resp.Text != `{"action":"none"}`+"\n" || resp.Finish != llm.FinishStop {
			t.Errorf("%s: %+v, %v", user, resp, err)
		}
	}
}

func TestGenerateStopsAtMaxTokens(t *testing.T) {
	user := `{"existing_memories":[{"id":"m1","statement":"a cat"},{"id":"m2","statement":"a dog"},{"id":"m3","statement":"a bird"}],"new_discussions":[]}`
	whole, err := New(0).Generate(context.Background(), llm.Request{User: user, MaxTokens: 1000})
	if err != nil || whole.Finish != llm.FinishStop {
		t.Fatal(whole, err)
	}
	cut, err := New(0).Generate(context.Background(), llm.Request{User: user, MaxTokens: whole.Usage.OutputTokens / 2})
	if err != nil || cut.Finish != llm.FinishLength || !strings.HasPrefix(whole.Text, cut.Text) || cut.Text == whole.Text {
		t.Errorf("%+v, %v", cut, err)
	}
}

func TestGenerateStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New(0).Generate(ctx, llm.Request{User: `{"new_discussions":[]}`}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	user := busyPrompt(t, 20, 100)
	first, err := New(0).Generate(context.Background(), llm.Request{User: user})
	if err != nil {
		t.Fatal(err)
	}
	m := New(64)
	for range 2 {
		again, err := m.Generate(context.Background(), llm.Request{User: user})
		if err != nil || again != first {
			t.Fatal("not the same twice", err)
		}
	}
}

// Evidence beside context: a restatement in the earlier discussions counts, but
// never alone.
func TestEarlierDiscussionsAreCitedBesideNewOnes(t *testing.T) {
	earlier := []map[string]any{{"id": 1, "author": "ann", "text": "The weekly demo starts every Friday at noon."},
		{"id": 2, "author": "cy", "text": "The office closes at ten every night in winter"},
		{"id": 3, "author": "dee", "text": "in winter the office closes at ten every night"}}
	lines := ask(t, New(0), map[string]any{"earlier_discussions": earlier,
		"new_discussions": []map[string]any{{"id": 4, "author": "bob", "text": "yes, the weekly demo starts Friday at noon"}}})
	if len(lines) != 1 || len(lines[0].Evidence) != 2 || lines[0].Evidence[0].Message+lines[0].Evidence[1].Message != 5 {
		t.Errorf("got %+v", lines)
	}
}

// Hundreds of strangers in a support channel: whatever is proposed reads like a
// sentence, and most of it is not proposed at all.
func TestNoisyChannelMakesNoGarbage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	lines := []string{"lol", "hi all", "is anyone here?", "how do I mount a usb drive?", "%s: try sudo apt-get install vlc", "%s: sudo apt-get update first",
		"!ask | %s", "/msg ubottu help", "http://paste.example.org/%d/", "%s: see http://wiki.example.org/Sound", "* %s has quit (Ping timeout)",
		"E: Unable to locate package foo%d", "at java.lang.Thread.run(Thread.java:%d)", "Traceback (most recent call last):", "thanks %s",
		"%s: you need to restart X after that", "you need to restart X after that", "0x%08d segfault in libfoo.so", "haha same here", "brb",
		"my wifi does not work since yesterday", "anyone know why my wifi does not work?", "%s: what is the output of lspci?", "ok", "yes", "no",
		"[12:0%d] <%s> it works for me", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "hmm :)", "^^^", "wat", "%s, ping", "gnome is not loading", "it worked!!"}
	created := 0
	for chunk := range 10 {
		var chat []map[string]any
		for i := range 200 {
			text := lines[r.IntN(len(lines))]
			for strings.Contains(text, "%") {
				if at := strings.Index(text, "%"); text[at+1] == 's' {
					text = strings.Replace(text, "%s", fmt.Sprintf("nick%d", r.IntN(300)), 1)
				} else {
					text = strings.NewReplacer("%d", fmt.Sprint(r.IntN(10)), "%08d", fmt.Sprintf("%08d", r.IntN(1e7))).Replace(text)
				}
			}
			chat = append(chat, map[string]any{"id": i + 1, "author": fmt.Sprintf("nick%d", r.IntN(300)), "text": text,
				"time": time.Unix(int64(chunk*9000+i*40), 0).UTC().Format(time.RFC3339)})
		}
		for _, l := range ask(t, New(0), map[string]any{"new_discussions": chat}) { // no memories: creates only
			created++
			t.Logf("%s", l.Statement)
			if strings.ContainsAny(l.Statement, "!?/<>*|=") || strings.Contains(l.Statement, "nick") || strings.Contains(l.Statement, "wifi") {
				t.Errorf("garbage: %q", l.Statement)
			}
		}
	}
	if created > 10 {
		t.Errorf("%d memories from 2000 lines of noise", created)
	}
}

func FuzzGenerate(f *testing.F) {
	f.Add(`{"existing_memories":[{"id":"m1","statement":"周会每周一","stale":"its date has passed"}],"new_discussions":[{"id":1,"author":"a","text":"周会改到周二"}]}`, 0)
	f.Add(`{"new_discussions":[{"id":1,"author":"a","text":"We meet every Friday at noon in the lab"},{"id":2,"author":"b","text":"every Friday at noon we meet in the lab"}]}`, 50)
	f.Add(`{"new_discussions":[{"id":-1,"text":"。"},{"id":1,"text":"\u200b"},{"id":1,"author":"说：","text":" says: ，：, : "}]}`, 1)
	f.Add(`{"existing_memories":[{"id":"","statement":"x"},{"id":"m1","statement":" says: "}],"new_discussions":[{"id":9,"role":"tool","text":"a. b! c"}]}`, 0)
	m := New(32)
	f.Fuzz(func(t *testing.T, user string, maxTokens int) {
		resp, err := m.Generate(context.Background(), llm.Request{User: user, MaxTokens: maxTokens})
		if err != nil || resp.Finish != llm.FinishStop {
			return
		}
		var in struct {
			Memories []memory  `json:"existing_memories"`
			Earlier  []message `json:"earlier_discussions"`
			New      []message `json:"new_discussions"`
		}
		if err := json.Unmarshal([]byte(user), &in); err != nil {
			t.Fatal(err)
		}
		for _, l := range readLines(t, resp.Text) {
			checkLine(t, l, in.Memories, append(in.Earlier, in.New...))
		}
	})
}

// checkLine fails on what no answer may hold, whatever was asked.
func checkLine(t *testing.T, l evolveLine, memories []memory, messages []message) {
	known := l.Action == reverie.ActionCreate
	for _, m := range memories {
		known = known || m.ID == l.OldID
	}
	if !known {
		t.Fatalf("no such memory: %+v", l)
	}
	if l.Statement != "" && safety.CheckStatement(l.Statement) != nil {
		t.Fatalf("a statement that would be refused: %q", l.Statement)
	}
	if said := unattributed(l.Statement); said != "" && !slices.ContainsFunc(messages, func(m message) bool {
		return strings.Contains(strings.Join(strings.Fields(m.Text), " "), said)
	}) {
		t.Fatalf("nobody wrote %q", said)
	}
	for _, e := range l.Evidence {
		quoted := false
		for _, m := range messages {
			quoted = quoted || m.ID == e.Message && m.fromPerson() && strings.Contains(m.Text, e.Quote)
		}
		if !quoted {
			t.Fatalf("no such words: %+v", e)
		}
	}
}

// busyPrompt is a chat about a handful of subjects, with memories of some.
func busyPrompt(t testing.TB, memories, messages int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	subjects := []string{"badminton", "zine", "review", "darkroom", "meeting", "羽毛球", "周会", "胶卷", "暗房", "早餐", "deadline", "backup", "release"}
	rest := []string{"is on Friday evening at the riverside gym, as every week", "moved to the second floor of the old building and costs 40 yuan",
		"needs two people who know what they are doing before anything is merged", "每周四晚上七点半在滨江体育馆，老K 负责", "改到周二晚上九点，还是语音频道开",
		"放在工作室一楼的信箱里，用完放回去，不要带回家", "is cancelled for good because nobody came any more", "那天大家都很开心，拍了很多照片，回来写了总结"}
	sentence := func() string {
		return subjects[r.IntN(len(subjects))] + " " + rest[r.IntN(len(rest))] + ", " + subjects[r.IntN(len(subjects))]
	}
	var in struct {
		Memories []map[string]any `json:"existing_memories"`
		New      []map[string]any `json:"new_discussions"`
	}
	for i := range memories {
		in.Memories = append(in.Memories, map[string]any{"id": fmt.Sprintf("m%d", i+1), "statement": sentence(), "stale": strings.Repeat("x", max(0, 1-i%7))})
	}
	for i := range messages {
		in.New = append(in.New, map[string]any{"id": i + 1, "author": fmt.Sprintf("p%d", i%9), "text": sentence() + ". " + sentence(),
			"time": time.Unix(int64(i*300), 0).UTC().Format(time.RFC3339)})
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func BenchmarkGenerate(b *testing.B) {
	user := busyPrompt(b, 50, 200)
	m := New(0)
	for b.Loop() {
		if _, err := m.Generate(context.Background(), llm.Request{User: user}); err != nil {
			b.Fatal(err)
		}
	}
}
