package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"reverie/evolve"
	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// wire makes the pipeline of a night. It returns where those questions are counted that
// a decision stood in for.
func (c *course) wire(ctx context.Context, s *stage) (*evolve.Pipeline, *int, error) {
	p, row, stoodIn := *c.Pipeline, s.past.Run, new(int)
	now := row.StartedAt
	if row.Stats.OpenEnded { // taken up again, it reached as far as the clock then said
		now = row.WindowUntil
	}
	c.Clock.Set(now)
	p.Store, p.Now, p.Progress = s, c.Clock.Now, nil
	if !c.Recorded {
		return &p, stoodIn, nil
	}
	p.Model = silent{row.Model}
	layer, compares := p.Decider.(*decide.Comparer)
	if !compares {
		return &p, stoodIn, nil
	}
	answers, err := c.Live.Answers(ctx, c.groupID, row.ID, "compare")
	if err != nil {
		return nil, nil, err
	}
	again := *layer
	again.Journal = journal(answers)
	again.Model = standIn{name: comparedBy(s.live.Decisions, row.Model), decisions: s.live.Decisions, asked: stoodIn}
	p.Decider = &again
	return &p, stoodIn, nil
}

// comparedBy is the model that compared facts in a run, or the run's own.
func comparedBy(decisions []reverie.Decision, model string) string {
	for _, d := range decisions {
		if d.Model != "" {
			return d.Model
		}
	}
	return model
}

// silent has the name of a model, and is never asked: evolve has the answers.
type silent struct{ name string }

func (m silent) Name() string { return m.name }

func (m silent) Generate(context.Context, llm.Meta, llm.Request) (llm.Response, error) {
	return llm.Response{}, fmt.Errorf("a recorded replay has no answer to a question to %s: %w", m.name, reverie.ErrUnusable)
}

// journal is what a run was answered. Nothing is added to it.
type journal map[string]string

func (j journal) Answers(context.Context, string, string, string) (map[string]string, error) {
	return j, nil
}

func (j journal) SaveAnswer(context.Context, reverie.Lease, reverie.Answer) error { return nil }

// standIn answers a comparison that was not asked in these words, by the decision that
// was made on the same fact: the verdicts on the same candidates, and unrelated for
// others.
type standIn struct {
	name      string
	decisions []reverie.Decision
	asked     *int
}

func (m standIn) Name() string { return m.name }

func (m standIn) Generate(_ context.Context, _ llm.Meta, req llm.Request) (llm.Response, error) {
	var question prompts.CompareUser
	begin, end := strings.IndexByte(req.User, '{'), strings.LastIndexByte(req.User, '}')
	if begin < 0 || end < begin || json.Unmarshal([]byte(req.User[begin:end+1]), &question) != nil {
		return llm.Response{}, fmt.Errorf("the question about a new statement cannot be read, and no decision stands in for its answer: %w", reverie.ErrUnusable)
	}
	*m.asked++
	for _, d := range m.decisions {
		if d.Statement == question.Fact.Statement && d.Basis == reverie.BasisFallback { // the question came to nothing then
			return llm.Response{}, &llm.Error{Fault: llm.FaultBadRequest, Err: errors.New(d.Reason)}
		}
	}
	var b strings.Builder
	for _, c := range question.Candidates {
		line, err := json.Marshal(m.verdict(question.Fact.Statement, c))
		if err != nil {
			return llm.Response{}, fmt.Errorf("write a verdict: %w", err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return llm.Response{Text: b.String(), Finish: llm.FinishStop}, nil
}

// verdict is a line of an answer.
type verdict struct {
	ID        string           `json:"id"`
	Reason    string           `json:"reason"`
	Relation  reverie.Relation `json:"relation"`
	Statement string           `json:"statement,omitempty"`
}

func (m standIn) verdict(fact string, c prompts.CandidateView) verdict {
	for _, d := range m.decisions {
		if d.Statement != fact {
			continue
		}
		for _, known := range d.Candidates {
			if known.Statement == c.Statement && known.Relation != "" {
				return verdict{c.ID, cmp.Or(known.Reason, string(known.Relation)), known.Relation, known.Merged}
			}
		}
	}
	return verdict{c.ID, "it was not compared with this then", reverie.RelationUnrelated, ""}
}
