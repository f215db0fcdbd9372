package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"reverie/internal/api/problem"
	"reverie/internal/text"
)

// body is the body of a request. The budget of all bodies counts its received bytes until the request ends or, for
// messages, until they are stored.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	answer  *answer
	streams *streams  // nil if it is no stream
	until   time.Time // deadline for the whole body
	budget  *budget
	key     string // the sender's key
	owe     func(requests int)

	mu   sync.Mutex
	held int64
	came int   // bytes since the last charge against the sender's rate
	line int64 // of these, the bytes of an incomplete line
	over bool  // the request has ended
}

// Read extends a stream's deadline with each piece. After the last piece it sets no deadline: one that passes while
// the answer is made would cancel the request.
func (b *body) Read(p []byte) (int, error) {
	if b.streams != nil && !b.streams.wait(b) {
		return 0, stopping()
	}
	n, err := b.ReadCloser.Read(p)
	if !b.take(p[:n]) {
		full := crowded()
		b.answer.instead.Store(full)
		return 0, full
	}
	if err != nil && b.streams != nil && b.streams.end(b) && errors.Is(err, os.ErrDeadlineExceeded) {
		err = stopping()
	}
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// take counts received bytes.
func (b *body) take(piece []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || !b.budget.take(b.key, int64(len(piece))) {
		return false
	}
	b.held += int64(len(piece))
	if b.came += len(piece); b.came >= bytesOfOne {
		b.owe(b.came / bytesOfOne)
		b.came %= bytesOfOne
	}
	if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
		b.line, piece = 0, piece[i+1:]
	}
	b.line += int64(len(piece))
	return true
}

// Stored releases the bytes of the lines that were received, since they are stored.
func (b *body) Stored() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.budget.give(b.key, b.held-b.line)
		b.held = b.line
	}
}

// end releases everything.
func (b *body) end() {
	if b.streams != nil {
		b.streams.end(b)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.budget.give(b.key, b.held)
	b.held, b.line, b.over = 0, 0, true
}

// crowded returns the problem for a full budget of bodies.
func crowded() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, "more is being sent than this server can hold at a time: send this again in a moment, "+
		"messages from the start too, since those that are known stay as they are").RetryAfter(retryLater)
}

const retryLater = 5 * time.Second

// stopping returns the problem of a stream that the stopping server ends.
func stopping() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, "the server is stopping: send the rest again in a moment").RetryAfter(retryLater)
}

// streams are the bodies without a fixed deadline. The server does not wait for their end.
type streams struct {
	mu       sync.Mutex
	open     map[*body]struct{}
	stopping bool
}

// wait extends a stream's deadline for the next piece: false if it may not continue.
func (s *streams) wait(b *body) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.open[b] = struct{}{}
	next := time.Now().Add(stall)
	if next.After(b.until) {
		next = b.until
	}
	_ = b.control.SetReadDeadline(next)
	return true
}

// end removes a finished stream, and reports whether the server is stopping.
func (s *streams) end(b *body) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, b)
	return s.stopping
}

// stopped reports whether streams have been ended.
func (s *streams) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// stop ends every stream at once.
func (s *streams) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for b := range s.open {
		_ = b.control.SetReadDeadline(time.Now())
	}
}

// limit bounds a request.
type limit struct {
	time   time.Duration // until the answer is complete
	body   int64         // bytes
	stream bool          // the body may take long, as long as bytes arrive
	watch  bool          // the answer may take long, until the server stops
}

const (
	stall      = 30 * time.Second // without a byte of a stream, or for a client to receive an answer
	streamTime = time.Hour        // of a whole stream
	watchTime  = time.Minute      // of a stream of events; then the browser reconnects, and the caller is checked again
)

// Limits of unauthenticated requests.
const (
	strangeBody = 4 << 10 // bytes; a token has 60
	strangeTime = 10 * time.Second
	strangers   = 128 // such requests with a running body, half of them from one address
)

