package server

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"reverie/internal/api/problem"
	"reverie/internal/text"
)

// limit is what a request may take.
type limit struct {
	time   time.Duration // until the answer stands
	body   int64         // bytes
	stream bool          // its body takes its time, as long as bytes keep coming
}

const (
	stall      = 30 * time.Second // without a byte of a stream, or for a client to take an answer
	streamTime = time.Hour        // of a whole stream
)

// Of who has not said who it is.
const (
	strangeBody = 4 << 10 // bytes; a token has 60
	strangeTime = 10 * time.Second
	strangers   = 128 // such requests with a body under way, half of them of one address
)

// brief is what a request of nobody known may take.
func (s *Server) brief() limit {
	return limit{time: min(s.opts.RequestTimeout, strangeTime), body: min(s.opts.MaxBody, strangeBody)}
}

// limitOf is what a request may take.
func (s *Server) limitOf(r *http.Request) limit {
	if r.Method == http.MethodPost {
		parts := strings.Split(r.URL.EscapedPath(), "/") // a group's id is one of them, whatever it is
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

// sends tells whether a request has a body.
func (x *exchange) sends() bool { return x.request.Body != nil && x.request.Body != http.NoBody }

// admit lets the body of a request in, until leave, or refuses it.
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

// bound bounds the body, and how long the client may take to send it and to take the
// answer, until the end that it returns. The deadlines are the connection's, since a read
// that waits for bytes looks at no context.
func (x *exchange) bound() (end func()) {
	control, r := x.control(), x.request
	_ = control.SetWriteDeadline(time.Now().Add(x.limit.time + stall)) // it may be no connection, here and below
	if !x.sends() {
		_ = control.SetReadDeadline(time.Time{})
		return func() {}
	}
	_ = control.SetReadDeadline(time.Now().Add(x.limit.time))
	b := &body{ReadCloser: http.MaxBytesReader(x.answer.ResponseWriter, r.Body, x.limit.body), control: control, answer: x.answer,
		until: time.Now().Add(x.limit.time), budget: x.bodies, key: x.key()}
	if x.limit.stream {
		x.answer.taking = stall
		b.streams = x.streams
	}
	r.Body = b
	return b.end
}
