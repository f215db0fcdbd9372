package eval

import (
	"context"
	"slices"

	"reverie/internal/recall"
)

// ask puts the scenario's questions to the search, to the context for a bot, and to BM25
// over the messages, and says at which place the first answer stands.
func (t *turn) ask(ctx context.Context) error {
	words := newBM25(t.s.Messages)
	for _, q := range t.s.Questions {
		var a Answered
		hits, err := t.Searcher.Search(ctx, recall.Query{GroupID: t.s.Name, Text: q.Text, Limit: t.K})
		if err != nil {
			return err
		}
		for i, h := range hits {
			if a.Search == 0 && t.answers(q, h.LineageID, h.Statement) {
				a.Search = i + 1
			}
		}
		reply, err := t.Recaller.Context(ctx, recall.ContextRequest{GroupID: t.s.Name, Query: q.Text})
		if err != nil {
			return err
		}
		for i, m := range reply.Memories[:min(t.K, len(reply.Memories))] {
			if a.Context == 0 && t.answers(q, m.LineageID, m.Statement) {
				a.Context = i + 1
			}
		}
		for i, id := range words.search(q.Text, t.K) {
			if a.BM25 == 0 && slices.Contains(q.Evidence, id) {
				a.BM25 = i + 1
			}
		}
		t.played.Questions = append(t.played.Questions, a)
	}
	return nil
}

// answers tells whether a memory is an answer: it rests on a message that is one, or is
// the fact.
func (t *turn) answers(q Question, lineage, statement string) bool {
	for _, id := range q.Evidence {
		if t.played.Cited[lineage][id] {
			return true
		}
	}
	return q.Expect != "" && slices.ContainsFunc(t.s.Expects, func(e Expect) bool {
		return e.ID == q.Expect && e.pattern.matches(statement)
	})
}
