package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"reverie/internal/llm"
	"reverie/internal/remote"
	"reverie/internal/reverie"
)

// TraceOptions say where traces are sent, and how many.
type TraceOptions struct {
	Endpoint       string            // base URL of the collector, to which /v1/traces is added
	Headers        map[string]string // of each request
	Ratio          float64           // share of traced runs, 0 to 1
	ServiceVersion string
	Log            *slog.Logger     // nil: slog.Default
	Now            func() time.Time // nil: time.Now; for the rate of warnings, not for spans
}

// Tracer records runs as traces and sends them in the background. It is safe for concurrent use. It ignores the
// OTEL_EXPORTER_OTLP_* variables, which may be meant for another process.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
	stop     func(context.Context) // aborts sending; nil: nothing to abort
}

const (
	tracesPath = "/v1/traces"
	// exportTimeout bounds one request to the collector.
	exportTimeout = 10 * time.Second
	// queueSize is the maximum number of spans that wait to be sent. Further ones are dropped, since no run waits for
	// its trace.
	queueSize = 8192
)

// OpenTracer returns a tracer that sends to a collector over HTTP. It does not connect yet. Without an endpoint the
// tracer is nil. The error is a [reverie.ErrConfiguration] that names the setting.
func OpenTracer(ctx context.Context, o TraceOptions) (*Tracer, error) {
	if o.Endpoint == "" {
		return nil, nil
	}
	address, err := tracesURL(o.Endpoint)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	client := &http.Client{Transport: transport, Timeout: exportTimeout, CheckRedirect: noRedirect}
	// Every option that the environment could set is set here.
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(address),
		otlptracehttp.WithHeaders(o.Headers),
		otlptracehttp.WithHTTPClient(client),
		otlptracehttp.WithTLSClientConfig(nil),
		otlptracehttp.WithTimeout(exportTimeout),
		otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
	)
	if err != nil {
		return nil, fmt.Errorf("[traces] endpoint: open the exporter: %w", err)
	}
	quiet := &quietExporter{SpanExporter: exporter, log: cmp.Or(o.Log, slog.Default()), now: o.Now}
	if quiet.now == nil {
		quiet.now = time.Now
	}
	t := newTracer(sdktrace.NewBatchSpanProcessor(quiet, sdktrace.WithMaxQueueSize(queueSize)), o)
	t.stop = func(ctx context.Context) {
		_ = exporter.Shutdown(ctx) // it only repeats that ctx has ended
		transport.CloseIdleConnections()
	}
	return t, nil
}

// noRedirect keeps requests on the configured host: their headers contain its key.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func newTracer(processor sdktrace.SpanProcessor, o TraceOptions) *Tracer {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(processor),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "reverie"), attribute.String("service.version", o.ServiceVersion))),
	)
	return &Tracer{tracer: provider.Tracer("reverie", trace.WithInstrumentationVersion(o.ServiceVersion)),
		provider: provider}
}

// tracesURL returns the URL to which traces are posted.
func tracesURL(endpoint string) (string, error) {
	s, err := remote.New(endpoint, remote.Options{})
	if err != nil {
		return "", fmt.Errorf("[traces] endpoint: %w; keys go into [traces] headers: %w", err, reverie.ErrConfiguration)
	}
	return strings.TrimSuffix(s.Base.String(), tracesPath) + tracesPath, nil
}

// Shutdown sends recorded spans until ctx ends; it drops the rest and returns the context's error. No span is
// recorded after it. If a collector refuses spans, that is logged and is not an error.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	err := t.provider.Shutdown(ctx)
	if t.stop != nil {
		t.stop(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("send the last traces: %w", ctx.Err())
	}
	return err
}

// Run begins the root span of one run of one group. It returns the run's context, and a function to call when the
// run has ended: with its id, "" if it has none, its status and its error.
func (t *Tracer) Run(ctx context.Context, job reverie.Job, groupID string, w reverie.Window) (context.Context,
	func(runID string, status reverie.RunStatus, err error)) {
	if t == nil {
		return ctx, func(string, reverie.RunStatus, error) {}
	}
	ctx, span := t.tracer.Start(ctx, "run "+string(job), trace.WithNewRoot(),
		trace.WithAttributes(started(job, groupID, w)...))
	return ctx, func(runID string, status reverie.RunStatus, err error) {
		span.SetAttributes(texts("reverie.run_id", runID, "langfuse.trace.metadata.run_id", runID,
			"reverie.run.status", string(status))...)
		end(span, err)
	}
}

// Phase begins the span of a step of a run. It returns the step's context, and a function to call at its end.
func (t *Tracer) Phase(ctx context.Context, name string) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, func(err error) { end(span, err) }
}

// end ends a span. An error sets its kind, and its text without secrets.
func end(span trace.Span, err error) {
	if err != nil {
		span.SetAttributes(attribute.String("error.type", kindOf(err)))
		span.SetStatus(codes.Error, words(err))
	}
	span.End()
}

