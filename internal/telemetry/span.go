package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// Run begins the root span of one run of one group. What is returned is the
// context of the run, and what to call when it has ended: with its id, "" if it
// has none, its status and its error.
func (t *Tracer) Run(ctx context.Context, job reverie.Job, groupID string, w reverie.Window) (context.Context,
	func(runID string, status reverie.RunStatus, err error)) {
	if t == nil {
		return ctx, func(string, reverie.RunStatus, error) {}
	}
	ctx, span := t.tracer.Start(ctx, "run "+string(job), trace.WithNewRoot(),
		trace.WithAttributes(started(job, groupID, w)...))
	return ctx, func(runID string, status reverie.RunStatus, err error) {
		if runID != "" {
			span.SetAttributes(attribute.String(reverieRun, runID), attribute.String(langfuseMetadataRun, runID))
		}
		if status != "" {
			span.SetAttributes(attribute.String(reverieStatus, string(status)))
		}
		end(span, err)
	}
}

// Phase begins the span of a step of a run. It returns the context of the step,
// and what to call at its end.
func (t *Tracer) Phase(ctx context.Context, name string) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, func(err error) { end(span, err) }
}

// end ends a span; an error gives it its kind, and its text without secrets.
func end(span trace.Span, err error) {
	if err != nil {
		span.SetAttributes(attribute.String(errorType, kindOf(err)))
		span.SetStatus(codes.Error, words(err))
	}
	span.End()
}

// Generator returns a generator that makes a client span of each call through
// next. The address is the base URL of its API, "" for the provider's own.
func (t *Tracer) Generator(next llm.Generator, provider, model, address string) llm.Generator {
	if t == nil {
		return next
	}
	return &tracedGenerator{t.tracer, next, operationChat + " " + model, target(operationChat, provider, model, address)}
}

type tracedGenerator struct {
	tracer trace.Tracer
	next   llm.Generator
	name   string
	target []attribute.KeyValue
}

func (g *tracedGenerator) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	ctx, span := g.tracer.Start(ctx, g.name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(g.target...), trace.WithAttributes(asked(req)...))
	resp, err := g.next.Generate(ctx, req)
	if span.IsRecording() {
		span.SetAttributes(answered(resp.Finish, resp.Usage)...)
	}
	end(span, err)
	return resp, err
}

// Embedder returns an embedder that makes a client span of each call through
// next. The address is as for [Tracer.Generator].
func (t *Tracer) Embedder(next llm.Embedder, provider, model, address string) llm.Embedder {
	if t == nil {
		return next
	}
	return &tracedEmbedder{t.tracer, next, operationEmbeddings + " " + model,
		target(operationEmbeddings, provider, model, address)}
}

type tracedEmbedder struct {
	tracer trace.Tracer
	next   llm.Embedder
	name   string
	target []attribute.KeyValue
}

func (e *tracedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	ctx, span := e.tracer.Start(ctx, e.name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(e.target...),
		trace.WithAttributes(attribute.String(langfuseObservationType, langfuseEmbedding),
			attribute.Int(reverieTexts, len(texts))))
	vectors, usage, err := e.next.Embed(ctx, texts)
	span.SetAttributes(answered("", usage)...)
	if len(vectors) > 0 {
		span.SetAttributes(attribute.Int(genAIDimensions, len(vectors[0])))
	}
	end(span, err)
	return vectors, usage, err
}
