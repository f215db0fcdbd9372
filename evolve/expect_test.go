package evolve

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/prompts"
)

// TestExpect compares the estimate with what the messages of the sample chat
// really take in a question.
func TestExpect(t *testing.T) {
	set, err := prompts.Open("")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pipeline{Prompts: set, Limits: Limits{MaxMessages: 200, MaxInputTokens: 24000, Target: 30, MaxCreates: 20, Forget: forget}}
	file, err := os.Open("../test/halfframe/chat.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	real, load := map[string]int{}, map[string]reverie.WindowLoad{}
	for in := bufio.NewScanner(file); in.Scan(); {
		var line struct {
			Author, Text string
			SentAt       time.Time `json:"sent_at"`
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		language := prompts.Language("", []string{line.Text})
		m := reverie.Message{Author: line.Author, Text: line.Text, SentAt: line.SentAt, Role: reverie.RoleUser}
		real[language] += prompts.Tokens(prompts.Message(1, 0, m, time.UTC))
		l := load[language]
		load[language] = reverie.WindowLoad{Messages: l.Messages + 1, Bytes: l.Bytes + len(line.Text),
			Characters: l.Characters + utf8.RuneCountInString(line.Text)}
	}
	for _, language := range []string{prompts.English, prompts.Chinese} {
		e, err := p.Expect(language)
		if err != nil {
			t.Fatal(err)
		}
		calls, input := e.Window(load[language])
		texts := input - calls*e.base
		if ratio := float64(texts) / float64(real[language]); ratio < 0.75 || ratio > 1.35 || load[language].Messages < 50 {
			t.Errorf("%s: %d messages take %d tokens, %d are expected (%.2f)", language, load[language].Messages, real[language], texts, ratio)
		}
	}
}

func TestExpectCalls(t *testing.T) {
	e := Expectation{limits: Limits{MaxMessages: 200, MaxInputTokens: 10000}, base: 2000, message: 30}
	for _, c := range []struct{ messages, characters, bytes, calls, input int }{
		{0, 0, 0, 0, 0},
		{1, 100, 100, 1, 2000 + 30 + 22},
		{200, 1000, 1000, 1, 2000 + 6000 + 220},
		{201, 1000, 1000, 2, 4000 + 6030 + 220},
		{10, 20000, 60000, 3, 6000 + 300 + 16800}, // all Chinese
	} {
		calls, input := e.Window(reverie.WindowLoad{Messages: c.messages, Characters: c.characters, Bytes: c.bytes})
		if calls != c.calls || input != c.input {
			t.Errorf("%d messages: %d calls, %d tokens; want %d, %d", c.messages, calls, input, c.calls, c.input)
		}
	}
}
