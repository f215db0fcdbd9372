// Package server serves the API, the operator's page and MCP on one port. It adds authentication, request ids, the
// access log, limits of rate, size and time, and recovery from panics. It also answers probes and metrics requests,
// which need no token.
package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/reverie"
	"reverie/internal/telemetry"
)

// Options configure a [Server]. A nil handler is not served. The handlers find the caller in the context of a
// request ([api.CallerOf]). There is always one, except below /ui/ without a login.
type Options struct {
	Service *api.Service
	REST    http.Handler // all other requests
	Web     http.Handler // /ui/; as a [Refuser], it answers refused requests itself
	MCP     http.Handler // /mcp
	// Context derives the context of each request. nil: unchanged.
	Context func(context.Context) context.Context

	Listen       string // address and port; on loopback as long as no token exists
	RequireToken bool   // require one even if no token exists

	RequestTimeout    time.Duration // of a request; 30 s
	EvolveWait        time.Duration // additional time for evolve
	MaxBody           int64         // bytes of a request; 1 MiB
	MaxMessagesBody   int64         // of imported messages; 64 MiB
	RequestsPerSecond float64       // of one token, with a burst of twice as many; 0: no limit
	MaxWorking        int           // concurrent requests of one sender, beyond which others wait; 0: 4
	MaxConns          int           // open connections; 0: as files and memory allow
	MaxBodies         int64         // bytes of all running bodies; 0: as memory allows

	Ready   func(context.Context) error
	Metrics *telemetry.Metrics
	Log     *slog.Logger     // nil: slog.Default
	Now     func() time.Time // nil: time.Now
}

// Server answers all HTTP requests.
type Server struct {
	opts        Options
	listen      *telemetry.Server
	probes      http.Handler
	limits      *limits
	busy        *budget // running requests
	turns       *turns  // those of them that work
	bodies      *budget // bytes of running bodies
	nobody      *budget // unauthenticated requests with a running body
	streams     *streams
	validTokens validTokens
	closed      atomic.Bool // a token exists or is required

	watched context.Context // ends streams of events once the server is stopping
	unwatch context.CancelFunc
}

// Refuser is a handler whose clients do not read problems in JSON. Refuse answers a request that did not reach it.
type Refuser interface {
	Refuse(http.ResponseWriter, *http.Request, *problem.Problem)
}

// New returns a server that does not listen yet.
func New(opts Options) (*Server, error) {
	if opts.Service == nil {
		return nil, fmt.Errorf("a server without a service: %w", reverie.ErrInvalid)
	}
	opts = opts.withDefaults()
	s := &Server{opts: opts, limits: newLimits(opts.RequestsPerSecond),
		validTokens: recent[[sha256.Size]byte, string](),
		busy:        newBudget(math.MaxInt64, int64(max(1, opts.MaxConns/2))),
		bodies:      newBudget(opts.MaxBodies, opts.MaxBodies/2), nobody: newBudget(strangers, strangers/2),
		turns: newTurns(opts.MaxWorking), streams: &streams{open: map[*body]struct{}{}}}
	s.closed.Store(opts.RequireToken)
	s.watched, s.unwatch = context.WithCancel(context.Background())
	s.listen = &telemetry.Server{Ready: opts.Ready, Metrics: opts.Metrics, Log: opts.Log, Handler: s.Handler(), MaxConns: opts.MaxConns}
	s.probes = s.listen.Probes()
	return s, nil
}

func (o Options) withDefaults() Options {
	o.RequestTimeout = cmp.Or(max(o.RequestTimeout, 0), 30*time.Second)
	o.MaxBody = cmp.Or(max(o.MaxBody, 0), 1<<20)
	o.MaxMessagesBody = cmp.Or(max(o.MaxMessagesBody, 0), 64<<20)
	o.MaxWorking = cmp.Or(max(o.MaxWorking, 0), 4)
	o.MaxConns = cmp.Or(max(o.MaxConns, 0), roomForConns())
	o.MaxBodies = cmp.Or(max(o.MaxBodies, 0), roomForBodies(o.MaxBody))
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Context == nil {
		o.Context = func(ctx context.Context) context.Context { return ctx }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Start listens and serves until Stop, and returns the address: "" if Listen is empty. As long as no token exists
// and none is required, the address is on loopback, whatever Listen says.
func (s *Server) Start(ctx context.Context) (addr string, err error) {
	open, err := s.Open(ctx)
	if err != nil {
		return "", err
	}
	s.listen.Listen = s.opts.Listen
	if own := loopback(s.opts.Listen); open && own != s.opts.Listen {
		s.listen.Listen = own
		s.opts.Log.Warn("no token was ever created: only this machine can reach the API and the page; to have others reach them, "+
			"create a token (reverie token create) or set [http] require_token, and start again", "listen", s.opts.Listen, "instead", own)
	}
	return s.listen.Start(ctx)
}

// Stopping makes /readyz report it, and ends streams. Complete messages of an import are stored, and its sender
// gets an answer; streams of events end. Everything else continues.
func (s *Server) Stopping() {
	s.listen.Stopping()
	s.unwatch()
	s.streams.stop()
}

// Stop lets running requests finish until ctx ends, then aborts them and returns the context's error.
func (s *Server) Stop(ctx context.Context) error {
	s.Stopping()
	return s.listen.Stop(ctx)
}

// Open reports whether requests need no token: none exists, and none is required. Once that is false, it stays
// false.
func (s *Server) Open(ctx context.Context) (bool, error) {
	if s.closed.Load() {
		return false, nil
	}
	found, err := s.opts.Service.Store.HasTokens(ctx)
	if err != nil {
		return false, err
	}
	if found {
		s.closed.Store(true)
	}
	return !found, nil
}

// Handler returns the handler of all requests, for any listener.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := s.begin(w, r)
		defer x.end()
		switch r.URL.Path {
		case "/healthz", "/readyz", "/metrics":
			x.probe = true
			s.probes.ServeHTTP(x.answer, r)
		default:
			x.serve()
		}
	})
}
