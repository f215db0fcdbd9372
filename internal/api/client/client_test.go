package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reverie/internal/api/client"
	"reverie/internal/reverie"
)

// script answers one request after the other as it is told, and the last one for ever.
type script struct {
	asked   atomic.Int64
	answers []http.HandlerFunc
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	n := int(s.asked.Add(1)) - 1
	s.answers[min(n, len(s.answers)-1)](w, r)
}

func says(status int, body string, headers ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// breaks ends the connection without an answer.
func breaks(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func (s *script) client(t *testing.T) *client.Client {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return client.New(web.URL+"/", "rvr_x", client.WithRetry(3, time.Minute, time.Microsecond), client.WithHTTPClient(web.Client()))
}

// TestRetry: what can be asked again without doing a thing twice is, after a fault that
// passes, as often as is allowed; and nothing else is.
func TestRetry(t *testing.T) {
	ok, slow, down := says(200, "{}"), says(429, "{}"), says(503, "{}")
	ctx := t.Context()
	ask := func(r client.Request) func(*client.Client) error {
		return func(c *client.Client) error { return second(client.Do[reverie.DreamPage](ctx, c, r)) }
	}
	get := ask(client.Request{Method: http.MethodGet, Path: "/v1/dreams/g1", Repeat: true})
	remove := ask(client.Request{Method: http.MethodDelete, Path: "/memory/m1"})
	stream := ask(client.Request{Method: http.MethodPost, Path: "/v1/groups/g1/messages", Stream: strings.NewReader("{}")})
	feedback := func(repeat bool) func(*client.Client) error {
		return ask(client.Request{Method: http.MethodPost, Path: "/v1/groups/g1/feedback", Body: map[string]string{}, Repeat: repeat})
	}
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		ask     func(*client.Client) error
		asked   int64
		want    error
	}{
		"too fast":          {[]http.HandlerFunc{slow, slow, ok}, get, 3, nil},
		"down":              {[]http.HandlerFunc{down, ok}, get, 2, nil},
		"broken":            {[]http.HandlerFunc{breaks, ok}, get, 2, nil},
		"for long":          {[]http.HandlerFunc{down}, get, 3, reverie.ErrDeferred},
		"feedback":          {[]http.HandlerFunc{down, ok}, feedback(true), 2, nil},
		"nameless feedback": {[]http.HandlerFunc{down, ok}, feedback(false), 1, reverie.ErrDeferred},
		"an edit":           {[]http.HandlerFunc{down, ok}, remove, 1, reverie.ErrDeferred},
		"an edit, refused":  {[]http.HandlerFunc{slow, ok}, remove, 2, nil},
		"a stream":          {[]http.HandlerFunc{slow, ok}, stream, 1, reverie.ErrDeferred},
		"too long a wait":   {[]http.HandlerFunc{says(503, "{}", "Retry-After", "3600"), ok}, get, 1, reverie.ErrDeferred},
		"not there":         {[]http.HandlerFunc{says(404, "{}"), ok}, get, 1, reverie.ErrNotFound},
		"no JSON":           {[]http.HandlerFunc{says(200, "<html>"), ok}, get, 1, errAny},
	} {
		s := &script{answers: c.answers}
		err := c.ask(s.client(t))
		if s.asked.Load() != c.asked || !errors.Is(err, c.want) && !(c.want == errAny && err != nil) {
			t.Errorf("%s: asked %d times, %v", name, s.asked.Load(), err)
		}
	}
	over, cancel := context.WithCancel(ctx)
	s := &script{answers: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) { cancel(); says(503, "{}", "Retry-After", "59")(w, r) }}}
	_, err := client.Do[reverie.DreamPage](over, s.client(t), client.Request{Method: http.MethodGet, Path: "/v1/dreams/g1", Repeat: true})
	if err == nil || s.asked.Load() != 1 {
		t.Errorf("a client that has given up asked %d times, %v", s.asked.Load(), err)
	}
}

var errAny = errors.New("any error")

func second[A any](_ A, err error) error { return err }

// TestProblem: a problem is the domain's error, and says what the server said.
func TestProblem(t *testing.T) {
	for status, want := range map[int]error{400: reverie.ErrInvalid, 401: reverie.ErrUnauthorized, 403: reverie.ErrForbidden, 404: reverie.ErrNotFound,
		409: reverie.ErrConflict, 413: reverie.ErrInvalid, 422: reverie.ErrInvalid, 429: reverie.ErrDeferred, 504: reverie.ErrDeferred} {
		s := &script{answers: []http.HandlerFunc{says(status, `{"detail":"why","instance":"r1","errors":[{"location":"body.x","message":"bad"}]}`)}}
		_, err := write(t, s.client(t))
		var p *client.Problem
		if !errors.Is(err, want) || !errors.As(err, &p) || p.Status != status || p.Instance != "r1" || errors.Is(err, reverie.ErrBusy) ||
			!strings.Contains(err.Error(), "PUT /memory/m1/strength: ") || !strings.Contains(err.Error(), "why; body.x: bad") {
			t.Errorf("%d: %v", status, err)
		}
	}
	s := &script{answers: []http.HandlerFunc{says(409, `{"head_id":"m2","head_version":7}`), says(409, "{}", "Retry-After", "9"), says(500, "Bad gateway")}}
	c := s.client(t)
	var old *reverie.NotHeadError
	if _, err := write(t, c); !errors.As(err, &old) || old.Head != (reverie.Head{MemoryID: "m2", Version: 7}) {
		t.Errorf("%v", err)
	}
	var p *client.Problem
	if _, err := write(t, c); !errors.Is(err, reverie.ErrBusy) || !errors.As(err, &p) || p.RetryAfter != 9*time.Second {
		t.Errorf("%v", err)
	}
	if _, err := write(t, c); !errors.As(err, &p) || !strings.Contains(err.Error(), "500 Internal Server Error") {
		t.Errorf("%v", err)
	}
}

// write asks for a change.
func write(t *testing.T, c *client.Client) (reverie.MemoryReply, error) {
	t.Helper()
	return client.Do[reverie.MemoryReply](t.Context(), c, client.Request{Method: http.MethodPut, Path: client.Path("memory", "m1", "strength"),
		Body: map[string]float64{"strength": 1}})
}

// TestPath: an id is a piece of a path, whatever it is.
func TestPath(t *testing.T) {
	for id, want := range map[string]string{"g1": "/v1/g1", "..": "/v1/%2E%2E", "a/b 群?#%": "/v1/a%2Fb%20%E7%BE%A4%3F%23%25"} {
		if got := client.Path("v1", id); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}
