package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"reverie/internal/eval/dataset"
	"reverie/internal/reverie"
)

// purposeAsk is the purpose of calls for answers and judgements.
const purposeAsk = "ask"

// Benchmark plays conversations of a public benchmark.
type Benchmark struct {
	*Player
	Format dataset.Format
	Ask    dataset.Ask // nil: questions are not answered
	Out    io.Writer   // gets a line for each question
	Report dataset.Report
}

// Play plays a conversation and asks its questions, which the report counts.
func (b *Benchmark) Play(ctx context.Context, c dataset.Conversation) error {
	s, err := scenarioOf(c)
	if err != nil {
		return err
	}
	played, err := b.Player.Play(ctx, s)
	if err != nil {
		return err
	}
	out := json.NewEncoder(b.Out)
	out.SetEscapeHTML(false)
	for i, q := range c.Questions {
		line, err := b.line(ctx, c, q, played.Questions[i])
		if err != nil {
			return err
		}
		if err := out.Encode(line); err != nil {
			return err
		}
		b.Report.Add(line)
		addNumbers(reflect.ValueOf(&b.Report.Stages).Elem(), reflect.ValueOf(played.Questions[i].Recall.Stages))
	}
	r := &b.Report
	costs, err := b.costs(ctx, s.Name)
	if err != nil {
		return err
	}
	for _, m := range costs.Models {
		if m.Purpose == purposeAsk {
			r.Asking = r.Asking.Plus(m.Spend)
		}
	}
	r.Conversations++
	r.Messages += len(s.Messages)
	r.Nights += len(played.Nights)
	r.Unusable, r.Refused, r.Held = r.Unusable+played.Unusable, r.Refused+played.Refused, r.Held+played.Held
	r.Memories += len(played.Nights[len(played.Nights)-1].Active)
	r.Spend, r.Embedding = r.Spend.Plus(played.Spend), r.Embedding.Plus(played.Embedding)
	r.Seconds += played.Took.Seconds()
	return nil
}

func (b *Benchmark) line(ctx context.Context, c dataset.Conversation, q dataset.Question, got Looked) (dataset.Line, error) {
	line := dataset.NewLine(c, q)
	var statements []string
	for _, h := range got.Hits {
		statements = append(statements, h.Statement)
	}
	line.Search = q.Give(statements, got.HitTokens, got.BySearch, got.BM25AsSearch)
	line.Context = q.Give([]string{got.Reply.Text}, got.Reply.Tokens, got.ByContext, got.BM25AsContext)
	if b.Ask == nil {
		return line, nil
	}
	answer, err := b.Format.Answer(ctx, b.Ask, c, q, got.Reply.Text)
	if err != nil {
		return line, err
	}
	line.Answer = &answer
	line.Judgement, err = b.Format.Grade(ctx, b.Ask, c, q, answer)
	return line, err
}

// scenarioOf converts a conversation to a scenario.
func scenarioOf(c dataset.Conversation) (*Scenario, error) {
	s := &Scenario{Name: c.ID, Title: c.ID, Language: "en", TimeZone: "UTC", Messages: slices.Clone(c.Messages), AskedAt: c.AskedAt}
	for i := range s.Messages {
		if err := s.Messages[i].Normalize(); err != nil {
			return nil, fmt.Errorf("message %q: %w", s.Messages[i].ID, err)
		}
	}
	slices.SortStableFunc(s.Messages, func(a, b reverie.Message) int { return a.SentAt.Compare(b.SentAt) })
	for _, q := range c.Questions {
		s.Questions = append(s.Questions, Question{Text: q.Query(), Evidence: q.Evidence})
	}
	var err error
	s.Nights, err = Nights(s)
	return s, err
}
