package prompts_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// systems are what every prompt is filled with; users are some data, of which little is needed.
var systems = map[string]prompts.System{
	prompts.MemoryEvolve: crowded, prompts.MemoryCompare: prompts.CompareSystem{MaxStatement: 500},
	prompts.MemoryAsk: prompts.AskSystem{MaxAnswer: 800}, prompts.SessionExtract: prompts.ExtractSystem{MaxStatement: 500, MaxFacts: 12},
	prompts.SessionSummarize:  prompts.SummarizeSystem{MaxSummary: 2000},
	prompts.Dream:             prompts.DreamSystem{MaxStatement: 500, MaxItems: 8, MinConfidence: 0.6},
	prompts.ImpressionObserve: prompts.ObserveSystem{MaxValue: 200, MaxName: 80},
}

// TestSmall shows a person the short prompts, and holds each to three quarters of the full one's tokens.
func TestSmall(t *testing.T) {
	full := open(t, "")
	small := full.Fitted(true, 0)
	for name, system := range systems {
		for _, language := range []string{prompts.English, prompts.Chinese} {
			long, err := full.Render(language, system, prompts.EvolveUser{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := small.Render(language, system, prompts.EvolveUser{})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".small."+language, r)
			if r.Name != name+".small."+language || long.Name != name+"."+language || r.SHA256 == long.SHA256 {
				t.Errorf("%s is rendered as %s", long.Name, r.Name)
			}
			if version, sum := small.Version(name, language); version != r.Version || sum != r.SHA256 {
				t.Errorf("%s: a run would record version %q", r.Name, version)
			}
			was, is := text.EstimateTokens(long.System), text.EstimateTokens(r.System)
			t.Logf("%s: %d tokens, the full one %d (%d%%)", r.Name, is, was, 100*is/was)
			if 4*is > 3*was {
				t.Errorf("%s has %d tokens, and three quarters of the full one are %d", r.Name, is, 3*was/4)
			}
			if strings.Contains(r.System, "{{") || strings.Contains(r.System, "<no value>") {
				t.Errorf("%s: something is not filled in", r.Name)
			}
		}
		if small.Tokens(name) >= full.Tokens(name) || small.Tokens(name) == 0 {
			t.Errorf("%s: the short one is said to have %d tokens, the full one %d", name, small.Tokens(name), full.Tokens(name))
		}
	}
}

// TestExamplesHaveTheForm: what a prompt shows as a line is one that a grammar lets a model write,
// in the same order of keys. The short prompts show no key that the full ones do not.
func TestExamplesHaveTheForm(t *testing.T) {
	full := open(t, "")
	for name, system := range systems {
		keys := map[bool]map[string]bool{false: {}, true: {}}
		for _, small := range []bool{false, true} {
			r, err := full.Fitted(small, 0).Render(prompts.Chinese, system, prompts.EvolveUser{})
			if err != nil {
				t.Fatal(err)
			}
			form, found := answer.FormOf(r.Name)
			if !found {
				t.Fatalf("%s has no form", r.Name)
			}
			shown := 0
			for line := range strings.Lines(r.System) {
				at := strings.Index(line, `{"`)
				if at < 0 {
					continue
				}
				d := json.NewDecoder(strings.NewReader(line[at:]))
				var object json.RawMessage
				if d.Decode(&object) != nil || slices.Contains(orderOf(t, object), "author") || bytes.Contains(object, []byte(`"facts":`)) {
					continue // of the example's question
				}
				shown++
				order := orderOf(t, object)
				for _, key := range order {
					keys[small][key] = true
				}
				fits := false
				for _, of := range append([][]string{form.Alone, form.First, form.Last}, form.Any...) {
					fits = fits || of != nil && fitsForm(order, of)
				}
				if !fits {
					t.Errorf("%s shows %s, which no line of its form is", r.Name, object)
				}
			}
			if shown == 0 {
				t.Errorf("%s shows no line", r.Name)
			}
		}
		for key := range keys[true] {
			if !keys[false][key] {
				t.Errorf("%s: only the short prompt shows the key %q of %v", name, key, slices.Sorted(maps.Keys(keys[false])))
			}
		}
	}
}

// TestExamplesAreNoAnswers: whatever a short prompt shows as something to remember is skipped where
// it comes back, also in other evidence; what is near it is not.
func TestExamplesAreNoAnswers(t *testing.T) {
	small := open(t, "").Fitted(true, 0)
	for name, system := range systems {
		for _, language := range []string{prompts.English, prompts.Chinese} {
			r, err := small.Render(language, system, prompts.EvolveUser{})
			if err != nil {
				t.Fatal(err)
			}
			copied := 0
			for _, l := range answer.Read(r.System).Lines {
				var said map[string]any
				if err := json.Unmarshal(l.Object, &said); err != nil {
					t.Fatal(err)
				}
				for _, key := range []string{"statement", "content", "summary"} {
					words, _ := said[key].(string)
					if _, facts := said["facts"]; words == "" || facts {
						continue
					}
					copied++
					for line, lines := range map[string]int{words: 0, words + " 9": 1, "Not " + words: 1} {
						raw, _ := json.Marshal(map[string]any{"type": "fact", key: line, "evidence": []map[string]any{{"message": 9, "quote": "more"}}})
						if got := answer.ReadTo(r.System, string(raw)); len(got.Lines) != lines || len(got.Skipped) != 1-lines {
							t.Errorf("%s: %s is read as %+v", r.Name, raw, got)
						}
					}
				}
			}
			if copied == 0 && name != prompts.ImpressionObserve { // whose subjects must be of the group
				t.Errorf("%s shows nothing as an example", r.Name)
			}
		}
	}
}

// orderOf are the keys of an object, as they are written.
func orderOf(t *testing.T, object json.RawMessage) (keys []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(object)))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// fitsForm tells whether keys are those of a line: the needed ones all, in order.
func fitsForm(keys, form []string) bool {
	for _, field := range form {
		key, _, _ := strings.Cut(field, "=")
		key, optional := strings.CutSuffix(key, "?")
		switch {
		case len(keys) > 0 && keys[0] == key:
			keys = keys[1:]
		case !optional:
			return false
		}
	}
	return len(keys) == 0
}

