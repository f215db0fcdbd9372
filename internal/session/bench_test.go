package session

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
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

// near answers every question about near facts alike.
type near struct{}

func (near) Name() string { return "near/model" }

func (near) Generate(_ context.Context, _ llm.Meta, req llm.Request) (llm.Response, error) {
	var lines string
	for i := range strings.Count(req.User, `"last_supported_at"`) {
		lines += fmt.Sprintf(`{"id":"c%d","reason":"other","relation":"unrelated"}`+"\n", i+1)
	}
	return llm.Response{Finish: llm.FinishStop, Text: lines}, nil
}

// pseudo turns texts into vectors that point anywhere.
type pseudo struct{}

func (pseudo) Key() string { return "pseudo@64" }

func (pseudo) Embed(_ context.Context, _ llm.Meta, texts []string) ([][]float32, error) {
	list := make([][]float32, len(texts))
	for i, said := range texts {
		h := fnv.New64a()
		_, _ = h.Write([]byte(said))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		for range 64 {
			list[i] = append(list[i], float32(r.NormFloat64()))
		}
	}
	return list, nil
}

// flat takes cosines for scores.
type flat struct{}

func (flat) Calibrate(context.Context, string) (reverie.Calibration, error) {
	return reverie.Calibration{Ceiling: 1}, nil
}

// BenchmarkExtractMany extracts sessions of two groups in turn, and reports how much longer one
// takes in a group that has had 180 of them than in one that has had 30, which is as many as fill it.
func BenchmarkExtractMany(b *testing.B) {
	s := hall(b)
	p := &Pipeline{Store: s.store, Model: manyFacts{}, Summarizer: instant{}, Journal: s.store, Limits: limits(), Embeddings: pseudo{},
		Rule: reverie.SessionRule{Turns: 5, KeepTurns: 6, FoldTurns: 1000}, Now: func() time.Time { return *s.clock }}
	p.Limits.MaxActive = 300
	p.Prompts, p.Log = must(prompts.Open(""))(b), slog.New(slog.NewTextHandler(io.Discard, nil))
	p.Decider = &decide.Comparer{Store: s.store, Model: near{}, Embeddings: pseudo{}, Prompts: p.Prompts, Calibration: flat{}, Log: p.Log,
		Options: decide.Options{TopK: 5, MinScore: 0.7, Fallback: decide.FallbackAdd, MaxCalls: 100, MaxOutputTokens: 1000}}
	for i := range b.N {
		s.TB = b
		extract := func(name string, n int) float64 {
			s.group, s.id, s.told = fmt.Sprint(name, i), fmt.Sprint("s", n), 0
			must(s.store.EnsureGroup(b.Context(), reverie.Group{ID: s.group}))(b)
			s.chat("the court, the tea and the zine", "and then", "and so on", "more of it", "and an end")
			began := time.Now()
			if _, err := s.runWith(p, Request{}); err != nil {
				b.Fatal(err)
			}
			return time.Since(began).Seconds() * 1000
		}
		for n := range 30 {
			extract("young", n)
		}
		must(s.db.Exec("analyze"))(b) // as the server does by itself after a while
		for n := range 180 {
			extract("old", n)
		}
		var young, old []float64
		for n := range 20 {
			young, old = append(young, extract("young", 30+n)), append(old, extract("old", 180+n))
		}
		slices.Sort(young)
		slices.Sort(old)
		b.ReportMetric(old[10], "late-ms")
		b.ReportMetric(old[10]/young[10], "late/early")
	}
}

// manyFacts is a model that finds ten facts in anything.
type manyFacts struct{}

func (manyFacts) Name() string { return "many/model" }

func (manyFacts) Generate(context.Context, llm.Meta, llm.Request) (llm.Response, error) {
	var lines string
	for range 10 {
		lines += fmt.Sprintf(`{"type":"fact","content":"Fact %d of the court","confidence":0.9,"evidence":[1]}`+"\n", rand.Uint64())
	}
	return llm.Response{Finish: llm.FinishStop, Text: lines + `{"type":"summary","content":"They talked about the court, the tea and the zine."}`}, nil
}