// Generator wraps next with a client span for each call.
func (t *Tracer) Generator(next llm.Generator, provider, model string) llm.Generator {
	if t == nil {
		return next
	}
	return &tracedGenerator{t.tracer, next, "chat " + model, target("chat", provider, model)}
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

// Embedder wraps next with a client span for each call.
func (t *Tracer) Embedder(next llm.Embedder, provider, model string) llm.Embedder {
	if t == nil {
		return next
	}
	return &tracedEmbedder{t.tracer, next, "embeddings " + model, target("embeddings", provider, model)}
}

type tracedEmbedder struct {
	tracer trace.Tracer
	next   llm.Embedder
	name   string
	target []attribute.KeyValue
}

func (e *tracedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	ctx, span := e.tracer.Start(ctx, e.name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(e.target...),
		trace.WithAttributes(attribute.String("langfuse.observation.type", "embedding"),
			attribute.Int("reverie.embeddings.texts", len(texts))))
	vectors, usage, err := e.next.Embed(ctx, texts)
	span.SetAttributes(answered("", usage)...)
	if len(vectors) > 0 {
		span.SetAttributes(attribute.Int("gen_ai.embeddings.dimension.count", len(vectors[0])))
	}
	end(span, err)
	return vectors, usage, err
}

// warnEvery is the minimum interval between warnings that traces could not be sent.
const warnEvery = time.Minute

// quietExporter logs an exporter's failures at a limited rate and does not return them.
type quietExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	warned time.Time
	lost   int // spans of failed batches since the last warning
}

// ExportSpans never fails, since no caller could act on it.
func (e *quietExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost += len(spans)
	if now := e.now(); e.warned.IsZero() || now.Sub(e.warned) >= warnEvery {
		e.log.Warn("traces could not be sent; runs go on without; check [traces] endpoint and headers", "spans", e.lost,
			"error", words(err))
		e.warned, e.lost = now, 0
	}
	return nil
}

// langfuseVersion is the prefix of the version of a prompt from Langfuse.
const langfuseVersion = "langfuse:"

// providers maps our provider names to OpenTelemetry's, if they differ.
var providers = map[string]string{"gemini": "gcp.gemini"}

// Attributes follow OpenTelemetry's conventions for generative AI, as of semconv 1.40, the attributes that Langfuse
// reads from a root span, and names of this project. Dashboards and Langfuse rely on them.

// target returns the attributes of any call to a model.
func target(operation, provider, model string) []attribute.KeyValue {
	return texts("gen_ai.operation.name", operation, "gen_ai.provider.name", cmp.Or(providers[provider], provider),
		"gen_ai.request.model", model)
}

// texts returns attributes from names and values in turn, without empty values.
func texts(pairs ...string) (attrs []attribute.KeyValue) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			attrs = append(attrs, attribute.String(pair[0], pair[1]))
		}
	}
	return attrs
}

// asked returns the attributes of a request to generate, without its texts.
func asked(req llm.Request) []attribute.KeyValue {
	attrs := texts("langfuse.observation.type", "generation")
	if req.MaxTokens > 0 {
		attrs = append(attrs, attribute.Int("gen_ai.request.max_tokens", req.MaxTokens))
	}
	if req.Prompt == "" {
		return attrs
	}
	attrs = append(attrs, texts("gen_ai.prompt.name", req.Prompt, "reverie.prompt.version", req.PromptVersion)...)
	number, remote := strings.CutPrefix(req.PromptVersion, langfuseVersion)
	if version, err := strconv.Atoi(number); remote && err == nil {
		attrs = append(attrs, attribute.String("langfuse.observation.prompt.name", req.Prompt),
			attribute.Int("langfuse.observation.prompt.version", version))
	}
	return attrs
}

// answered returns the attributes of an answer.
func answered(finish llm.Finish, usage llm.Usage) []attribute.KeyValue {
	var attrs []attribute.KeyValue
	if finish != "" {
		attrs = append(attrs, attribute.StringSlice("gen_ai.response.finish_reasons", []string{string(finish)}))
	}
	if usage.InputTokens > 0 {
		attrs = append(attrs, attribute.Int("gen_ai.usage.input_tokens", usage.InputTokens))
	}
	if usage.OutputTokens > 0 {
		attrs = append(attrs, attribute.Int("gen_ai.usage.output_tokens", usage.OutputTokens))
	}
	return attrs
}

// started returns the attributes of a run at its beginning. Langfuse shows the runs of one group together, as a
// session.
func started(job reverie.Job, groupID string, w reverie.Window) []attribute.KeyValue {
	stamp := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.UTC().Format(time.RFC3339)
	}
	attrs := texts("reverie.job", string(job), "reverie.group_id", groupID, "langfuse.trace.name", string(job))
	attrs = append(attrs, attribute.StringSlice("langfuse.trace.tags", []string{string(job)}))
	return append(attrs, texts("langfuse.session.id", groupID, "langfuse.trace.metadata.group_id", groupID,
		"reverie.session_id", w.SessionID,
		"reverie.window.date", w.Date, "langfuse.trace.metadata.window_date", w.Date,
		"reverie.window.since", stamp(w.Since), "reverie.window.until", stamp(w.Until))...)
}
