package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"reverie/internal/reverie"
)

// Server answers a daemon's probes and serves its metrics: GET /healthz, /readyz and /metrics. A Handler may add
// other routes around these.
type Server struct {
	Listen   string                      // address and port, as in [http] listen; "": no server
	Ready    func(context.Context) error // nil: always ready
	Metrics  *Metrics                    // nil: there is no /metrics
	Handler  http.Handler                // handles all requests and may include Probes; nil: Probes
	MaxConns int                         // maximum number of open connections; 0: unlimited
	Log      *slog.Logger                // nil: slog.Default

	stopping atomic.Bool
	server   *http.Server
	served   chan struct{} // closed when no more connections are accepted
}

// readyTimeout is how long a probe waits for Ready.
const readyTimeout = 2 * time.Second

// Start listens and serves until Stop, even if ctx ends. It returns the listening address, "" for no server. The
// error is a [reverie.ErrConfiguration] that names the setting.
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

// serve answers in the background. No client can block it.
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
		// A client that disconnects is not worth a log entry.
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
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

// Stopping makes /readyz report it, while everything else continues.
func (s *Server) Stopping() { s.stopping.Store(true) }

// Stop lets running requests finish until ctx ends, then aborts them and returns the context's error.
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

// ask calls Ready, and returns when ctx ends even if Ready does not.
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
	fmt.Fprintln(w, text) // a disconnected client needs no answer
}

// conns is a listener with a bounded number of open connections. When another connection arrives, one is closed for
// it. That is the one that has been sending the header of its first request for longest, otherwise the one idle for
// longest. So slow clients lock nobody out. If all have running requests, conns waits for one to end.
type conns struct {
	net.Listener
	max int

	mu      sync.Mutex
	changed *sync.Cond
	open    map[*counted]struct{}
	closed  bool
}

// counted is a connection that reports when it is closed.
type counted struct {
	net.Conn
	conns *conns
	state http.ConnState // new until the header of its first request has been read
	since time.Time
}

// grace is how long a connection may take for the header of its first request before it may be closed for another
// one.
const grace = 250 * time.Millisecond

func newConns(inner net.Listener, max int) *conns {
	c := &conns{Listener: inner, max: max, open: map[*counted]struct{}{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Accept returns the next connection once one may be opened.
func (c *conns) Accept() (net.Conn, error) {
	raw, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) >= c.max && !c.closed {
		if !c.evict() {
			c.changed.Wait()
		}
	}
	if c.closed {
		_ = raw.Close()
		return nil, net.ErrClosed
	}
	conn := &counted{Conn: raw, conns: c, state: http.StateNew, since: time.Now()}
	c.open[conn] = struct{}{}
	return conn, nil
}

// evict closes a connection without a running request. If none may be closed yet, it wakes waiting callers when one
// may. The caller holds the lock.
func (c *conns) evict() bool {
	var victim *counted
	again := grace
	for conn := range c.open {
		left := grace - time.Since(conn.since)
		switch {
		case conn.state == http.StateActive:
		case conn.state == http.StateNew && left > 0:
			again = min(again, left)
		case victim == nil || conn.state < victim.state, // StateNew is before StateIdle
			conn.state == victim.state && conn.since.Before(victim.since):
			victim = conn
		}
	}
	if victim == nil {
		time.AfterFunc(again, c.changed.Broadcast)
		return false
	}
	delete(c.open, victim)
	_ = victim.Conn.Close() // its goroutine gets an error, and ends
	return true
}

// state records the state of a connection. See [http.Server.ConnState].
func (c *conns) state(raw net.Conn, state http.ConnState) {
	conn, _ := raw.(*counted)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.open[conn]; open && (state == http.StateActive || state == http.StateIdle) {
		conn.state, conn.since = state, time.Now()
		c.changed.Broadcast()
	}
}

// Close closes the listener and ends waiting calls.
func (c *conns) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

func (c *counted) Close() error {
	c.conns.mu.Lock()
	delete(c.conns.open, c)
	c.conns.changed.Broadcast()
	c.conns.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets a client read the answer before the connection ends: see [net.TCPConn].
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
