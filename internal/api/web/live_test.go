package web_test

import (
	"bufio"
	"context"
	"database/sql"
	"html"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/server"
	"reverie/internal/api/web"
	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// night is a server on a port of its own, with a clock of the test's, and runs as the
// test writes them.
type night struct {
	*testing.T
	db      *sql.DB
	service *api.Service
	server  *server.Server
	url     string
	seconds atomic.Int64 // of the clock
}

func newNight(t *testing.T) *night {
	t.Helper()
	n := &night{T: t}
	n.service = &api.Service{Store: pgtest.Open(t, pg.Options{}), Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Date(2026, 3, 30, 12, 0, int(n.seconds.Load()), 0, time.UTC) }}
	page := web.New(n.service, web.Options{LookEvery: time.Millisecond})
	var err error
	n.server, err = server.New(server.Options{Service: n.service, Web: page, Log: n.service.Log, Listen: "127.0.0.1:0"})
	check(t, err)
	addr, err := n.server.Start(t.Context())
	check(t, err)
	t.Cleanup(func() { check(t, n.server.Stop(context.WithoutCancel(t.Context()))) })
	n.url = "http://" + addr
	n.db, err = sql.Open("postgres", pgtest.URL(t))
	check(t, err)
	t.Cleanup(func() { check(t, n.db.Close()) })
	for _, id := range []string{"a", "b"} {
		check(t, n.service.Store.AddGroup(t.Context(), reverie.Group{ID: id, TimeZone: "UTC"}))
	}
	return n
}

func (n *night) write(query string, args ...any) {
	n.Helper()
	_, err := n.db.ExecContext(n.Context(), query, args...)
	check(n, err)
}

// begins writes a run that is under way, and lets the clock go on.
func (n *night) begins(groupID string) {
	n.Helper()
	n.write(`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at)
		values ($1, gen_random_uuid(), 'evolve', now(), now(), 'running', 1, $2)`, groupID, n.service.Now())
	n.seconds.Add(1)
}

// stream is a page's stream of events.
type stream struct {
	*http.Response
	*bufio.Reader
	*night
}

// watch opens a stream, with a login's session or "" for nobody's.
func (n *night) watch(path, session string) *stream {
	n.Helper()
	r, err := http.NewRequestWithContext(n.Context(), http.MethodGet, n.url+path, http.NoBody)
	check(n, err)
	if session != "" {
		r.AddCookie(&http.Cookie{Name: api.SessionCookie, Value: session})
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	check(n, err)
	n.Cleanup(func() { _ = a.Body.Close() })
	return &stream{a, bufio.NewReader(a.Body), n}
}

// event is the next one: what stands before an empty line.
func (s *stream) event() string {
	s.Helper()
	var b strings.Builder
	for {
		line, err := s.ReadString('\n')
		if err != nil {
			s.Fatalf("the stream ended with %v after %q", err, b.String())
		}
		if line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

// news is the next event that is no heartbeat.
func (s *stream) news() string {
	s.Helper()
	for {
		if e := s.event(); e != ":\n" {
			return e
		}
	}
}

func (n *night) login(groupID string) string {
	n.Helper()
	session, _, err := n.service.Login(n.Context(), token(n, n.service, groupID, reverie.ScopeRead))
	check(n, err)
	return session
}

// TestLive tells pages of what is under way, as it goes on, and of nothing that the
// visitor may not see.
func TestLive(t *testing.T) {
	n := newNight(t)
	n.begins("a")
	all, own := n.login(""), n.login("b")
	watching, other := n.watch("/ui/live?lang=en", all), n.watch("/ui/live", own)
	if kind := watching.Header.Get("Content-Type"); kind != "text/event-stream" || watching.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", watching.Header)
	}
	first := watching.news()
	if !strings.HasPrefix(first, "retry: 3000\ndata: <h2>In progress</h2>\ndata: ") || !strings.Contains(first, `href="/ui/groups/a"`) {
		t.Errorf("the first event: %q", first)
	}
	if e := other.news(); e != "retry: 3000\ndata: \n" {
		t.Errorf("of another group one is told %q", e)
	}
	if e := watching.event(); e != ":\n" {
		t.Errorf("while nothing goes on: %q", e)
	}
	n.begins("b")
	if e := watching.news(); !strings.Contains(e, `href="/ui/groups/a"`) || !strings.Contains(e, `href="/ui/groups/b"`) {
		t.Errorf("once more goes on: %q", e)
	}
	if e := other.news(); strings.Contains(e, `"/ui/groups/a"`) || !strings.Contains(e, `href="/ui/groups/b"`) {
		t.Errorf("in one's own group: %q", e)
	}
	n.write(`update runs set status = 'succeeded', finished_at = started_at`)
	n.seconds.Add(1)
	if e := watching.news(); e != "data: \n" {
		t.Errorf("once nothing goes on: %q", e)
	}
	if a := n.watch("/ui/live?group=a", own); a.StatusCode != http.StatusNotFound {
		t.Errorf("another group's: status %d", a.StatusCode)
	}
	if a := n.watch("/ui/live", ""); a.StatusCode != http.StatusSeeOther {
		t.Errorf("nobody's: status %d", a.StatusCode)
	}
}

// TestLiveTellsWhatWentBy tells a page of a run that began and ended while its stream was away, and of none before it
// was opened, nor in a group that its visitor does not see.
func TestLiveTellsWhatWentBy(t *testing.T) {
	n := newNight(t)
	passes := func() {
		n.begins("a")
		n.write(`update runs set status = 'failed', finished_at = started_at`)
		n.seconds.Add(1)
	}
	passes()
	n.seconds.Add(1) // what is under way is known as of a second ago
	address := func(session string) string {
		page, err := io.ReadAll(n.watch("/ui/", session))
		check(t, err)
		_, rest, _ := strings.Cut(string(page), `data-live="`)
		at, _, _ := strings.Cut(rest, `"`)
		return html.UnescapeString(at)
	}
	all, own := n.login(""), n.login("b")
	at, others := address(all), address(own)
	if e := n.watch(at, all).event(); strings.Contains(e, "ended") {
		t.Errorf("before anything went by: %q", e)
	}
	passes()
	if e := n.watch(at, all).event(); e != "retry: 3000\nevent: ended\ndata:\n" {
		t.Errorf("once it went by: %q", e)
	}
	if e := n.watch(others, own).event(); strings.Contains(e, "ended") {
		t.Errorf("of another group: %q", e)
	}
}

// TestLiveIsBounded has no login keep more than so many streams open, and lets one in for
// each that ends.
func TestLiveIsBounded(t *testing.T) {
	n := newNight(t)
	one, other := n.login(""), n.login("")
	var open []*stream
	for range 8 {
		s := n.watch("/ui/live", one)
		s.event()
		open = append(open, s)
	}
	if a := n.watch("/ui/live", one); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one too many: status %d", a.StatusCode)
	}
	n.watch("/ui/live", other).event()
	check(t, open[0].Body.Close())
	for n.watch("/ui/live", one).StatusCode != http.StatusOK { // until the server has noticed
	}
}

// TestLiveEndsWithTheServer has streams end when the server begins to stop, and not hold
// it up.
func TestLiveEndsWithTheServer(t *testing.T) {
	n := newNight(t)
	s := n.watch("/ui/live", n.login(""))
	s.event()
	n.server.Stopping()
	for {
		if _, err := s.ReadString('\n'); err != nil {
			break
		}
	}
	check(t, n.server.Stop(t.Context()))
}
