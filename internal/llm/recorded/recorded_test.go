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
