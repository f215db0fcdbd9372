package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"reverie/internal/reverie"
)

// TraceOptions say where traces go, and how many.
type TraceOptions struct {
	Endpoint       string            // base URL of the collector, to which /v1/traces is added
	Headers        map[string]string // of each request
	Ratio          float64           // share of the runs that are traced, 0 to 1
	ServiceVersion string
	Log            *slog.Logger     // nil: slog.Default
	Now            func() time.Time // nil: time.Now; paces warnings, not spans
}

// Tracer records what runs do as traces and sends them in the background. It is
// safe for concurrent use. The OTEL_EXPORTER_OTLP_* variables, which may be meant
// for another process, change nothing about where its traces go.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
	stop     func(context.Context) // ends what is still being sent; nil: nothing is
}

const (
	tracesPath = "/v1/traces"
	// exportTimeout bounds one request to the collector.
	exportTimeout = 10 * time.Second
	// queueSize is how many spans wait to be sent. What comes on top is dropped,
	// since no run waits for its trace.
	queueSize = 8192
)

// OpenTracer returns a tracer that sends to a collector over HTTP, which it does
// not try to reach yet. Without an endpoint the tracer is nil. The error is a
// [reverie.ErrConfiguration] that names the setting.
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
	// Every option that the environment could set is given here.
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
		_ = exporter.Shutdown(ctx) // only says that ctx is over, which the caller knows
		transport.CloseIdleConnections()
	}
	return t, nil
}

// noRedirect keeps requests to the configured host: their headers hold its key.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func newTracer(processor sdktrace.SpanProcessor, o TraceOptions) *Tracer {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(processor),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String(serviceName, "reverie"), attribute.String(serviceVersion, o.ServiceVersion))),
	)
	return &Tracer{tracer: provider.Tracer("reverie", trace.WithInstrumentationVersion(o.ServiceVersion)),
		provider: provider}
}

// tracesURL returns where traces are posted to.
func tracesURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	var wrong string
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		wrong = "is not an address; write one such as http://localhost:4318"
	case u.User != nil:
		wrong = "must not hold a user or password; put them into [traces] headers, as Authorization"
	case u.RawQuery != "" || u.Fragment != "":
		wrong = "must not have a query or fragment; put keys into [traces] headers"
	default:
		u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), tracesPath) + tracesPath
		u.RawPath = ""
		return u.String(), nil
	}
	return "", fmt.Errorf("[traces] endpoint %s: %w", wrong,
		reverie.ErrConfiguration) // not repeated: it may hold a password
}

// Shutdown sends what has been recorded, until ctx ends; what is not sent by then
// is dropped, and the error is the context's. No span is recorded after it. That
// a collector did not take the spans is logged, and no error.
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
