package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"reverie/internal/api/problem"
)

// Bounds of one request, whatever it is for.
const (
	maxAddress = 64 << 10 // bytes of path and query: a query of the most characters, percent-encoded, fits
	maxNesting = 64       // objects and lists inside each other
	maxValues  = 10_000   // values in a body of JSON
	maxBatch   = 20       // calls in a JSON-RPC batch
	bytesOfOne = 64 << 10 // bytes of a body that weigh as much as a request
)

// weigh reads a body of JSON, refuses one that asks for more than a request may, and counts what it weighs. A stream
// is counted as it comes.
func (x *exchange) weigh() (ok bool) {
	agents := x.request.URL.Path == "/mcp"
	if !x.sends() || x.limit.stream || !agents && !strings.Contains(x.request.Header.Get("Content-Type"), "json") {
		return true
	}
	var data bytes.Buffer
	var of shape
	err := error(nil)
	for piece := make([]byte, 32<<10); err == nil && of.depth <= maxNesting && of.values <= maxValues; {
		n := 0
		n, err = x.request.Body.Read(piece)
		data.Write(piece[:n])
		of.add(piece[:n])
	}
	x.request.Body = &readBody{io.MultiReader(&data, failing{err}), x.request.Body}
	switch {
	case of.depth > maxNesting:
		x.refuse(problem.New(http.StatusUnprocessableEntity, fmt.Sprintf("the body has values in more than %d levels: send it flatter",
			maxNesting)))
	case of.values > maxValues:
		x.refuse(problem.New(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d values: send it in parts", maxValues)))
	case agents && of.calls() > maxBatch:
		x.refuse(problem.New(http.StatusRequestEntityTooLarge, fmt.Sprintf("the batch has %d calls, and %d is the most: send them in parts",
			of.calls(), maxBatch)))
	default:
		if agents {
			x.limits.owe(x.key(), of.calls()-1, x.opts.Now())
		}
		return true
	}
	return false
}

// readBody is a body that was read, and what closes it.
type readBody struct {
	io.Reader
	io.Closer
}

// failing ends a body as it ended when it was read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// shape is how deeply a text of JSON is nested, about how many values it has, and how many of these a list has that
// is all of it. What is no JSON has some shape too.
type shape struct {
	depth, values, commas        int
	level                        int
	begun, list, quoted, escaped bool
}

func (s *shape) add(piece []byte) {
	for _, c := range piece {
		if !s.begun && strings.IndexByte(" \t\r\n", c) < 0 {
			s.begun, s.list = true, c == '['
		}
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted && c == '\\':
			s.escaped = true
		case c == '"':
			s.quoted = !s.quoted
		case s.quoted:
		case c == '{' || c == '[':
			s.level++
			s.values++
			s.depth = max(s.depth, s.level)
		case c == '}' || c == ']':
			s.level--
		case c == ',':
			s.values++
			if s.list && s.level == 1 {
				s.commas++
			}
		}
	}
}

// calls is of how many calls a text is that is a batch of them, or one.
func (s *shape) calls() int { return s.commas + 1 }

// owe counts further requests against a bucket, though it has them no more: whoever owes some waits longer.
func (l *limits) owe(key string, n int, now time.Time) {
	if l.perSecond <= 0 {
		return
	}
	for b := l.bucket(key); n > 0; n -= l.burst {
		b.ReserveN(now, min(n, l.burst))
	}
}

// turns let so many requests of one sender work at a time. Further ones wait, so that those of others need not.
type turns struct {
	each int

	mu    sync.Mutex
	byKey map[string]*turn
}

type turn struct {
	places chan struct{}
	users  int // who have a place, or wait for one
}

// take waits for a place, until ctx ends.
func (t *turns) take(ctx context.Context, key string) (leave func(), err error) {
	t.mu.Lock()
	of := t.byKey[key]
	if of == nil {
		of = &turn{places: make(chan struct{}, t.each)}
		t.byKey[key] = of
	}
	of.users++
	t.mu.Unlock()
	gone := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if of.users--; of.users == 0 {
			delete(t.byKey, key)
		}
	}
	select {
	case of.places <- struct{}{}:
		return func() { <-of.places; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}
