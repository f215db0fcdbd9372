package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"

	"reverie/internal/api/problem"
)

// Bounds of one request of any kind.
const (
	maxAddress = 64 << 10 // bytes of path and query: the longest query fits, percent-encoded
	maxNesting = 64       // nesting of objects and lists
	maxValues  = 10_000   // values in a body of JSON, or fields of a form
	maxBatch   = 20       // calls in a JSON-RPC batch
	bytesOfOne = 64 << 10 // bytes of a body that count as one request
	valsOfOne  = 1000     // values or fields of a body that count as one request
)

// weigh reads a body of JSON or of a form, refuses one beyond the bounds, and returns the number of requests that
// it counts as. A stream is counted while it arrives.
func (x *exchange) weigh() (weight int, ok bool) {
	agents, kind := x.request.URL.Path == "/mcp", x.request.Header.Get("Content-Type")
	form := strings.Contains(kind, "form-urlencoded")
	if !x.sends() || x.limit.stream || !agents && !form && !strings.Contains(kind, "json") {
		return 1, true
	}
	var data bytes.Buffer
	of := shape{values: strings.Count(x.request.URL.RawQuery, "&")}
	of.read(io.TeeReader(x.request.Body, &data), form)
	weight = 1 + data.Len()/bytesOfOne + of.values/valsOfOne
	x.request.Body = &readBody{io.MultiReader(&data, x.request.Body), x.request.Body}
	switch {
	case of.depth > maxNesting:
		x.refuse(problem.New(http.StatusUnprocessableEntity, fmt.Sprintf("the body has values in more than %d levels: send it flatter",
			maxNesting)))
	case of.values > maxValues:
		x.refuse(problem.New(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d values: send it in parts", maxValues)))
	case agents && of.calls > maxBatch:
		x.refuse(problem.New(http.StatusRequestEntityTooLarge, fmt.Sprintf("the batch has %d calls, and %d is the most: send them in parts",
			of.calls, maxBatch)))
	default:
		owed := of.values / valsOfOne // the bytes were counted on arrival
		if agents {
			owed += max(of.calls-1, 0)
		}
		x.limits.owe(x.key(), owed, x.opts.Now())
		return weight, true
	}
	return 0, false
}

// readBody is a body that was read, with the original to be closed.
type readBody struct {
	io.Reader
	io.Closer
}

// shape describes a JSON text: its nesting, its number of values, and the length of a list that is the whole text.
// For a form it counts the fields.
type shape struct{ depth, values, calls int }

// read examines a text, as far as it is JSON and within the bounds.
func (s *shape) read(body io.Reader, form bool) {
	if form {
		fields, _ := io.ReadAll(body) // the next reader gets the error
		s.values += bytes.Count(fields, []byte("&"))
		return
	}
	d := jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for s.depth <= maxNesting && s.values <= maxValues {
		depth := d.StackDepth()
		in, n := d.StackIndex(depth)
		token, err := d.ReadToken()
		if err != nil {
			return
		}
		s.depth = max(s.depth, d.StackDepth())
		if kind := token.Kind(); depth == 0 || kind == '}' || kind == ']' || in == '{' && n%2 == 0 { // a name
			continue
		}
		if s.values++; depth == 1 && in == '[' {
			s.calls++
		}
	}
}

// owe charges a bucket with further requests, even below zero: such a sender waits longer.
func (l *limits) owe(key string, n int, now time.Time) {
	if l.perSecond <= 0 {
		return
	}
	for b := l.bucket(key); n > 0; n -= l.burst {
		b.ReserveN(now, min(n, l.burst))
	}
}

// turns bounds the concurrent requests of one sender; heavier requests count more. Further ones wait, up to a
// bound, so that other senders' requests need not.
type turns struct {
	each    int64
	waiting *budget
	byKey   *lru.Cache[string, *semaphore.Weighted]
}

// waitingOfOne is the maximum number of waiting requests of a sender for each that may work; all senders together
// may have twice as many.
const waitingOfOne = 128

var errNoRoom = errors.New("as many requests wait as may")

func newTurns(each int) *turns {
	n := int64(each) * waitingOfOne
	return &turns{each: int64(each), waiting: newBudget(2*n, n), byKey: recent[string, *semaphore.Weighted]()}
}

// take waits for as many places as a request weighs, until ctx ends; errNoRoom if too many wait.
func (t *turns) take(ctx context.Context, key string, weight int) (leave func(), err error) {
	places := cached(t.byKey, key, func() *semaphore.Weighted { return semaphore.NewWeighted(t.each) })
	n := min(int64(weight), t.each)
	if leave = func() { places.Release(n) }; places.TryAcquire(n) {
		return leave, nil
	}
	if !t.waiting.take(key, 1) {
		return nil, errNoRoom
	}
	defer t.waiting.give(key, 1)
	return leave, places.Acquire(ctx, n)
}
