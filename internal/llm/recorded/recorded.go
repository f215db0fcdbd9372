// Package recorded is a model that replays recorded answers and calls nobody. It finds an answer by the hash of its
// question, so the same questions may be asked in any order and any number of times.
//
// Answers are JSON Lines: {"question": "<hash>", "lines": [{...}, ...]}, where each element of lines is a line of
// the answer. `go test ./test/e2e -run TestDemo -update` records those of the demo.
package recorded

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// The names of this model in the rows of calls.
const (
	Provider = "recorded"
	Model    = "answers"
)

// Answer is one recorded answer.
type Answer struct {
	Question string            `json:"question"` // its Key
	Lines    []json.RawMessage `json:"lines"`
}

// Text returns the answer as a model writes it.
func (a Answer) Text() string {
	var b strings.Builder
	for _, line := range a.Lines {
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// Key identifies a question by its data, the user part of a prompt. It leaves out the instructions, so answers stay
// valid when the prompt is reworded.
func Key(user string) string {
	sum := sha256.Sum256([]byte(user))
	return hex.EncodeToString(sum[:8])
}

// Player is an [llm.Generator] that answers from a recording.
type Player struct {
	name    string
	answers map[string]Answer
}

var _ llm.Generator = (*Player)(nil)

// Open returns a player of the answers in a file. Its error is a
// [reverie.ErrConfiguration].
func Open(file string) (*Player, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the recorded answers: %w: %w", reverie.ErrConfiguration, err)
	}
	return New(file, data)
}

// New returns a player of answers in JSON Lines. name is their source in errors. Its error is a
// [reverie.ErrConfiguration].
func New(name string, data []byte) (*Player, error) {
	list, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, reverie.ErrConfiguration, err)
	}
	p := &Player{name: name, answers: make(map[string]Answer, len(list))}
	for _, a := range list {
		p.answers[a.Question] = a
	}
	return p, nil
}

// Read returns answers in the order of the file.
func Read(data []byte) ([]Answer, error) {
	var list []Answer
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var a Answer
		switch err := d.Decode(&a); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("answer %d: %w", len(list)+1, err)
		case a.Question == "" || len(a.Lines) == 0:
			return nil, fmt.Errorf("answer %d has no question or no lines", len(list)+1)
		}
		list = append(list, a)
	}
}

// Generate returns the answer to a question. If there is none, the error is an [*llm.Error] with
// [llm.FaultUnrecorded].
func (p *Player) Generate(_ context.Context, req llm.Request) (llm.Response, error) {
	key := Key(req.User)
	a, ok := p.answers[key]
	if !ok {
		err := fmt.Errorf("%s has none to question %s of the prompt %s: the messages, memories or settings "+
			"differ from those of the recording", p.name, key, req.Prompt)
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultUnrecorded, Err: err}
	}
	answer := a.Text()
	return llm.Response{Text: answer, Finish: llm.FinishStop, Usage: llm.Usage{
		InputTokens:  text.EstimateTokens(req.System) + text.EstimateTokens(req.User),
		OutputTokens: text.EstimateTokens(answer),
	}}, nil
}

// Rekeyer is an [llm.Generator] that updates a recording. It returns the answers of a file in order, or by question
// if the question is unchanged, and stores them under the current questions.
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

// Generate returns the next answer.
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

// Save overwrites the answers of the file. If an answer was not used, it returns an error and changes nothing.
func (r *Rekeyer) Save() error {
	if len(r.left) > 0 {
		return errors.New("nothing asks any more for the answer to question " + r.left[0].Question)
	}
	return os.WriteFile(r.file, r.now.Bytes(), 0o644)
}
