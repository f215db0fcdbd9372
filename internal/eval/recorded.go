package eval

import (
	"context"
	"fmt"
	"strings"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// scene is where in a scenario a question is asked.
type scene struct {
	scenario *Scenario
	night    string
	standing Standing
}

func (s scene) names(ctx context.Context, req llm.Request) (names, error) {
	standing, err := s.standing(ctx)
	if err != nil {
		return names{}, err
	}
	return namesIn(req.User, s.scenario.Messages, standing), nil
}

// Recorded is a model that gives the recorded answers of scenarios, and asks nobody. It
// goes by night, purpose and order, not by the words of the question.
type Recorded struct {
	scene
	given   map[string]int // by night and purpose
	missing error
}

// RecordedModel is the name of the model that recorded answers come from.
const RecordedModel = "recorded"

// At says which night of which scenario comes next.
func (r *Recorded) At(s *Scenario, night string, standing Standing) {
	if r.scenario != s {
		r.given, r.missing = map[string]int{}, nil
	}
	r.scene = scene{s, night, standing}
}

// Err is what was asked and had not been recorded.
func (r *Recorded) Err() error { return r.missing }

// Generate gives the next answer of the night for the purpose.
func (r *Recorded) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	purpose := purposeOf(req)
	key := r.night + " " + purpose
	next := r.given[key]
	r.given[key]++
	for _, a := range r.scenario.Answers {
		if a.Night != r.night || a.Purpose != purpose {
			continue
		}
		if next--; next >= 0 {
			continue
		}
		n, err := r.names(ctx, req)
		if err != nil {
			return llm.Response{}, err
		}
		return a.response(n), nil
	}
	if r.missing == nil {
		r.missing = fmt.Errorf("scenario %s: no answer %d for %s is recorded for the night of %s: add it to %s/%s, or record them anew with --record: %w",
			r.scenario.Name, r.given[key], purpose, r.night, r.scenario.Dir, answersFile, reverie.ErrInvalid)
	}
	return llm.Response{}, r.missing
}

// response is the answer to a question that names things as n says.
func (a Answer) response(n names) llm.Response {
	text := a.Text
	if len(a.Lines) > 0 {
		lines := make([]string, len(a.Lines))
		for i, l := range a.Lines {
			lines[i] = string(n.asked(l))
		}
		text = strings.Join(lines, "\n")
	}
	resp := llm.Response{Text: text, Finish: llm.FinishStop}
	if a.Finish != "" {
		resp.Finish = llm.Finish(a.Finish)
	}
	return resp
}
