// Package server puts the API, the page and MCP on one port, with what surrounds them:
// who asks, request ids, the access log, limits of rate, size and time, and the end of a
// panic. It also answers probes and scrapes, which need no token.
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

// Options are what a [Server] is made of. A room that is nil is not there. The rooms see
// who asks in the context of a request ([api.CallerOf]): nobody below /ui/ where nobody
// has logged in, and somebody everywhere else.
type Options struct {
	Service *api.Service
	REST    http.Handler // everything that is not one of the others'
	Web     http.Handler // /ui/; a [Refuser], it says itself why it was not asked
	MCP     http.Handler // /mcp
	// Context is that of each request, made of the one that it came with. nil: as it came.
	Context func(context.Context) context.Context

	Listen       string // address and port; on loopback, while no token was ever made
	RequireToken bool   // also while none was

	RequestTimeout    time.Duration // of a request; 30 s
	EvolveWait        time.Duration // that evolve may take besides
	MaxBody           int64         // bytes of a request; 1 MiB
	MaxMessagesBody   int64         // of messages that come in; 64 MiB
	RequestsPerSecond float64       // of one token, twice as many at once; 0: no limit
	MaxWorking        int           // requests of one sender that work at a time, others of it wait; 0: 4
	MaxConns          int           // open connections; 0: as many as the process has files and memory for
	MaxBodies         int64         // bytes of all bodies under way; 0: as many as it has memory for

	Ready   func(context.Context) error
	Metrics *telemetry.Metrics
	Log     *slog.Logger     // nil: slog.Default
	Now     func() time.Time // nil: time.Now
}

// Server answers everything that is asked over HTTP.
type Server struct {
	opts    Options
	listen  *telemetry.Server
	probes  http.Handler
	limits  *limits
	busy    *budget // requests under way
	turns   *turns  // of those, the ones that work
	bodies  *budget // bytes of bodies under way
	nobody  *budget // requests with a body under way of who has not said who it is
	streams *streams
	lately  lately
	closed  atomic.Bool // a token was made, or is required: nobody comes in without one
}

// Refuser is a room whose visitors read no problems in JSON. Refuse answers a request that
// did not come to it.
type Refuser interface {
	Refuse(http.ResponseWriter, *http.Request, *problem.Problem)
}

// New returns a server that does not listen yet.
func New(opts Options) (*Server, error) {
	if opts.Service == nil {
		return nil, fmt.Errorf("a server without a service: %w", reverie.ErrInvalid)
	}
	opts = opts.withDefaults()
	s := &Server{opts: opts, limits: newLimits(opts.RequestsPerSecond), lately: lately{recent[[sha256.Size]byte, string]()},
		busy:   newBudget(math.MaxInt64, int64(max(1, opts.MaxConns/2))),
		bodies: newBudget(opts.MaxBodies, opts.MaxBodies/2), nobody: newBudget(strangers, strangers/2),
		turns: newTurns(opts.MaxWorking), streams: &streams{open: map[*body]struct{}{}}}
	s.closed.Store(opts.RequireToken)
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

// Start listens and serves until Stop, and returns the address: "" where Listen is empty.
// While no token was ever made, and none is required, that is an address of loopback,
// whatever Listen says.
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

// Stopping makes /readyz say so, and ends the messages that come in where they stand:
// what of them is whole is stored, and its sender is told. Nobody is told any more what
// goes on. All else does.
func (s *Server) Stopping() {
	s.listen.Stopping()
	s.streams.stop()
}

// Stop lets requests under way finish until ctx ends, then breaks them off. It returns
// the context's error in that case.
func (s *Server) Stop(ctx context.Context) error {
	s.Stopping()
	return s.listen.Stop(ctx)
}

// Open tells whether nobody needs a token: none was ever made, and none is required. A
// server that was closed once stays so.
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

// Handler answers what comes in, whoever listens.
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