// brief returns the limit of an unauthenticated request.
func (s *Server) brief() limit {
	return limit{time: min(s.opts.RequestTimeout, strangeTime), body: min(s.opts.MaxBody, strangeBody)}
}

// limitOf returns the limit of a request.
func (s *Server) limitOf(r *http.Request) limit {
	if r.URL.Path == "/ui/live" {
		return limit{time: watchTime, body: s.opts.MaxBody, watch: true}
	}
	if r.Method == http.MethodPost {
		// Splits the escaped path, since a group's id may contain any character.
		parts := strings.Split(r.URL.EscapedPath(), "/")
		switch {
		case len(parts) == 5 && parts[1] == "v1" && parts[2] == "groups" && parts[4] == "messages":
			return limit{time: streamTime, body: s.opts.MaxMessagesBody, stream: true}
		case len(parts) == 4 && parts[1] == "memory" && parts[2] == "evolve",
			len(parts) == 5 && parts[1] == "ui" && parts[2] == "groups" && parts[4] == "evolve":
			return limit{time: s.opts.EvolveWait + s.opts.RequestTimeout, body: s.opts.MaxBody}
		case r.URL.Path == "/ui/login":
			return s.brief()
		}
	}
	return limit{time: s.opts.RequestTimeout, body: s.opts.MaxBody}
}

// sends reports whether a request has a body.
func (x *exchange) sends() bool { return x.request.Body != nil && x.request.Body != http.NoBody }

// admit admits the body of a request, until leave is called, or refuses it.
func (x *exchange) admit(key string) (leave func(), ok bool) {
	if !x.sends() {
		return func() {}, true
	}
	stranger := x.caller.Scope == ""
	if stranger {
		brief := x.brief()
		x.limit.time, x.limit.body = min(x.limit.time, brief.time), min(x.limit.body, brief.body)
	}
	encoding := strings.Join(x.request.Header.Values("Content-Encoding"), ", ")
	switch {
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		x.answer.Header().Set("Accept-Encoding", "identity")
		x.refuse(problem.New(http.StatusUnsupportedMediaType, "the body's Content-Encoding is "+strconv.Quote(text.Excerpt(encoding, 40))+": send it as it is, without one"))
	case x.request.ContentLength > x.limit.body:
		x.fail(&http.MaxBytesError{Limit: x.limit.body})
	case x.limit.stream && x.streams.stopped():
		x.refuse(stopping())
	case stranger && !x.nobody.take(key, 1):
		x.later("too many are sending something without having logged in: wait a little", time.Second)
	case !x.bodies.take(key, bodySize):
		if stranger {
			x.nobody.give(key, 1)
		}
		x.refuse(crowded())
	default:
		return func() {
			x.bodies.give(key, bodySize)
			if stranger {
				x.nobody.give(key, 1)
			}
		}, true
	}
	return nil, false
}

// bound sets the limits of the body and of its duration, until end is called. The deadlines are the connection's,
// since a read that waits for bytes ignores contexts.
func (x *exchange) bound() (end func()) {
	control, r := x.control(), x.request
	_ = control.SetWriteDeadline(time.Now().Add(x.limit.time + stall)) // the writer may have no connection, here and below
	if !x.sends() {
		_ = control.SetReadDeadline(time.Time{})
		return func() {}
	}
	_ = control.SetReadDeadline(time.Now().Add(x.limit.time))
	b := &body{ReadCloser: http.MaxBytesReader(x.answer.ResponseWriter, r.Body, x.limit.body), control: control, answer: x.answer,
		until: time.Now().Add(x.limit.time), budget: x.bodies, key: x.key()}
	b.owe = func(requests int) { x.limits.owe(b.key, requests, x.opts.Now()) }
	if x.limit.stream {
		x.answer.taking = stall
		b.streams = x.streams
	}
	r.Body = b
	return b.end
}
