package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/llm/recorded"
)

// rekeyer brings a recording up to date: it plays the
// answers of a file in their order, or by question where that is still asked, and
// keeps them under the questions of now.
type rekeyer struct {
	file string

	mu   sync.Mutex
	left []recorded.Answer
	now  bytes.Buffer
}

// rekey returns a rekeyer of the answers in a file.
func rekey(file string) (*rekeyer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	left, err := recorded.Read(data)
	return &rekeyer{file: file, left: left}, err
}

// answer plays the next answer.
func (r *rekeyer) answer(req llm.Request) (llm.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := recorded.Key(req.User)
	if len(r.left) == 0 {
		err := fmt.Errorf("no answer is left for question %s: %s", key, req.User)
		return llm.Response{}, &llm.Error{Provider: recorded.Provider, Fault: llm.FaultUnrecorded, Err: err}
	}
	at := max(0, slices.IndexFunc(r.left, func(a recorded.Answer) bool { return a.Question == key }))
	a := r.left[at]
	r.left = slices.Delete(r.left, at, at+1)
	a.Question = key
	enc := json.NewEncoder(&r.now)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a); err != nil {
		return llm.Response{}, &llm.Error{Provider: recorded.Provider, Fault: llm.FaultUnrecorded, Err: err}
	}
	return llm.Response{Text: a.Text(), Finish: llm.FinishStop}, nil
}

// save writes the answers over those of the file. An answer that nothing asked for
// is an error, and changes nothing.
func (r *rekeyer) save() error {
	if len(r.left) > 0 {
		return errors.New("nothing asks any more for the answer to question " + r.left[0].Question)
	}
	return os.WriteFile(r.file, r.now.Bytes(), 0o644)
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
	r, err := rekey(file)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]string{"b": "b"} {
		if resp, err := r.answer(llm.Request{User: user}); err != nil || !strings.Contains(resp.Text, want) {
			t.Errorf("%s: %+v, %v", user, resp, err)
		}
	}
	if resp, err := r.answer(llm.Request{User: "new"}); err != nil || !strings.Contains(resp.Text, `"a"`) {
		t.Errorf("%+v, %v", resp, err)
	}
	if r.save() == nil {
		t.Error("an answer was lost")
	}
	if _, err := r.answer(llm.Request{User: "c"}); err != nil {
		t.Error(err)
	}
	if _, err := r.answer(llm.Request{User: "d"}); err == nil {
		t.Error("more was answered than is there")
	}
	if err := r.save(); err != nil {
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
