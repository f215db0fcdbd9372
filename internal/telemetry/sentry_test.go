package telemetry

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// sentryEvent is what Sentry reads of an event.
type sentryEvent struct {
	Level, Environment, Release string
	ServerName                  string `json:"server_name"`
	Fingerprint                 []string
	Tags                        map[string]string
	Exception                   []struct{ Type, Value string }
}

// sentryServer takes envelopes as Sentry does.
type sentryServer struct {
	*httptest.Server
	mu     sync.Mutex
	raw    []string
	events []sentryEvent
}

func newSentryServer(t *testing.T) *sentryServer {
	s := &sentryServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/42/envelope/" || !strings.Contains(r.Header.Get("X-Sentry-Auth"), "sentry_key=publickey") {
			t.Errorf("%s %s %v, %v", r.Method, r.URL, r.Header, err)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.raw = append(s.raw, string(body))
		lines := bufio.NewScanner(bytes.NewReader(body))
		lines.Buffer(nil, 1<<20)
		lines.Scan() // the envelope's own header
		for lines.Scan() {
			var item struct{ Type string }
			if err := json.Unmarshal(lines.Bytes(), &item); err != nil {
				t.Errorf("item header: %v", err)
			}
			lines.Scan()
			var e sentryEvent
			if err := json.Unmarshal(lines.Bytes(), &e); item.Type == "event" && err != nil {
				t.Errorf("event: %v", err)
			}
			if item.Type == "event" {
				s.events = append(s.events, e)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// sent flushes, and returns what has arrived so far.
func (s *sentryServer) sent(t *testing.T, from *Sentry) ([]sentryEvent, []string) {
	t.Helper()
	if !from.Flush(time.Minute) {
		t.Fatal("not flushed")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events, s.raw
}

func openSentry(t *testing.T, url string) *Sentry {
	t.Helper()
	s, err := OpenSentry(strings.Replace(url, "://", "://publickey@", 1)+"/42", "staging", "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCapture reads from the wire what Sentry gets of a failed run, and that
// neither the machine nor a secret is in it.
func TestCapture(t *testing.T) {
	for name, value := range map[string]string{"SENTRY_DSN": "https://stray@stray.example/1", "SENTRY_ENVIRONMENT": "stray", "SENTRY_RELEASE": "stray"} {
		t.Setenv(name, value)
	}
	server := newSentryServer(t)
	clean := endsClean(t)
	s := openSentry(t, server.URL)
	err := fmt.Errorf("chunk 3 of group %q, key %s: %w", "book-club", secret, reverie.ErrUnusable)
	s.Capture(err, map[string]string{"job": "evolve", "group_id": "book-club", "run_id": secret})
	s.Capture(nil, nil)
	events, raw := server.sent(t, s)
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	if !s.Close(time.Minute) {
		t.Error("not closed in time")
	}
	clean()
	e := events[0]
	if e.Level != "error" || e.Environment != "staging" || e.Release != "reverie@v1.2.3" || e.ServerName != "" {
		t.Errorf("%+v", e)
	}
	if len(e.Exception) != 1 || e.Exception[0].Type != "unusable_answer" || e.Exception[0].Value != `chunk 3 of group "book-club", key [secret:openai-key]: unusable answer` {
		t.Errorf("exception %+v", e.Exception)
	}
	if len(e.Tags) != 3 || e.Tags["job"] != "evolve" || e.Tags["group_id"] != "book-club" || e.Tags["run_id"] != "[secret:openai-key]" {
		t.Errorf("tags %v", e.Tags)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{secret, fmt.Sprintf("%q", host), "GOPATH", "\"modules\"", "\"user\":{\"", "stray"} {
		if strings.Contains(raw[0], hidden) {
			t.Errorf("%s was sent: %s", hidden, raw[0])
		}
	}
}

// TestOneCauseIsOneIssue: errors of one cause have one fingerprint, whatever the
// group, and errors of two causes have two.
func TestOneCauseIsOneIssue(t *testing.T) {
	fault := func(f llm.Fault, words string) error {
		return &llm.Error{Provider: "openai", Fault: f, Err: errors.New(words)}
	}
	gone := fmt.Errorf("save: %w", reverie.ErrUnavailable)
	causes := [][]error{
		{fault(llm.FaultUnauthorized, "no"), fmt.Errorf("ask about group 7: %w", fault(llm.FaultUnauthorized, "bad key"))},
		{fault(llm.FaultServer, "502"), errors.Join(fault(llm.FaultServer, "503"), errors.New("and more"))},
		{gone, &llm.LedgerError{Err: gone, CallErr: fault(llm.FaultServer, "500")}, fmt.Errorf("%w: %w", reverie.ErrLeaseLost, gone)},
		{reverie.ErrLeaseLost}, {reverie.ErrConflict}, {reverie.ErrDeferred}, {reverie.ErrConfiguration}, {reverie.ErrOutdatedSchema}, {reverie.ErrInvalid}, {reverie.ErrNotFound},
		{&reverie.BusyError{GroupID: "a"}, &reverie.BusyError{GroupID: "b", Holder: "h"}},
		{&reverie.BudgetError{Scope: "day", What: "USD"}, fmt.Errorf("run: %w", &reverie.BudgetError{Scope: "day", What: "calls"})},
		{&reverie.BudgetError{Scope: "run"}},
		{context.Canceled}, {context.DeadlineExceeded},
		{fmt.Errorf("group 1: %w", stateError("23505")), fmt.Errorf("group 2: %w", stateError("23505"))}, {stateError("40001")},
		{fmt.Errorf("group %q: %w", "a", errors.New(`no chunk 3 of "x", run 0198c0de-aaaa-7bbb-8ccc-000000000001`)),
			fmt.Errorf("group %q: %w", "b", errors.New(`no chunk 12 of "yz", run 0198c0de-aaaa-7bbb-8ccc-0000000000ff`))},
		{errors.New("no heart")},
	}
	server := newSentryServer(t)
	s := openSentry(t, server.URL)
	defer s.Close(time.Minute)
	seen := map[string]int{}
	for i, errs := range causes {
		prints := map[string]bool{}
		for _, err := range errs {
			s.Capture(err, nil)
			events, _ := server.sent(t, s)
			prints[strings.Join(events[len(events)-1].Fingerprint, "|")] = true
		}
		if len(prints) != 1 {
			t.Errorf("cause %d has the fingerprints %v", i, prints)
		}
		for p := range prints {
			if other, taken := seen[p]; taken {
				t.Errorf("causes %d and %d have the fingerprint %s", other, i, p)
			}
			seen[p] = i
		}
	}
}

// stateError is an error of a database driver.
type stateError string

func (e stateError) Error() string    { return "pq: " + string(e) }
func (e stateError) SQLState() string { return string(e) }

// TestBadDSN is refused, and not repeated.
func TestBadDSN(t *testing.T) {
	for _, dsn := range []string{"hunter2", "https://hunter2", "https://hunter2@", "https://host.example/hunter2", "ftp://hunter2@host.example/1", "https://hunter2@host.example/", "https://hunter2@host example/1"} {
		s, err := OpenSentry(dsn, "production", "v1")
		if s != nil || !errors.Is(err, reverie.ErrConfiguration) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}

// TestSentryHangs lets the end of the process wait no longer than it is told.
func TestSentryHangs(t *testing.T) {
	server := newHangingServer(t)
	clean := endsClean(t)
	s := openSentry(t, server.URL)
	s.Capture(reverie.ErrUnusable, nil)
	began := time.Now()
	if s.Close(50 * time.Millisecond) {
		t.Error("said to have sent what it has not")
	}
	clean()
	if took := time.Since(began); took > exportTimeout/2 {
		t.Errorf("the request was waited for, for %s", took)
	}
}

// TestSentryRedirect is not followed: the request holds the project's key.
func TestSentryRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %v", r.URL, r.Header)
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	s := openSentry(t, server.URL)
	s.Capture(reverie.ErrUnusable, nil)
	if !s.Close(time.Minute) {
		t.Error("not closed in time")
	}
}

// TestNoSentry does nothing.
func TestNoSentry(t *testing.T) {
	t.Setenv("SENTRY_DSN", "https://stray@stray.example/1")
	s, err := OpenSentry("", "production", "v1")
	if s != nil || err != nil {
		t.Fatalf("without a DSN: %v, %v", s, err)
	}
	s.Capture(reverie.ErrUnusable, nil)
	if !s.Flush(0) || !s.Close(0) {
		t.Error("there was something to send")
	}
}

// TestWords cuts long errors after their secrets are masked, and never a letter.
func TestWords(t *testing.T) {
	long := strings.Repeat("x", maxWords-10) + " " + secret
	if got := words(errors.New(long)); strings.Contains(got, secret[:9]) || len(got) > maxWords+3 {
		t.Errorf("...%s", got[len(got)-30:])
	}
	if got := words(errors.New(strings.Repeat("梦", maxWords+1))); strings.Trim(got, "梦") != "…" {
		t.Errorf("...%q", got[len(got)-10:])
	}
}
