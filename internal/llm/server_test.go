package llm_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/gemini"
	"reverie/internal/llm/llmtest"
	"reverie/internal/llm/openai"
	"reverie/internal/reverie"
)

// ledger keeps rows in memory.
type ledger struct {
	mu    sync.Mutex
	calls []reverie.Call
}

func (l *ledger) RecordCall(_ context.Context, call reverie.Call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call)
	return nil
}

func (l *ledger) outcomes() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, c := range l.calls {
		out = append(out, c.Outcome)
	}
	return strings.Join(out, " ")
}

// impatient tries again at once.
func impatient() *llm.Policy {
	return llm.NewPolicy(llm.PolicyOptions{Backoff: time.Microsecond, BreakerFailures: -1})
}

func TestModelThroughTheWire(t *testing.T) {
	cases := []struct {
		name   string
		script []llmtest.Answer
		rows   string
		finish llm.Finish
		is     error
	}{
		{"whole", []llmtest.Answer{llmtest.Text("x")}, "ok", llm.FinishStop, nil},
		{"after all that passes", []llmtest.Answer{llmtest.RateLimited(0), llmtest.CutOff(), llmtest.Reset(), llmtest.Text("x")},
			"rate_limited server_error network ok", llm.FinishStop, nil},
		{"truncated", []llmtest.Answer{llmtest.Truncated("x")}, "truncated", llm.FinishLength, nil},
		{"refused", []llmtest.Answer{llmtest.Refused()}, "refused", llm.FinishRefused, nil},
		{"never", []llmtest.Answer{llmtest.Failure(500, "a"), llmtest.Page(), llmtest.NoChoices(), llmtest.Failure(503, "b")},
			"server_error server_error server_error server_error", "", reverie.ErrDeferred},
		{"wrong key", []llmtest.Answer{llmtest.Failure(401, "a")}, "unauthorized", "", reverie.ErrConfiguration},
		{"too long a wait", []llmtest.Answer{llmtest.RateLimited(time.Hour)}, "rate_limited", "", reverie.ErrDeferred},
		{"hang", []llmtest.Answer{llmtest.Hang(), llmtest.Text("x")}, "timeout ok", llm.FinishStop, nil},
	}
	for _, a := range adapters {
		for _, c := range cases {
			t.Run(a.provider+"/"+c.name, func(t *testing.T) {
				srv, rows := llmtest.New(t), &ledger{}
				srv.Script(c.script...)
				timeout := 10 * time.Second
				if c.name == "hang" {
					timeout = 200 * time.Millisecond
				}
				m := llm.NewModel(dial(t, a, srv), llm.Account{Provider: a.provider, Model: "test-model", Policy: impatient(), Ledger: rows, Timeout: timeout})
				resp, err := m.Generate(t.Context(), llm.Meta{GroupID: "g", Purpose: "evolve"}, llm.Request{User: "u", MaxTokens: 50})
				if !errors.Is(err, c.is) || resp.Finish != c.finish || rows.outcomes() != c.rows {
					t.Errorf("finish %q, rows %q, error %v; want %q, %q, %v", resp.Finish, rows.outcomes(), err, c.finish, c.rows, c.is)
				}
				if n := len(srv.Requests()); n != len(c.script) {
					t.Errorf("%d requests for %d answers", n, len(c.script))
				}
			})
		}
	}
}

// vectorAdapters are the adapters with embeddings.
var vectorAdapters = []struct {
	provider string
	open     func(to target, dims int) (llm.Embedder, error)
}{
	{"openai", func(to target, dims int) (llm.Embedder, error) {
		return openai.New(openai.Options{BaseURL: to.url, APIKey: testKey, Model: to.model, Dims: dims, HTTPClient: to.client})
	}},
	{"gemini", func(to target, dims int) (llm.Embedder, error) {
		return gemini.New(gemini.Options{BaseURL: to.url, APIKey: testKey, Model: to.model, Dims: dims, HTTPClient: to.client})
	}},
}

func TestEmbeddingsThroughTheWire(t *testing.T) {
	poison(t)
	for _, a := range vectorAdapters {
		t.Run(a.provider, func(t *testing.T) {
			srv, rows := llmtest.New(t, llmtest.WithKey(testKey)), &ledger{}
			srv.ScriptEmbeddings(llmtest.RateLimited(0), llmtest.WrongCount(), llmtest.CutOff())
			emb, err := a.open(target{url: srv.URL(a.provider), client: srv.Client(), model: "text-embedding-3-small"}, 64)
			if err != nil {
				t.Fatal(err)
			}
			e := llm.NewEmbeddings(emb, llm.Account{Provider: a.provider, Model: "text-embedding-3-small", Policy: impatient(), Ledger: rows}, llm.EmbeddingOptions{Dims: 64, Explicit: true})
			texts := []string{"周会改到周四", "The weekly meeting is on Thursday", "周会改到周四"}
			got, err := e.Embed(t.Context(), llm.Meta{GroupID: "g", Purpose: "embed"}, texts)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				if !near(got[i], llmtest.Vector(text, 64)) {
					t.Errorf("vector %d is not that of %q", i, text)
				}
			}
			if rows.outcomes() != "rate_limited server_error server_error ok" || rows.calls[3].InputTokens == 0 {
				t.Errorf("rows are %+v", rows.calls)
			}
			last := srv.Requests()[3]
			if !slices.Equal(last.Texts, texts[:2]) || last.Dims != 64 || last.Model != "text-embedding-3-small" {
				t.Errorf("request is %+v", last)
			}
		})
	}
}

func near(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-5 {
			return false
		}
	}
	return true
}

func TestEmbeddingFaultsNameTheirSettings(t *testing.T) {
	for _, a := range vectorAdapters {
		srv := llmtest.New(t)
		srv.ScriptEmbeddings(llmtest.Failure(404, "no such model"), llmtest.NoChoices(), llmtest.Body(200, "application/json", `{"data":"x","embeddings":"x"}`))
		emb, err := a.open(target{url: srv.URL(a.provider), client: srv.Client(), model: "m"}, 8)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = emb.Embed(t.Context(), []string{"a"})
		if e := wantFault(t, err, llm.FaultNotFound); !e.Embedding || !strings.Contains(err.Error(), "REVERIE_EMBED_MODEL") {
			t.Errorf("%s: error is %v", a.provider, err)
		}
		if _, _, err := emb.Embed(t.Context(), []string{"a"}); err != nil { // NoChoices means nothing here
			t.Errorf("%s: %v", a.provider, err)
		}
		_, _, err = emb.Embed(t.Context(), []string{"a"})
		wantFault(t, err, llm.FaultServer)
	}
}
