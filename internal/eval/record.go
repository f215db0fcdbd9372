package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"reverie/internal/llm"
	"reverie/internal/llm/answer"
)

// Model answers a prompt.
type Model interface {
	Generate(ctx context.Context, meta llm.Meta, req llm.Request) (llm.Response, error)
	Name() string // provider/model
}

// Recorder keeps what models answer, in the words of the scenario.
type Recorder struct {
	scene
	answers []Answer
	err     error
}

// Of is a model whose answers are kept.
func (r *Recorder) Of(m Model) Model { return recording{m, r} }

// At says which night of which scenario comes next.
func (r *Recorder) At(s *Scenario, night string, standing Standing) {
	if r.scenario != s {
		r.answers, r.err = nil, nil
	}
	r.scene = scene{s, night, standing}
}

// Err is why an answer could not be kept.
func (r *Recorder) Err() error { return r.err }

// Save writes the answers of the scenario into its folder, over those that were there.
func (r *Recorder) Save() error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, a := range r.answers {
		if err := enc.Encode(a); err != nil {
			return fmt.Errorf("write the answers of scenario %s: %w", r.scenario.Name, err)
		}
	}
	file := filepath.Join(r.scenario.Dir, answersFile)
	temp := file + ".new"
	if err := os.WriteFile(temp, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the answers of scenario %s: %w", r.scenario.Name, err)
	}
	return os.Rename(temp, file)
}

// recording is a model and who keeps its answers.
type recording struct {
	Model
	to *Recorder
}

// Generate asks the model and keeps its answer, masked as everything that models say.
func (r recording) Generate(ctx context.Context, meta llm.Meta, req llm.Request) (llm.Response, error) {
	resp, err := r.Model.Generate(ctx, meta, req)
	if err != nil {
		return resp, err
	}
	n, err := r.to.names(ctx, req)
	if err != nil {
		r.to.err = err
		return resp, err
	}
	r.to.answers = append(r.to.answers, n.record(r.to.night, purposeOf(req), resp))
	return resp, nil
}

// record is an answer as a scenario keeps it: its lines, where they are all there is to
// it, else its text.
func (n names) record(night, purpose string, resp llm.Response) Answer {
	a := Answer{Night: night, Purpose: purpose}
	if resp.Finish != llm.FinishStop {
		a.Finish, a.Text = string(resp.Finish), resp.Text
		return a
	}
	read := answer.Read(resp.Text)
	if len(read.Skipped) > 0 || len(read.Lines) == 0 {
		if a.Text = resp.Text; a.Text == "" {
			a.Finish = string(resp.Finish)
		}
		return a
	}
	for _, l := range read.Lines {
		a.Lines = append(a.Lines, n.told(l.Object))
	}
	return a
}
