package recorded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"reverie/internal/llm"
)

// Rekeyer is an [llm.Generator] that brings a recording up to date: it plays the
// answers of a file in their order, or by question where that is still asked, and
// keeps them under the questions of now.
type Rekeyer struct {
	file string

	mu   sync.Mutex
	left []Answer
	now  bytes.Buffer
}

// Rekey returns a Rekeyer of the answers in a file.
func Rekey(file string) (*Rekeyer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	left, err := Read(data)
	return &Rekeyer{file: file, left: left}, err
}

// Generate plays the next answer.
func (r *Rekeyer) Generate(_ context.Context, req llm.Request) (llm.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := Key(req.User)
	if len(r.left) == 0 {
		err := fmt.Errorf("no answer is left for question %s: %s", key, req.User)
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultUnrecorded, Err: err}
	}
	at := max(0, slices.IndexFunc(r.left, func(a Answer) bool { return a.Question == key }))
	a := r.left[at]
	r.left = slices.Delete(r.left, at, at+1)
	a.Question = key
	enc := json.NewEncoder(&r.now)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a); err != nil {
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultUnrecorded, Err: err}
	}
	return llm.Response{Text: a.Text(), Finish: llm.FinishStop}, nil
}

// Save writes the answers over those of the file. An answer that nothing asked for
// is an error, and changes nothing.
func (r *Rekeyer) Save() error {
	if len(r.left) > 0 {
		return errors.New("nothing asks any more for the answer to question " + r.left[0].Question)
	}
	return os.WriteFile(r.file, r.now.Bytes(), 0o644)
}
