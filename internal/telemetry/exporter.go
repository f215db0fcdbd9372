package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// warnEvery is how often it is said at most that traces could not be sent.
const warnEvery = time.Minute

// quietExporter keeps the failures of an exporter to the log, and the log short.
type quietExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	warned time.Time
	lost   int // spans of failed batches since
}

// ExportSpans never fails: nobody could do anything about it.
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
