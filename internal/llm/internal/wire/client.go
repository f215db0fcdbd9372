package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"reverie/internal/llm"
)

// NewClient returns an HTTP client on top of base, or of a transport of its own
// if base is nil. The key is only needed to take it out of messages.
func NewClient(base *http.Client, provider, key string) *http.Client {
	var client http.Client
	if base != nil {
		client = *base
	}
	next := client.Transport
	if next == nil {
		next = newTransport()
	}
	client.Transport = &transport{provider: provider, key: key, next: next}
	client.Jar = nil
	return &client
}

// newTransport is Go's default with room for as many idle connections to the
// one server as there may be calls at once.
func newTransport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 32
	return t
}

// Fail turns the error of a call into an [*llm.Error]. What the client of this
// package has found is passed on; what is left is an answer that could not be
// read.
func Fail(ctx context.Context, provider string, err error) *llm.Error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	return &llm.Error{Provider: provider, Fault: endOf(ctx, err, llm.FaultServer), Err: short(err)}
}

// endOf tells whether a call ended because its caller gave up or its time was
// over; otherwise it is the given fault.
func endOf(ctx context.Context, err error, fault llm.Fault) llm.Fault {
	var netErr net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return llm.FaultCanceled
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return llm.FaultTimeout
	default:
		return fault
	}
}

// short keeps the cause for errors.Is and cuts its words, which may hold a
// whole answer.
func short(err error) error { return &shortError{err} }

type shortError struct{ err error }

func (e *shortError) Error() string { return shorten(e.err.Error()) }
func (e *shortError) Unwrap() error { return e.err }

// Guard makes an SDK's panic over an answer of an unexpected shape an error.
func Guard(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the answer has a shape that the SDK cannot read: %v", r)
		}
	}()
	return call()
}
