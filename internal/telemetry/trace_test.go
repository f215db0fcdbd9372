package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

const (
	secret   = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
	question = "Lin: shall we read Middlemarch next?"
	answer   = `{"action":"create","statement":"The group reads Middlemarch."}`
)

// model answers, or fails.
type model struct{ err error }

func (m model) Generate(context.Context, llm.Request) (llm.Response, error) {
	if m.err != nil {
		return llm.Response{}, m.err
	}
	return llm.Response{Text: answer, Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: 900, OutputTokens: 40}}, nil
}

func (m model) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	if m.err != nil {
		return nil, llm.Usage{}, m.err
	}
	return [][]float32{{1, 0, 0}, {0, 1, 0}}[:len(texts)], llm.Usage{InputTokens: 12}, nil
}

var window = reverie.Window{Date: "2026-03-07", Since: time.Date(2026, 3, 7, 16, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 8, 16, 0, 0, 0, time.UTC)}

// traceRun makes the trace of a run that proposes with one failed and one
// answered call, embeds, and ends with err.
func traceRun(t *testing.T, tracer *Tracer, promptVersion string, err error) {
	t.Helper()
	failing := model{&llm.Error{Provider: "gemini", Fault: llm.FaultRateLimited, Status: 429, Err: errors.New("key " + secret)}}
	req := llm.Request{System: "Keep memories.", User: question, MaxTokens: 8192, Prompt: "memory_evolve.en", PromptVersion: promptVersion}

	ctx, endRun := tracer.Run(t.Context(), reverie.JobEvolve, "book-club", window)
	phase, endPhase := tracer.Phase(ctx, "propose")
	if _, err := tracer.Generator(failing, "gemini", "gemini-2.5-flash").Generate(phase, req); !errors.Is(err, reverie.ErrDeferred) {
		t.Errorf("the model's error came back as %v", err)
	}
	resp, genErr := tracer.Generator(model{}, "gemini", "gemini-2.5-flash").Generate(phase, req)
	if genErr != nil || resp.Text != answer {
		t.Errorf("answer %q, %v", resp.Text, genErr)
	}
	endPhase(nil)
	phase, endPhase = tracer.Phase(ctx, "apply")
	vectors, usage, embErr := tracer.Embedder(model{}, "openai", "text-embedding-3-small").Embed(phase, []string{question, answer})
	if embErr != nil || len(vectors) != 2 || usage.InputTokens != 12 {
		t.Errorf("vectors %v, usage %v, %v", vectors, usage, embErr)
	}
	endPhase(err)
	status := reverie.RunSucceeded
	if err != nil {
		status = reverie.RunFailed
	}
	endRun("run-1", status, err)
}

