package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/semaphore"

	"reverie/internal/api/problem"
)

// Bounds of one request, whatever it is for.
const (
	maxAddress = 64 << 10 // bytes of path and query: a query of the most characters, percent-encoded, fits
	maxNesting = 64       // objects and lists inside each other
	maxValues  = 10_000   // values in a body of JSON, or fields of a form
	maxBatch   = 20       // calls in a JSON-RPC batch
	bytesOfOne = 64 << 10 // bytes of a body that weigh as much as a request
	valsOfOne  = 1000     // values or fields of one that do
)

// weigh reads a body of JSON or of a form, refuses one that asks for more than a request may, and counts what it
// weighs: as so many requests. A stream is counted as it comes.
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
		owed := of.values / valsOfOne // its bytes were counted as they came
		if agents {
			owed += max(of.calls-1, 0)
		}
		x.limits.owe(x.key(), owed, x.opts.Now())
		return weight, true
	}
	return 0, false
}

// readBody is a body that was read, and what closes it.
type readBody struct {
	io.Reader
	io.Closer
}

// shape is how deeply a text of JSON is nested, how many values it has, and how many of these a list has that is
// all of it. Of a form it is the fields.
type shape struct{ depth, values, calls int }

// read goes through a text, as far as it is JSON and within the bounds.
func (s *shape) read(body io.Reader, form bool) {
	if form {
		fields, _ := io.ReadAll(body) // whoever reads it after us is told what is wrong
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

// owe counts further requests against a bucket, though it has them no more: whoever owes some waits longer.
func (l *limits) owe(key string, n int, now time.Time) {
	if l.perSecond <= 0 {
		return
	}
	for b := l.bucket(key); n > 0; n -= l.burst {
		b.ReserveN(now, min(n, l.burst))
	}
}

// turns let so many requests of one sender work at a time, and of those that weigh more fewer. Further ones wait, so
// that those of others need not, as far as there is room for them.
type turns struct {
	each    int
	waiting *budget

	mu    sync.Mutex
	byKey map[string]*turn
}

type turn struct {
	places *semaphore.Weighted
	users  int // who have a place, or wait for one
}

// waitingOfOne is how many requests of a sender wait for each of it that may work, at most, and half of those of all.
const waitingOfOne = 128

var errNoRoom = errors.New("as many requests wait as may")

func newTurns(each int) *turns {
	n := int64(each) * waitingOfOne
	return &turns{each: each, waiting: newBudget(2*n, n), byKey: map[string]*turn{}}
}

// take waits for as many places as a request weighs, until ctx ends; errNoRoom where too many wait.
func (t *turns) take(ctx context.Context, key string, weight int) (leave func(), err error) {
	t.mu.Lock()
	of := t.byKey[key]
	if of == nil {
		of = &turn{places: semaphore.NewWeighted(int64(t.each))}
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
	n := int64(min(weight, t.each))
	if err := t.wait(ctx, of.places, key, n); err != nil {
		gone()
		return nil, err
	}
	return func() { of.places.Release(n); gone() }, nil
}

func (t *turns) wait(ctx context.Context, places *semaphore.Weighted, key string, n int64) error {
	if places.TryAcquire(n) {
		return nil
	}
	if !t.waiting.take(key, 1) {
		return errNoRoom
	}
	defer t.waiting.give(key, 1)
	return places.Acquire(ctx, n)
}
