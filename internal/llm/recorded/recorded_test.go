package recorded_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/llm/recorded"
	"reverie/internal/reverie"
)

func TestPlays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers.jsonl")
	data := `{"question": "` + recorded.Key(`{"a":1}`) + `", "lines": [{"action":"keep"}, {"action":"none"}]}`
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := recorded.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // as often as it is asked
		resp, err := p.Generate(t.Context(), llm.Request{System: "any words", User: `{"a":1}`, Prompt: "memory_evolve"})
		if err != nil || resp.Text != "{\"action\":\"keep\"}\n{\"action\":\"none\"}\n" || resp.Finish != llm.FinishStop {
			t.Errorf("%+v, %v", resp, err)
		}
	}
	_, err = p.Generate(t.Context(), llm.Request{User: `{"a":2}`, Prompt: "memory_evolve"})
	var fault *llm.Error
	if !errors.As(err, &fault) || fault.Fault != llm.FaultUnrecorded {
		t.Fatalf("a question without an answer: %v", err)
	}
	for _, word := range []string{file, "no answer is recorded", recorded.Key(`{"a":2}`), "memory_evolve", "--llm"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error lacks %q: %v", word, err)
		}
	}
}

func TestRefusesWhatIsNoRecording(t *testing.T) {
	for _, data := range []string{`{`, `{"question":"ab"}`, `{"lines":[{}]}`, `[]`} {
		if _, err := recorded.New("x", []byte(data)); !errors.Is(err, reverie.ErrConfiguration) || !strings.HasPrefix(err.Error(), "x: ") {
			t.Errorf("%s: %v", data, err)
		}
	}
	if _, err := recorded.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, reverie.ErrConfiguration) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestRekey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers.jsonl")
	write := func(keys ...string) {
		var b strings.Builder
		for _, key := range keys {
			b.WriteString(`{"question":"` + recorded.Key(key) + `","lines":[{"of":"` + key + `"}]}` + "\n")
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "b", "c")
	r, err := recorded.Rekey(file)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]string{"b": "b"} {
		if resp, err := r.Generate(t.Context(), llm.Request{User: user}); err != nil || !strings.Contains(resp.Text, want) {
			t.Errorf("%s: %+v, %v", user, resp, err)
		}
	}
	if resp, err := r.Generate(t.Context(), llm.Request{User: "new"}); err != nil || !strings.Contains(resp.Text, `"a"`) {
		t.Errorf("%+v, %v", resp, err)
	}
	if r.Save() == nil {
		t.Error("an answer was lost")
	}
	if _, err := r.Generate(t.Context(), llm.Request{User: "c"}); err != nil {
		t.Error(err)
	}
	if _, err := r.Generate(t.Context(), llm.Request{User: "d"}); err == nil {
		t.Error("more was answered than is there")
	}
	if err := r.Save(); err != nil {
		t.Fatal(err)
	}
	p, err := recorded.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := p.Generate(t.Context(), llm.Request{User: "new"}); err != nil || !strings.Contains(resp.Text, `"a"`) {
		t.Errorf("%+v, %v", resp, err)
	}
}
