package telemetry

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"reverie/internal/reverie"
)

// otlpServer takes traces as a collector does.
type otlpServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
	traces   []*otlp.ResourceSpans
}

func newOTLPServer(t *testing.T) *otlpServer {
	s := &otlpServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var export collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &export)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, body)
		s.traces = append(s.traces, export.ResourceSpans...)
		reply, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.Write(reply)
	}))
	t.Cleanup(s.Close)
	return s
}

// received returns what has arrived so far.
func (s *otlpServer) received() ([]*http.Request, [][]byte, []*otlp.ResourceSpans) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.bodies, s.traces
}

func openTracer(t *testing.T, o TraceOptions) (*Tracer, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	tracer, err := OpenTracer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tracer, &log
}

func shutdown(t *testing.T, tracer *Tracer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := tracer.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// strayEnvironment sets all that the exporter would read from the environment,
// for another process and another collector.
func strayEnvironment(t *testing.T) {
	stray := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("traces went where the environment says")
	}))
	t.Cleanup(stray.Close)
	certificate := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: stray.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"ENDPOINT": stray.URL, "HEADERS": "authorization=stray,x-stray=1", "COMPRESSION": "gzip",
		"PROTOCOL": "http/json", "TIMEOUT": "1", "CERTIFICATE": certificate, "INSECURE": "false"} {
		t.Setenv("OTEL_EXPORTER_OTLP_"+name, value)
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_"+name, value)
	}
	t.Setenv("OTEL_SERVICE_NAME", "stray")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
}

// TestExport reads from the wire what a collector gets: at the configured path
// with the configured headers, and neither question nor answer nor secret.
func TestExport(t *testing.T) {
	strayEnvironment(t)
	server := newOTLPServer(t)
	clean := endsClean(t)
	tracer, log := openTracer(t, TraceOptions{Endpoint: server.URL + "/api/public/otel/", Ratio: 1, ServiceVersion: "v1.2.3",
		Headers: map[string]string{"Authorization": "Basic cGs6c2s="}})
	traceRun(t, tracer, "langfuse:7", errors.New("broken by "+secret))
	shutdown(t, tracer)
	clean()

	requests, bodies, traces := server.received()
	if len(requests) != 1 || len(traces) != 1 {
		t.Fatalf("%d requests, %d resources; log: %s", len(requests), len(traces), log)
	}
	r := requests[0]
	if r.URL.Path != "/api/public/otel/v1/traces" || r.Header.Get("Authorization") != "Basic cGs6c2s=" ||
		r.Header.Get("X-Stray") != "" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Content-Encoding") != "" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	resource := map[string]string{}
	for _, a := range traces[0].Resource.Attributes {
		resource[a.Key] = a.Value.GetStringValue()
	}
	if resource["service.name"] != "reverie" || resource["service.version"] != "v1.2.3" {
		t.Errorf("resource %v", resource)
	}
	ids, names := map[string]bool{}, []string{}
	for _, scope := range traces[0].ScopeSpans {
		for _, s := range scope.Spans {
			ids[string(s.TraceId)] = true
			names = append(names, s.Name)
			if s.Name == "chat gemini-2.5-flash" && s.Kind != otlp.Span_SPAN_KIND_CLIENT {
				t.Errorf("%s is of kind %s", s.Name, s.Kind)
			}
			if s.Name == "run evolve" && (s.Status.Code != otlp.Status_STATUS_CODE_ERROR || s.Status.Message != "broken by [secret:openai-key]") {
				t.Errorf("%s has status %s", s.Name, s.Status)
			}
		}
	}
	if len(ids) != 1 || len(names) != 6 {
		t.Errorf("%d traces with spans %q, want one of 6", len(ids), names)
	}
	for _, hidden := range []string{"Middlemarch", "Keep memories.", secret} {
		if bytes.Contains(bodies[0], []byte(hidden)) {
			t.Errorf("%q was sent", hidden)
		}
	}
}