// picture draws the spans as a tree: a line each, with kind, status and
// attributes in order.
func picture(spans []sdktrace.ReadOnlySpan) string {
	slices.SortStableFunc(spans, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	var b strings.Builder
	var draw func(parent trace.SpanID, indent string)
	draw = func(parent trace.SpanID, indent string) {
		for _, s := range spans {
			if s.Parent().SpanID() != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s (%s)", indent, s.Name(), s.SpanKind())
			if s.Status().Code != codes.Unset {
				fmt.Fprintf(&b, " %s: %s", s.Status().Code, s.Status().Description)
			}
			b.WriteString("\n")
			for _, a := range s.Attributes() {
				fmt.Fprintf(&b, "%s  . %s = %v\n", indent, a.Key, a.Value.AsInterface())
			}
			draw(s.SpanContext().SpanID(), indent+"  ")
		}
	}
	draw(trace.SpanID{}, "")
	return b.String()
}

// TestTrace draws the trace of a run: what it says of the run, its steps and each
// attempt at a call, in the names that OpenTelemetry and Langfuse know.
func TestTrace(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := newTracer(recorder, TraceOptions{Ratio: 1, ServiceVersion: "v1.2.3"})
	traceRun(t, tracer, "langfuse:7", fmt.Errorf("apply with %s: %w", secret, reverie.ErrConflict))
	got := picture(recorder.Ended())
	want := `run evolve (internal) Error: apply with [secret:openai-key]: conflict
  . reverie.job = evolve
  . reverie.group_id = book-club
  . langfuse.trace.name = evolve
  . langfuse.trace.tags = [evolve]
  . langfuse.session.id = book-club
  . langfuse.trace.metadata.group_id = book-club
  . reverie.window.date = 2026-03-07
  . langfuse.trace.metadata.window_date = 2026-03-07
  . reverie.window.since = 2026-03-07T16:00:00Z
  . reverie.window.until = 2026-03-08T16:00:00Z
  . reverie.run_id = run-1
  . langfuse.trace.metadata.run_id = run-1
  . reverie.run.status = failed
  . error.type = conflict
  propose (internal)
    chat gemini-2.5-flash (client) Error: gemini: too many requests (HTTP 429): key [secret:openai-key]; lower REVERIE_LLM_REQUESTS_PER_MINUTE or REVERIE_LLM_TOKENS_PER_MINUTE if this goes on
      . gen_ai.operation.name = chat
      . gen_ai.provider.name = gcp.gemini
      . gen_ai.request.model = gemini-2.5-flash
      . langfuse.observation.type = generation
      . gen_ai.request.max_tokens = 8192
      . gen_ai.prompt.name = memory_evolve.en
      . reverie.prompt.version = langfuse:7
      . langfuse.observation.prompt.name = memory_evolve.en
      . langfuse.observation.prompt.version = 7
      . error.type = llm_rate_limited
    chat gemini-2.5-flash (client)
      . gen_ai.operation.name = chat
      . gen_ai.provider.name = gcp.gemini
      . gen_ai.request.model = gemini-2.5-flash
      . langfuse.observation.type = generation
      . gen_ai.request.max_tokens = 8192
      . gen_ai.prompt.name = memory_evolve.en
      . reverie.prompt.version = langfuse:7
      . langfuse.observation.prompt.name = memory_evolve.en
      . langfuse.observation.prompt.version = 7
      . gen_ai.response.finish_reasons = [stop]
      . gen_ai.usage.input_tokens = 900
      . gen_ai.usage.output_tokens = 40
  apply (internal) Error: apply with [secret:openai-key]: conflict
    . error.type = conflict
    embeddings text-embedding-3-small (client)
      . gen_ai.operation.name = embeddings
      . gen_ai.provider.name = openai
      . gen_ai.request.model = text-embedding-3-small
      . langfuse.observation.type = embedding
      . reverie.embeddings.texts = 2
      . gen_ai.usage.input_tokens = 12
      . gen_ai.embeddings.dimension.count = 3
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBuiltInPrompt is not linked to a prompt that Langfuse happens to keep under
// the same name.
func TestBuiltInPrompt(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	traceRun(t, newTracer(recorder, TraceOptions{Ratio: 1}), "1", nil)
	got := picture(recorder.Ended())
	if !strings.Contains(got, "reverie.prompt.version = 1\n") || strings.Contains(got, "langfuse.observation.prompt") {
		t.Error(got)
	}
}

// TestOneTraceARun gives each run a trace of its own, also inside another.
func TestOneTraceARun(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := newTracer(recorder, TraceOptions{Ratio: 1})
	outer, endOuter := tracer.Run(t.Context(), reverie.JobEvolve, "a", reverie.Window{})
	_, endInner := tracer.Run(outer, reverie.JobEvolve, "b", reverie.Window{})
	endInner("", "", nil)
	endOuter("", "", nil)
	spans := recorder.Ended()
	if len(spans) != 2 || spans[0].Parent().IsValid() || spans[0].SpanContext().TraceID() == spans[1].SpanContext().TraceID() {
		t.Error(picture(spans))
	}
}

// TestNoTracer hands everything through.
func TestNoTracer(t *testing.T) {
	tracer, err := OpenTracer(t.Context(), TraceOptions{})
	if tracer != nil || err != nil {
		t.Fatalf("without an endpoint: %v, %v", tracer, err)
	}
	traceRun(t, nil, "1", nil)
	if got := tracer.Generator(model{}, "openai", "m"); got != llm.Generator(model{}) {
		t.Errorf("the generator became a %T", got)
	}
	if got := tracer.Embedder(model{}, "openai", "m"); got != llm.Embedder(model{}) {
		t.Errorf("the embedder became a %T", got)
	}
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
