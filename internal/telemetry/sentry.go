package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/getsentry/sentry-go"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// Sentry files failed runs as issues, one for each cause, and sends them in the
// background. It is safe for concurrent use.
type Sentry struct {
	client *sentry.Client
	http   *http.Client
	cancel context.CancelFunc // aborts sending
}

// OpenSentry returns a client that reports to the project of a DSN. It does not connect yet. Without a DSN it is
// nil. The error is a [reverie.ErrConfiguration], and does not repeat the DSN, which is a key.
func OpenSentry(dsn, environment, release string) (*Sentry, error) {
	if dsn == "" {
		return nil, nil
	}
	if _, err := sentry.NewDsn(dsn); err != nil {
		return nil, fmt.Errorf("[sentry] dsn is none: %w: copy it from the project's settings in Sentry "+
			"(https://KEY@HOST/PROJECT), or leave it empty", reverie.ErrConfiguration)
	}
	life, cancel := context.WithCancel(context.Background())
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = exportTimeout
	sender := &http.Client{Transport: lifeline{life, transport}, CheckRedirect: noRedirect}
	client, err := sentry.NewClient(sentry.ClientOptions{
		Dsn:         dsn,
		Environment: environment,
		Release:     "reverie@" + release, // never empty, or the client would call git
		HTTPClient:  sender,
		// Integrations would add data about the machine, its environment and its modules.
		Integrations: func([]sentry.Integration) []sentry.Integration { return nil },
		BeforeSend: func(event *sentry.Event, _ *sentry.EventHint) *sentry.Event {
			event.ServerName = "" // the client always sets it
			return event
		},
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("[sentry]: open the client: %w", err)
	}
	return &Sentry{client, sender, cancel}, nil
}

// Capture reports the error of a failed run, with tags such as job, group_id and run_id. Errors with the same cause
// become one issue, whatever their tags.
func (s *Sentry) Capture(err error, tags map[string]string) {
	if s == nil || err == nil {
		return
	}
	event := sentry.NewEvent()
	event.Level = sentry.LevelError
	kind := kindOf(err)
	event.Fingerprint = []string{kind}
	if kind == kindOther {
		event.Fingerprint = append(event.Fingerprint, varying.ReplaceAllString(words(err), "*"))
	}
	// There is no stack trace: it would be the same for every failed run.
	event.Exception = []sentry.Exception{{Type: kind, Value: words(err)}}
	event.Tags = make(map[string]string, len(tags))
	for name, value := range tags {
		event.Tags[name] = safety.MaskSecrets(value)
	}
	s.client.CaptureEvent(event, nil, nil)
}

// Flush waits until all captured errors are sent, and reports whether that was within the timeout.
func (s *Sentry) Flush(timeout time.Duration) bool {
	return s == nil || s.client.Flush(timeout)
}

// Close flushes, aborts what has not been sent by then, and ends. Nothing may be captured after it.
func (s *Sentry) Close(timeout time.Duration) bool {
	if s == nil {
		return true
	}
	sent := s.Flush(timeout)
	s.cancel()
	s.client.Close()
	s.http.CloseIdleConnections()
	return sent
}

// lifeline is a transport whose requests are cancelled when their client is closed.
type lifeline struct {
	life context.Context
	*http.Transport
}

// RoundTrip sends a request unless the client is closed.
func (l lifeline) RoundTrip(req *http.Request) (*http.Response, error) {
	return l.Transport.RoundTrip(req.WithContext(l.life))
}

// varying matches what differs between two errors with the same cause: quotes, ids and numbers.
var varying = text.NewPattern(`"[^"]*"|'[^']*'|“[^”]*”|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d+`)

// kindOther is OpenTelemetry's name for an unclassified error.
const kindOther = "_OTHER"

// kinds names the causes of failed runs. Causes that explain others come first: if the database is gone, a lease is
// lost and a call cannot be recorded.
var kinds = []struct {
	err  error
	name string
}{
	{reverie.ErrUnavailable, "database_unavailable"},
	{reverie.ErrOutdatedSchema, "outdated_schema"},
	{reverie.ErrLeaseLost, "lease_lost"},
	{reverie.ErrBusy, "busy"},
	{reverie.ErrUnusable, "unusable_answer"},
	{reverie.ErrConfiguration, "configuration"},
	{reverie.ErrConflict, "conflict"},
	{reverie.ErrInvalid, "invalid"},
	{reverie.ErrNotFound, "not_found"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "timeout"},
	{reverie.ErrDeferred, "deferred"},
}

// kindOf returns the name of an error's cause, one of a few, so that the same cause counts as one in all groups.
func kindOf(err error) string {
	var (
		budget *reverie.BudgetError
		call   *llm.Error
		sql    interface{ SQLState() string }
	)
	switch {
	case errors.Is(err, reverie.ErrUnavailable): // a failed call beside it matters less
	case errors.As(err, &budget):
		return "budget_" + budget.Scope
	case errors.As(err, &call):
		return "llm_" + string(call.Fault)
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	if errors.As(err, &sql) {
		return "sql_" + sql.SQLState()
	}
	return kindOther
}

// maxWords bounds the text of an error, in characters: a server may answer with a whole page.
const maxWords = 2000

// words returns the text of an error without secrets, and shortened, so that it may leave the process.
func words(err error) string { return text.Excerpt(safety.MaskSecrets(err.Error()), maxWords) }
