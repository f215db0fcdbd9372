package session

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// instant is a model that takes no time: it answers with a fact and a summary.
type instant struct{}

func (instant) Name() string { return "instant/model" }

func (instant) Generate(_ context.Context, _ llm.Meta, req llm.Request) (llm.Response, error) {
	return llm.Response{Finish: llm.FinishStop, Text: fmt.Sprintf(`{"type":"fact","content":"Fact of a question of %d bytes, %d","confidence":0.9,"evidence":[1]}
{"type":"summary","content":"They talked about the court, the tea and the zine."}`, len(req.User), time.Now().UnixNano())}, nil
}

// BenchmarkExtract extracts sessions of 200 messages, each a run of one chunk,
// one group after the other: everything but the model and the vectors.
func BenchmarkExtract(b *testing.B) {
	s := hall(b)
	s.TB, s.group = b, "bench"
	const turns = 100
	clock := evening
	p := &Pipeline{Store: s.store, Model: instant{}, Summarizer: instant{}, Journal: s.store, Limits: limits(),
		Rule: reverie.SessionRule{Turns: 5, KeepTurns: 6, FoldTurns: 1000}, Now: func() time.Time { return clock }}
	p.Prompts, p.Decider, p.Log = must(prompts.Open(""))(b), decide.Plain{}, slog.New(slog.NewTextHandler(io.Discard, nil))
	for i := range b.N {
		s.group = fmt.Sprintf("bench%d", i)
		must(s.store.EnsureGroup(b.Context(), reverie.Group{ID: s.group}))(b)
		var texts []string
		for n := range turns {
			texts = append(texts, fmt.Sprintf("message number %d about the court, the tea and the zine 群里每周四打羽毛球", n))
		}
		s.told = 0
		s.chat(texts...)
	}
	clock = *s.clock
	b.ResetTimer()
	for i := range b.N {
		s.group = fmt.Sprintf("bench%d", i)
		if res, err := s.runWith(p, Request{}); err != nil || res.Stats.Considered+res.Stats.Cited != 2*turns {
			b.Fatal(res.Stats, err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N*2*turns)/b.Elapsed().Seconds(), "messages/s")
}
