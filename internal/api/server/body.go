package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"reverie/internal/api/problem"
)

// body is what a client sends. What has come of it is held by the budget of all bodies
// until the request ends or, of messages, until they are stored.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	answer  *answer
	streams *streams  // nil where it is no stream
	until   time.Time // when all of it must be there
	budget  *budget
	key     string // whose it is

	mu   sync.Mutex
	held int64
	line int64 // of that, what has come of a line that has not ended
	over bool  // the request has ended
}

// Read gives a stream more time with each piece. Once all is there, nothing more is
// waited for: a deadline that passes while the answer is made would cancel the request.
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

// take holds what has come.
func (b *body) take(piece []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || !b.budget.take(b.key, int64(len(piece))) {
		return false
	}
	b.held += int64(len(piece))
	if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
		b.line, piece = 0, piece[i+1:]
	}
	b.line += int64(len(piece))
	return true
}

// Stored is told that the lines that have come are held by nobody any more.
func (b *body) Stored() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.budget.give(b.key, b.held-b.line)
		b.held = b.line
	}
}

// end gives back everything.
func (b *body) end() {
	if b.streams != nil {
		b.streams.end(b)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.budget.give(b.key, b.held)
	b.held, b.line, b.over = 0, 0, true
}

// crowded is said while the bodies under way are all that can be held.
func crowded() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, "more is being sent than this server can hold at a time: send this again in a moment, "+
		"messages from the start too, since those that are known stay as they are").RetryAfter(retryLater)
}

const retryLater = 5 * time.Second

// stopping ends a stream before its end.
func stopping() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, "the server is stopping: send the rest again in a moment").RetryAfter(retryLater)
}

// streams are the bodies that take their time, which the end of the server does not wait
// for.
type streams struct {
	mu       sync.Mutex
	open     map[*body]struct{}
	stopping bool
}

// wait gives a stream time for its next piece: false where there is none any more.
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

// end forgets a stream of which nothing more comes, and tells whether the server is
// stopping.
func (s *streams) end(b *body) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, b)
	return s.stopping
}

// stopped tells whether streams have been ended.
func (s *streams) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// stop ends every stream where it stands.
func (s *streams) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for b := range s.open {
		_ = b.control.SetReadDeadline(time.Now())
	}
}