// TestOwnTextGoesBeforeTheShortOne: what an operator has written counts, also where a short text
// of ours would be taken; one's own short text counts before both.
func TestOwnTextGoesBeforeTheShortOne(t *testing.T) {
	own := head + asks + " Mine."
	dir := write(t, map[string]string{"memory_evolve.en.md": own})
	s := open(t, dir).Fitted(true, 0)
	if r, err := s.Render(prompts.English, system, user); err != nil || !strings.HasSuffix(r.System, "Mine.") {
		t.Errorf("%s, %v", r.Name, err)
	}
	if r, err := s.Render(prompts.Chinese, system, user); err != nil || r.Name != "memory_evolve.small.zh" {
		t.Errorf("the other language: %s, %v", r.Name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "memory_evolve.small.en.md"), []byte(own+" Short."), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := open(t, dir).Fitted(true, 0).Render(prompts.English, system, user); err != nil || !strings.HasSuffix(r.System, "Short.") {
		t.Errorf("both: %s, %v", r.Name, err)
	}
	if r, err := open(t, dir).Render(prompts.English, system, user); err != nil || !strings.HasSuffix(r.System, "Mine.") {
		t.Errorf("both, and room for the full one: %s, %v", r.Name, err)
	}
}

// TestFittedMessages: of a long message no more is shown than there is room for.
func TestFittedMessages(t *testing.T) {
	m := reverie.Message{ID: "1", Author: "Lin", Text: strings.Repeat("周四打羽毛球。", 2000)}
	s := open(t, "")
	for tokens, want := range map[int]int{0: prompts.MaxText, 900: 300, 1_000_000: prompts.MaxText} {
		got := s.Fitted(false, tokens).Messages([]reverie.Message{m}, time.UTC)
		if n := len([]rune(got[0].Text)); n != want {
			t.Errorf("room for %d tokens: %d characters, want %d", tokens, n, want)
		}
	}
}

// TestShortTimes: a short prompt shows each day once, and of a memory what it says.
func TestShortTimes(t *testing.T) {
	at := time.Date(2026, 1, 15, 23, 30, 0, 0, time.UTC)
	var list []reverie.Message
	for i := range 4 {
		list = append(list, reverie.Message{ID: string(rune('a' + i)), Author: "Lin", Role: reverie.RoleUser, SentAt: at.Add(time.Duration(i) * 20 * time.Minute)})
	}
	full := open(t, "")
	var days []string
	for _, view := range full.Fitted(true, 0).Messages(list, time.UTC) {
		days = append(days, view.Time)
	}
	if want := []string{"Thu 2026-01-15", "", "Fri 2026-01-16", ""}; !slices.Equal(days, want) {
		t.Errorf("%q, want %q", days, want)
	}
	if view := full.Messages(list, time.UTC)[1]; view.Time != "2026-01-15T23:50:00Z" {
		t.Errorf("a full prompt shows %q", view.Time)
	}
	memory := prompts.MemoryView{ID: "m1", Statement: "One.", MemoryDetails: &prompts.MemoryDetails{Version: 3}}
	if raw, _ := json.Marshal(full.Fitted(true, 0).Memory(memory)); string(raw) != `{"id":"m1","statement":"One.","type":""}` {
		t.Errorf("a memory is shown as %s", raw)
	}
	if full.Memory(memory) != memory {
		t.Error("a full prompt shows less of a memory")
	}
}
