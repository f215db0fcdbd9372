package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"reverie/internal/llm"
	"reverie/internal/pipeline"
)

// Exchange is one question and its answer, word for word.
type Exchange struct {
	Scenario string     `json:"scenario"`
	Purpose  string     `json:"purpose"`
	Prompt   string     `json:"prompt"`
	System   string     `json:"system"`
	User     string     `json:"user"`
	Answer   string     `json:"answer"`
	Finish   llm.Finish `json:"finish,omitempty"`
	Usage    llm.Usage  `json:"usage"`
	Error    string     `json:"error,omitempty"`
}

// Transcript is a model whose questions and answers are written down, a line of JSON each.
type Transcript struct {
	pipeline.Model
	To io.Writer
}

// Generate asks the model and writes down what it was asked and what it said.
func (t Transcript) Generate(ctx context.Context, meta llm.Meta, req llm.Request) (llm.Response, error) {
	resp, err := t.Model.Generate(ctx, meta, req)
	e := Exchange{Scenario: meta.GroupID, Purpose: meta.Purpose, Prompt: req.Prompt, System: req.System, User: req.User,
		Answer: resp.Text, Finish: resp.Finish, Usage: resp.Usage}
	if err != nil {
		e.Error = err.Error()
	}
	enc := json.NewEncoder(t.To)
	enc.SetEscapeHTML(false)
	if failed := enc.Encode(e); failed != nil {
		return resp, fmt.Errorf("write down the answer of the model: %w", failed)
	}
	return resp, err
}
