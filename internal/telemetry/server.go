package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"reverie/internal/reverie"
)

// Server listens. It is how a daemon is probed and scraped: GET /healthz, /readyz and
// /metrics, and nothing else, unless a handler of all there is stands around those.
type Server struct {
	Listen   string                      // address and port, as in [http] listen; "": no server
	Ready    func(context.Context) error // nil: always ready
	Metrics  *Metrics                    // nil: /metrics is not there
	Handler  http.Handler                // of everything, such as one that has Probes as a part; nil: Probes
	MaxConns int                         // open connections at most; 0: as many as come
	Log      *slog.Logger                // nil: slog.Default

	stopping atomic.Bool
	server   *http.Server
	served   chan struct{} // closed once nothing is accepted any more
}

// readyTimeout is how long a probe waits for Ready.
const readyTimeout = 2 * time.Second

// Start listens and serves until Stop, whatever becomes of ctx. It returns the
// address that it listens on, "" for no server. The error is a
// [reverie.ErrConfiguration] that names the setting.
func (s *Server) Start(ctx context.Context) (addr string, err error) {
	if s.Listen == "" {
		return "", nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return "", s.explain(err)
	}
	s.serve(listener)
	return listener.Addr().String(), nil
}

// serve answers in the background, and lets no client hold it up.
func (s *Server) serve(listener net.Listener) {
	log := s.log()
	handler := s.Handler
	if handler == nil {
		handler = s.Probes()
	}
	s.server = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // a client that breaks off is no event
	}
	if s.MaxConns > 0 {
		limited := newConns(listener, s.MaxConns)
		listener, s.server.ConnState = limited, limited.state
	}
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the HTTP server ended; nothing is answered until a restart", "error", err)
		}
	}()
}

func (s *Server) explain(err error) error {
	hint := "write an address and a port, such as 127.0.0.1:8470"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "another process has it: stop that one, choose another port, or leave the setting empty for no server"
	case errors.Is(err, syscall.EACCES):
		hint = "this user may not listen there: choose a port from 1024 on"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "no interface of this machine has that address: choose another, or none for all interfaces, such as :8470"
	}
	return fmt.Errorf("[http] listen %q: %w: %w: %s", s.Listen, err, reverie.ErrConfiguration, hint)
}

// Stopping makes /readyz say so, while all else goes on.
func (s *Server) Stopping() { s.stopping.Store(true) }

// Stop lets requests under way finish until ctx ends, then breaks them off. It
// returns the context's error in that case.
func (s *Server) Stop(ctx context.Context) error {
	s.Stopping()
	if s.server == nil {
		return nil
	}
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = fmt.Errorf("stop the HTTP server: %w", errors.Join(err, s.server.Close()))
	}
	<-s.served
	return err
}

func (s *Server) log() *slog.Logger {
	if s.Log == nil {
		return slog.Default()
	}
	return s.Log
}

// Probes answers /healthz, /readyz and /metrics.
func (s *Server) Probes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	if s.Metrics != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(s.Metrics.registry, promhttp.HandlerOpts{
			ErrorLog: slog.NewLogLogger(s.log().Handler(), slog.LevelWarn), MaxRequestsInFlight: 4,
		}))
	}
	return mux
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.stopping.Load() {
		say(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	if s.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := s.ask(ctx); err != nil {
			say(w, http.StatusServiceUnavailable, words(err))
			return
		}
	}
	say(w, http.StatusOK, "ready")
}

// ask asks Ready, and does not wait for one that overlooks the end of ctx.
func (s *Server) ask(ctx context.Context) error {
	answer := make(chan error, 1)
	go func() { answer <- s.Ready(ctx) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("not known within %s: %w", readyTimeout, ctx.Err())
	}
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintln(w, text) // a client that is gone needs no answer
}

func (m *Metrics) defineRequests() {
	labels := []string{"route", "method"}
	m.requests = m.counter("http_requests_total",
		"Requests to the API, the page and MCP, by how they were answered: 2xx, 3xx, 4xx or 5xx.", append(labels,
			"status")...)
	m.requestSeconds = m.histogram("http_request_seconds", "How long the answer to a request took.", requestBuckets,
		labels...)
	m.confined = m.gauge("reader_confined",
		"1 where clients read as a role that row-level security confines to their group, 0 where they do not.")
}

// ReaderConfined says whether clients read as a role that is confined to their group.
func (m *Metrics) ReaderConfined(on bool) {
	if m == nil {
		return
	}
	m.confined.WithLabelValues().Set(map[bool]float64{true: 1}[on])
}

// methods are those of HTTP that are told apart.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// RequestDone counts a request. The route is a pattern, so that there are no more of
// them than the API has.
func (m *Metrics) RequestDone(route, method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status/100)+"xx").Inc()
	m.requestSeconds.WithLabelValues(route, method).Observe(took.Seconds())
}
