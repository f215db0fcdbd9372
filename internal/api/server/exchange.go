package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// exchange is a request and its answer.
type exchange struct {
	*Server
	answer  *answer
	request *http.Request // as the handlers get it
	id      string
	began   time.Time
	caller  api.Caller // Scope is "" for an unauthenticated request
	limit   limit
	probe   bool
}

// idHeader has the id of a request, for its sender and for the log.
const idHeader = "X-Request-Id"

var idPattern = text.NewPattern(`^[A-Za-z0-9._:/+=-]{1,64}$`)

// defaultHeaders are the headers of every answer. The operator's page overrides some.
var defaultHeaders = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "same-origin",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{Server: s, answer: &answer{ResponseWriter: w}, id: r.Header.Get(idHeader), began: s.opts.Now()}
	if !idPattern.MatchString(x.id) || api.WithoutTokens(x.id) != x.id {
		x.id = reverie.NewID()
	}
	for name, value := range defaultHeaders {
		w.Header().Set(name, value)
	}
	w.Header().Set(idHeader, x.id)
	x.answer.refuse = x.refuse
	x.request = r.WithContext(problem.WithRequestID(s.opts.Context(r.Context()), x.id))
	return x
}

// end answers for a handler that panicked, and records the request.
func (x *exchange) end() {
	fault := recover()
	if fault != nil && fault != any(http.ErrAbortHandler) {
		x.opts.Log.Error("a request panicked", "request_id", x.id, "panic", fault, "stack", string(debug.Stack()))
		if x.answer.status == 0 {
			fault = nil
			x.refuse(problem.Of(errors.New("panic"), x.began))
		} else {
			fault = http.ErrAbortHandler // the client sees a truncated answer
		}
	}
	x.note()
	if fault != nil {
		panic(fault)
	}
}

// note writes the access log and counts the request.
func (x *exchange) note() {
	status := x.answer.status
	if status == 0 {
		status = http.StatusOK
	}
	took := x.opts.Now().Sub(x.began)
	level := slog.LevelInfo
	if x.probe {
		level = slog.LevelDebug
	} else {
		x.opts.Metrics.RequestDone(x.route(), x.request.Method, status, took)
	}
	x.opts.Log.Log(context.WithoutCancel(x.request.Context()), level, "request", "method", x.request.Method, "route", x.route(),
		"path", text.Excerpt(api.WithoutTokens(x.request.URL.Path), 200), "status", status, "bytes", x.answer.bytes,
		"duration_ms", float64(took.Microseconds())/1000, "request_id", x.id, "token_id", x.caller.TokenID, "group_id", x.caller.GroupID)
}

// route returns the pattern of the request in its handler, without the method.
func (x *exchange) route() string {
	pattern := x.request.Pattern
	if _, path, ok := strings.Cut(pattern, " "); ok {
		pattern = path
	}
	switch {
	case x.probe:
		return x.request.URL.Path
	case pattern != "" && pattern != "/": // the pattern "/" matches what nothing else does
		return pattern
	case below(x.request, "/ui/"):
		return "/ui/"
	case x.request.URL.Path == "/mcp", x.request.URL.Path == "/", x.request.URL.Path == "/ui":
		return x.request.URL.Path
	}
	return "other"
}

func below(r *http.Request, folder string) bool { return strings.HasPrefix(r.URL.Path, folder) }

// fail answers with an error.
func (x *exchange) fail(err error) {
	p := problem.Of(err, x.opts.Now())
	if p.Status >= http.StatusInternalServerError {
		x.opts.Log.Error("a request failed", "request_id", x.id, "error", err)
	}
	x.refuse(p)
}

// refuse answers with a problem, without waiting for the rest of the body.
func (x *exchange) refuse(p *problem.Problem) {
	if x.sends() {
		x.answer.Header().Set("Connection", "close")
		_ = x.control().SetReadDeadline(time.Now().Add(parting)) // the writer may have no connection
	}
	if page, ok := x.opts.Web.(Refuser); ok && below(x.request, "/ui/") {
		page.Refuse(x.answer, x.request, p)
		return
	}
	p.Write(x.answer, x.request)
}

// control sets the deadlines of the connection, which follow the real clock.
func (x *exchange) control() *http.ResponseController {
	return http.NewResponseController(x.answer.ResponseWriter)
}

// parting is how long a refused client may continue to send.
const parting = time.Second

// answer counts the bytes sent.
type answer struct {
	http.ResponseWriter
	status int // 0: nothing yet
	bytes  int64
	taking time.Duration // time that the client may take to receive it; 0: unchanged

	refuse  func(*problem.Problem)
	instead atomic.Pointer[problem.Problem] // replaces the handler's answer
	muted   bool                            // it did, and further output of the handler is dropped
}

func (a *answer) WriteHeader(status int) {
	if p := a.instead.Swap(nil); p != nil && a.status == 0 {
		for _, name := range []string{"Content-Length", "Location", "Set-Cookie"} {
			a.Header().Del(name)
		}
		a.refuse(p)
		a.muted = true
	}
	if a.muted {
		return
	}
	if a.status == 0 && status >= http.StatusOK { // a status below that is followed by another one
		a.status = status
		if a.taking > 0 {
			_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.taking))
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.muted {
		return len(b), nil
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Flush is for streams of events.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// Unwrap is for [http.ResponseController].
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
