package web_test

import (
	"context"
	"database/sql"
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
	page := web.New(n.service, web.Options{})
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

// look is what an open page is told, with a login's session or "" for nobody's.
func (n *night) look(path, session string) (status int, told string) {
	n.Helper()
	r, err := http.NewRequestWithContext(n.Context(), http.MethodGet, n.url+path, http.NoBody)
	check(n, err)
	if session != "" {
		r.AddCookie(&http.Cookie{Name: api.SessionCookie, Value: session})
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	check(n, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	check(n, err)
	return a.StatusCode, strings.TrimSpace(string(body))
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
	const path = "/ui/live?lang=en"
	_, first := n.look(path, all)
	if !strings.HasPrefix(first, "<h2>In progress</h2>\n") || !strings.Contains(first, `href="/ui/groups/a"`) {
		t.Errorf("at first: %q", first)
	}
	if status, told := n.look(path, own); status != http.StatusOK || told != "" {
		t.Errorf("of another group one is told %d %q", status, told)
	}
	n.begins("b")
	if _, told := n.look(path, all); !strings.Contains(told, `href="/ui/groups/a"`) || !strings.Contains(told, `href="/ui/groups/b"`) {
		t.Errorf("once more goes on: %q", told)
	}
	if _, told := n.look(path, own); strings.Contains(told, `"/ui/groups/a"`) || !strings.Contains(told, `href="/ui/groups/b"`) {
		t.Errorf("in one's own group: %q", told)
	}
	n.write(`update runs set status = 'succeeded', finished_at = started_at`)
	n.seconds.Add(1)
	if _, told := n.look(path, all); told != "" {
		t.Errorf("once nothing goes on: %q", told)
	}
	if status, _ := n.look("/ui/live?group=a", own); status != http.StatusNotFound {
		t.Errorf("another group's: status %d", status)
	}
	if status, _ := n.look("/ui/live", ""); status != http.StatusSeeOther {
		t.Errorf("nobody's: status %d", status)
	}
}
