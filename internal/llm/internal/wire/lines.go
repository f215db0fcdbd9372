package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"

	"reverie/internal/llm"
)

// rawCall is a call whose successful answer is passed on unread, with its failure.
type rawCall struct{ failed *llm.Error }

type rawKey struct{}

// Raw marks a call whose successful answer is not a JSON object of at most [MaxAnswer] bytes. It may be a file,
// empty, or an object with errors of other calls, and is passed on unread. A failure is an [*llm.Error] as usual;
// [Fail] finds it even if an SDK keeps only its text.
func Raw(ctx context.Context) context.Context { return context.WithValue(ctx, rawKey{}, new(rawCall)) }

func rawOf(ctx context.Context) *rawCall {
	call, _ := ctx.Value(rawKey{}).(*rawCall)
	return call
}

// Lines fetches a file of JSON Lines of any size, and passes each line of at most [MaxAnswer] bytes to each. It
// stops at the first error of each, and returns it.
func (a *API) Lines(ctx context.Context, route string, each func(line []byte) error) error {
	ctx = Raw(ctx)
	resp, err := a.do(ctx, http.MethodGet, route, nil)
	if err != nil {
		return Fail(ctx, a.Provider, err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, MaxAnswer)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := each(line); err != nil {
				return err
			}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Fail(ctx, a.Provider, fmt.Errorf("a line of the file is larger than %d MiB", MaxAnswer>>20))
	case err != nil:
		return Fail(ctx, a.Provider, fmt.Errorf("the file broke off: %w", err))
	}
	return nil
}

// Refusal returns the error of one question of a batch: that of a call with this body and status. status is 0 if
// unknown.
func (a *API) Refusal(status int, body []byte) *llm.Error {
	p := problemIn(body)
	if !p.isSet() {
		p.Message = describe(body)
	}
	if status == 0 {
		status = p.status()
	}
	words := p.String()
	if t, ours := a.Client.Transport.(*transport); ours {
		words = t.clean(words)
	}
	return &llm.Error{Provider: a.Provider, Fault: classify(status, p), Status: status, Err: errors.New(words)}
}

// Stream is a body that is generated while it is sent, and never in memory as a whole.
type Stream struct {
	io.Reader
	open func() io.Reader
	kind string
	size int64
}

// NewStream returns a body of a content type with what open returns. It calls open twice, since servers need the
// length first, and again if a connection was closed before the body was sent.
func NewStream(kind string, open func() io.Reader) (*Stream, error) {
	size, err := io.Copy(io.Discard, open())
	return &Stream{open(), open, kind, size}, err
}

// List yields the elements of a list, page by page, until the server says that there are no more, or a page has
// nothing new. The query parameter after names the last element of the previous page.
func List[T any](ctx context.Context, a *API, route, after string, id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query, last := url.Values{"limit": {"100"}}, "none"
		for query.Get(after) != last {
			var page struct {
				Data []T
				More *bool `json:"has_more"`
			}
			if err := a.Get(ctx, route+"?"+query.Encode(), &page); err != nil {
				yield(*new(T), err)
				return
			}
			last = query.Get(after)
			for _, item := range page.Data {
				if !yield(item, nil) {
					return
				}
				query.Set(after, id(item))
			}
			if page.More != nil && !*page.More {
				return
			}
		}
	}
}

// Joined reads as the values in JSON, with a separator between them. Only one is in memory at a time.
func Joined[T any](values []T, separator string, item func(T) any) io.Reader {
	return &joined[T]{values: values, separator: separator, item: item}
}

type joined[T any] struct {
	values    []T
	separator string
	item      func(T) any
	rest      []byte // of the current value
}

// Read implements io.Reader.
func (r *joined[T]) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if len(r.values) == 0 {
			return 0, io.EOF
		}
		text, err := json.Marshal(r.item(r.values[0]))
		if err != nil {
			return 0, err
		}
		if r.rest, r.values = text, r.values[1:]; len(r.values) > 0 {
			r.rest = append(r.rest, r.separator...)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Cancelled returns the result of cancelling a batch. Providers refuse to cancel an ended batch, which counts as
// success.
func Cancelled(ctx context.Context, b llm.Batcher, id string, err error) error {
	if err == nil {
		return nil
	}
	if state, lost := b.BatchState(ctx, id); lost == nil && state.Phase != llm.BatchRunning {
		return nil
	}
	return err
}

// Unreadable returns the error for a line of a batch's answers that cannot be parsed.
func Unreadable(provider string, err error) *llm.Error {
	return &llm.Error{Provider: provider, Fault: llm.FaultServer, Err: fmt.Errorf("a line of answers cannot be read: %w",
		short(err))}
}
