package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	return client.New(web.URL+"/", "rvr_x", client.WithRetry(3, time.Minute, time.Microsecond), client.WithPoll(time.Microsecond), client.WithHTTPClient(web.Client()))
}

// TestRetry: what can be asked again without doing a thing twice is, after a fault that
// passes, as often as is allowed; and nothing else is.
func TestRetry(t *testing.T) {
	ok, slow, down := says(200, "{}"), says(429, "{}"), says(503, "{}")
	ctx := t.Context()
	get := func(c *client.Client) error { return second(c.Dream(ctx, "g1")) }
	remove := func(c *client.Client) error { return second(c.Delete(ctx, "m1", "")) }
	stream := func(c *client.Client) error { return second(c.AddMessages(ctx, "g1", strings.NewReader("{}"))) }
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
		"a context":         {[]http.HandlerFunc{down, ok}, func(c *client.Client) error { return second(c.Context(ctx, "g1", client.ContextQuery{})) }, 2, nil},
		"feedback":          {[]http.HandlerFunc{down, ok}, func(c *client.Client) error { return second(c.Feedback(ctx, "g1", client.Answer{UsageID: "u"})) }, 2, nil},
		"nameless feedback": {[]http.HandlerFunc{down, ok}, func(c *client.Client) error { return second(c.Feedback(ctx, "g1", client.Answer{})) }, 1, reverie.ErrDeferred},
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
	if err := second(s.client(t).Dream(over, "g1")); err == nil || s.asked.Load() != 1 {
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
		_, err := s.client(t).SetStrength(t.Context(), "m1", 1, "")
		var p *client.Problem
		if !errors.Is(err, want) || !errors.As(err, &p) || p.Status != status || p.Instance != "r1" || errors.Is(err, reverie.ErrBusy) ||
			!strings.Contains(err.Error(), "PUT /memory/m1/strength: ") || !strings.Contains(err.Error(), "why; body.x: bad") {
			t.Errorf("%d: %v", status, err)
		}
	}
	s := &script{answers: []http.HandlerFunc{says(409, `{"head_id":"m2","head_version":7}`), says(409, "{}", "Retry-After", "9"), says(500, "Bad gateway")}}
	c := s.client(t)
	var old *reverie.NotHeadError
	if _, err := c.Delete(t.Context(), "m1", ""); !errors.As(err, &old) || old.Head != (reverie.Head{MemoryID: "m2", Version: 7}) || old.MemoryID != "m1" {
		t.Errorf("%v", err)
	}
	var p *client.Problem
	if _, err := c.Approve(t.Context(), "r1"); !errors.Is(err, reverie.ErrBusy) || !errors.As(err, &p) || p.RetryAfter != 9*time.Second {
		t.Errorf("%v", err)
	}
	if _, err := c.Approve(t.Context(), "r1"); !errors.As(err, &p) || !strings.Contains(err.Error(), "500 Internal Server Error") {
		t.Errorf("%v", err)
	}
}

// TestEvolveWaits: a run that the server did not wait for is followed to its end, from
// before it has an id.
func TestEvolveWaits(t *testing.T) {
	run := func(status string) func(http.ResponseWriter, *http.Request) {
		return says(200, fmt.Sprintf(`{"run":{"run_id":"r1","group_id":"g1","status":%q,"error":"too slow","stats":{"created":2,"cited":3}},
			"changes":[{"action":"create","new_id":"m1"}],"held":[{"reason":"look at it"}],"chunks":[{"refusals":[{"rule":"secret"}]}]}`, status))
	}
	waits, goes := says(202, `{"group_id":"g1","status":"running"}`), says(202, `{"group_id":"g1","run_id":"r1","status":"running"}`)
	s := &script{answers: []http.HandlerFunc{waits, waits, goes, run("running"), run("running"), run("held")}}
	reply, err := s.client(t).Evolve(t.Context(), "g1", 3)
	want := reverie.EvolveReply{Success: true, GroupID: "g1", RunID: "r1", Status: reverie.RunHeld, Error: "too slow", Stats: reverie.EvolveStats{Created: 2},
		Messages: &reverie.MessageStats{Cited: 3}, Changes: []reverie.ChangeReply{{Action: "create", NewID: "m1"}}, Refusals: []reverie.Refusal{{Rule: "secret"}}, Warnings: []string{"look at it"}}
	if diff := cmp.Diff(want, reply); err != nil || diff != "" || s.asked.Load() != 6 {
		t.Errorf("%v after %d requests: %s", err, s.asked.Load(), diff)
	}
	for status, want := range map[string]error{"deferred": reverie.ErrDeferred, "failed": errAny} {
		s := &script{answers: []http.HandlerFunc{goes, run(status)}}
		if reply, err := s.client(t).Evolve(t.Context(), "g1", 0); !(errors.Is(err, want) || want == errAny && err != nil) || reply.Success || reply.RunID != "r1" || !strings.Contains(err.Error(), "too slow") {
			t.Errorf("%s: %+v, %v", status, reply, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s = &script{answers: []http.HandlerFunc{goes, func(w http.ResponseWriter, r *http.Request) { cancel(); run("running")(w, r) }}}
	if reply, err := s.client(t).Evolve(ctx, "g1", 0); !errors.Is(err, context.Canceled) || reply.RunID != "r1" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestPages: iterators go on where a page ends, until there are no more, and end with
// the first error.
func TestPages(t *testing.T) {
	var asked []string
	answer := func(body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.RequestURI())
			says(200, body)(w, r)
		}
	}
	s := &script{answers: []http.HandlerFunc{answer(`{"runs":[{"run_id":"r3"},{"run_id":"r2"}],"more":true}`), answer(`{"runs":[{"run_id":"r1"}]}`)}}
	var ids []string
	for run, err := range s.client(t).AllRuns(t.Context(), reverie.RunQuery{GroupID: "a/b 群", Held: true}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, run.ID)
	}
	const first = "/v1/runs?group=a%2Fb+%E7%BE%A4&limit=100&status=held"
	if diff := cmp.Diff([][]string{{"r3", "r2", "r1"}, {first, "/v1/runs?before=r2&group=a%2Fb+%E7%BE%A4&limit=100&status=held"}}, [][]string{ids, asked}); diff != "" {
		t.Error(diff)
	}
	asked = nil
	s = &script{answers: []http.HandlerFunc{answer(`{"total":3,"memories":[{"memory_id":"m1"},{"memory_id":"m2"}]}`), says(404, "{}")}}
	n, last := 0, error(nil)
	for _, err := range s.client(t).AllMemories(t.Context(), reverie.MemoryQuery{GroupID: ".."}) {
		n, last = n+1, err
	}
	if n != 3 || !errors.Is(last, reverie.ErrNotFound) || asked[0] != "/memory/list/%2E%2E?limit=100&status=all" {
		t.Errorf("%d rows, %v, %q", n, last, asked)
	}
	s = &script{answers: []http.HandlerFunc{answer(`{"groups":[{"group_id":"a"},{"group_id":"b"}],"next":"b"}`)}}
	for range s.client(t).AllGroups(t.Context()) {
		break
	}
	if s.asked.Load() != 1 {
		t.Errorf("whoever has seen enough asked %d times", s.asked.Load())
	}
}

func problem(err error) *client.Problem {
	var p *client.Problem
	if errors.As(err, &p) {
		return p
	}
	return nil
}