// TestRatioZero sends nothing.
func TestRatioZero(t *testing.T) {
	server := newOTLPServer(t)
	tracer, _ := openTracer(t, TraceOptions{Endpoint: server.URL})
	traceRun(t, tracer, "1", nil)
	shutdown(t, tracer)
	if requests, _, _ := server.received(); len(requests) != 0 {
		t.Errorf("%d requests", len(requests))
	}
}

// TestCollectorDown costs a warning, and neither a run nor the end of the process.
func TestCollectorDown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	tracer, log := openTracer(t, TraceOptions{Endpoint: "http://" + listener.Addr().String(), Ratio: 1})
	traceRun(t, tracer, "1", nil)
	shutdown(t, tracer)
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "spans=6") || !strings.Contains(got, "connection refused") {
		t.Errorf("log: %s", got)
	}
}

// TestCollectorHangs lets the end of the process wait no longer than it is told.
func TestCollectorHangs(t *testing.T) {
	server := newHangingServer(t)
	clean := endsClean(t)
	tracer, err := OpenTracer(t.Context(), TraceOptions{Endpoint: server.URL, Ratio: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	traceRun(t, tracer, "1", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tracer.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
	clean()
}

// newHangingServer takes requests and answers none.
func newHangingServer(t *testing.T) *httptest.Server {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	t.Cleanup(func() {
		close(ended)
		server.Close()
	})
	return server
}

// TestRedirect is not followed: the headers hold the collector's key.
func TestRedirect(t *testing.T) {
	other := newOTLPServer(t)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	tracer, log := openTracer(t, TraceOptions{Endpoint: server.URL, Ratio: 1, Headers: map[string]string{"x-api-key": "k"}})
	traceRun(t, tracer, "1", nil)
	shutdown(t, tracer)
	if requests, _, _ := other.received(); len(requests) != 0 || !strings.Contains(log.String(), "307") {
		t.Errorf("%d requests elsewhere; log: %s", len(requests), log)
	}
}

// TestWarnings come once a minute at most, with what was lost meanwhile.
func TestWarnings(t *testing.T) {
	var log bytes.Buffer
	now := at
	exporter := &quietExporter{SpanExporter: &failingExporter{}, log: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now }}
	spans := tracetest.SpanStubs{{Name: "a"}, {Name: "b"}}.Snapshots()
	for _, seconds := range []int{0, 1, 58, 1, 59} { // at 0:00, 0:01, 0:59, 1:00, 1:59
		now = now.Add(time.Duration(seconds) * time.Second)
		if err := exporter.ExportSpans(t.Context(), spans); err != nil {
			t.Error(err)
		}
	}
	got := log.String()
	if strings.Count(got, "level=WARN") != 2 || !strings.Contains(got, "spans=2 ") || !strings.Contains(got, "spans=6 ") || strings.Contains(got, secret) {
		t.Errorf("log: %s", got)
	}
}

type failingExporter struct{ tracetest.NoopExporter }

func (*failingExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("refused: " + secret)
}

// TestEndpoints takes addresses with or without a path, and refuses what is none
// without repeating it.
func TestEndpoints(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://localhost:4318":                       "http://localhost:4318/v1/traces",
		"http://localhost:4318/":                      "http://localhost:4318/v1/traces",
		"http://localhost:4318/v1/traces":             "http://localhost:4318/v1/traces",
		"https://lf.example/api/public/otel":          "https://lf.example/api/public/otel/v1/traces",
		"https://lf.example/api/public/otel/v1/":      "https://lf.example/api/public/otel/v1/v1/traces",
		"http://[::1]:4318/api/public/otel/v1/traces": "http://[::1]:4318/api/public/otel/v1/traces",
	} {
		if got, err := tracesURL(endpoint); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", endpoint, got, err, want)
		}
	}
	for _, endpoint := range []string{"localhost:4318", "grpc://hunter2:4317", "http://", "http://pk:hunter2@lf.example", "https://lf.example?key=hunter2", "http://hunter2 .example"} {
		_, err := OpenTracer(t.Context(), TraceOptions{Endpoint: endpoint, Ratio: 1})
		if !errors.Is(err, reverie.ErrConfiguration) || strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), "[traces] endpoint: ") || !strings.Contains(err.Error(), "[traces] headers: configuration") {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}
