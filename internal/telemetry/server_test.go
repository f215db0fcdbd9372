package telemetry

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/reverie"
)

// start serves on a free port of loopback until the test ends.
func start(t *testing.T, s *Server) (url string) {
	t.Helper()
	s.Listen, s.Log = "127.0.0.1:0", slog.New(slog.DiscardHandler)
	addr, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return "http://" + addr
}

var browser = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func ask(t *testing.T, method, url string) (status int, body string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text)), resp.Header
}

// TestRoutes has three, for GET alone.
func TestRoutes(t *testing.T) {
	url := start(t, &Server{Metrics: newTestMetrics()})
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/readyz", 200, "ready"},
		{"GET", "/metrics", 200, `reverie_runs_total{job="evolve",outcome="failed"} 0`},
		{"GET", "/metrics", 200, "process_start_time_seconds"},
		{"GET", "/metrics", 200, "go_goroutines"},
		{"HEAD", "/healthz", 200, ""},
		{"GET", "/", 404, ""},
		{"GET", "/healthz/", 404, ""},
		{"GET", "/debug/pprof/", 404, ""},
		{"POST", "/metrics", 405, ""},
		{"DELETE", "/readyz", 405, ""},
		{"OPTIONS", "/healthz", 405, ""},
	} {
		status, body, header := ask(t, c.method, url+c.path)
		if status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s %s: %d %.200s", c.method, c.path, status, body)
		}
		if status == 405 && header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s %s: allows %q", c.method, c.path, header.Get("Allow"))
		}
	}
}

// TestNoMetricsRoute leaves /metrics out where there are none.
func TestNoMetricsRoute(t *testing.T) {
	if status, _, _ := ask(t, "GET", start(t, &Server{})+"/metrics"); status != 404 {
		t.Error(status)
	}
}

// TestReadiness says why the daemon is not ready, without secrets, and that it is
// stopping, while it still lives.
func TestReadiness(t *testing.T) {
	var fault error
	s := &Server{Ready: func(context.Context) error { return fault }}
	url := start(t, s)
	if status, body, _ := ask(t, "GET", url+"/readyz"); status != 200 || body != "ready" {
		t.Errorf("%d %s", status, body)
	}
	fault = fmt.Errorf("ping postgres://reverie:hunter2hunter2@db.example/reverie: %w", reverie.ErrUnavailable)
	if status, body, _ := ask(t, "GET", url+"/readyz"); status != 503 || !strings.HasSuffix(body, "database unavailable") || strings.Contains(body, "hunter2") {
		t.Errorf("%d %s", status, body)
	}
	fault = nil
	s.Stopping()
	if status, body, _ := ask(t, "GET", url+"/readyz"); status != 503 || body != "stopping" {
		t.Errorf("%d %s", status, body)
	}
	if status, body, _ := ask(t, "GET", url+"/healthz"); status != 200 || body != "ok" {
		t.Errorf("%d %s", status, body)
	}
}

// TestReadyTakesTooLong answers after 2 s, also when Ready overlooks its context.
func TestReadyTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deadlines := make(chan time.Time, 1)
		s := &Server{Ready: func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			deadlines <- deadline
			<-release
			return nil
		}}
		began := time.Now()
		w := httptest.NewRecorder()
		s.Probes().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if w.Code != 503 || !strings.Contains(w.Body.String(), "not known within 2s") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		deadline := <-deadlines
		if now := time.Now(); !now.Equal(began.Add(readyTimeout)) || !deadline.Equal(now) { // the bubble's clock, which is exact
			t.Errorf("began %s, answered %s, deadline %s", began, now, deadline)
		}
		close(release)
	})
}

// TestListenErrors name the setting and say what to do.
func TestListenErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for listen, hint := range map[string]string{
		taken.Addr().String(): "another process has it",
		"192.0.2.1:8470":      "no interface of this machine",
		"8470":                "write an address and a port",
		"127.0.0.1:99999":     "write an address and a port",
	} {
		s := &Server{Listen: listen}
		_, err := s.Start(t.Context())
		if !errors.Is(err, reverie.ErrConfiguration) || !strings.HasPrefix(err.Error(), fmt.Sprintf("[http] listen %q: ", listen)) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", listen, err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("%s: stop: %v", listen, err)
		}
	}
}

// TestNoServer listens nowhere.
func TestNoServer(t *testing.T) {
	s := &Server{}
	if addr, err := s.Start(t.Context()); addr != "" || err != nil {
		t.Errorf("%q, %v", addr, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStop lets a request under way finish, and breaks it off when told to hurry.
func TestStop(t *testing.T) {
	for _, hurry := range []bool{false, true} {
		asked, release := make(chan struct{}), make(chan struct{})
		s := &Server{Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Ready: func(ctx context.Context) error {
			close(asked)
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		addr, err := s.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /readyz HTTP/1.1\r\nHost: reverie\r\n\r\n")
		<-asked
		ctx, cancel := context.WithCancel(t.Context())
		if hurry {
			cancel()
		} else {
			close(release)
		}
		if err := s.Stop(ctx); hurry != errors.Is(err, context.Canceled) {
			t.Errorf("hurry %v: stop: %v", hurry, err)
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if hurry != (err != nil) || !hurry && !strings.Contains(line, "200") {
			t.Errorf("hurry %v: answer %q, %v", hurry, line, err)
		}
		conn.Close()
		cancel()
	}
}

// pipes is a listener without a network, whose time a bubble can hold.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestSlowClients hangs up on who does not come to the end of a request, or asks
// nothing more.
func TestSlowClients(t *testing.T) {
	for text, patience := range map[string]time.Duration{
		"GET /healthz HTTP/1.1\r\nHost: rev":                                         5 * time.Second,
		"GET /healthz HTTP/1.1\r\nHost: reverie\r\n\r\n":                             time.Minute,
		"GET /healthz HTTP/1.1\r\nHost: reverie\r\nContent-Length: 9\r\n\r\nno more": 10 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &Server{Log: slog.New(slog.DiscardHandler)}
			listener := &pipes{make(chan net.Conn), make(chan struct{})}
			s.serve(listener)
			client, server := net.Pipe()
			defer client.Close()
			listener.conns <- server
			began := time.Now()
			go io.WriteString(client, text)
			if _, err := io.ReadAll(client); err != nil {
				t.Error(err)
			}
			if ended := time.Now(); !ended.Equal(began.Add(patience)) { // the bubble's clock
				t.Errorf("%q: hung up after %s, want %s", text, ended.Sub(began), patience)
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLargeHeader is refused before it is read to the end.
func TestLargeHeader(t *testing.T) {
	url := start(t, &Server{})
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Large", strings.Repeat("x", 24<<10))
	resp, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Error(resp.Status)
	}
}
