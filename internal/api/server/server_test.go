package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/api/server"
	"reverie/internal/reverie"
	"reverie/internal/telemetry"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// oddGroup is an id as platforms may have them.
const oddGroup = "组 a/b%2F?c#d&e=ü"

// house is a server with rooms that say who they were asked by, and its clock.
type house struct {
	*server.Server
	t       *testing.T
	service *api.Service
	log     *log
	mu      sync.Mutex
	now     time.Time
}

// log is what was logged. Requests are logged when their clients have been answered.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// said is what a room answers.
type said struct {
	Room, TokenID, GroupID, Session string
	Scope                           reverie.Scope
	Known                           bool
	Body                            int
}

// room answers with who asks, or as the path says.
func room(name string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c, known := api.CallerOf(r.Context())
		b, err := io.ReadAll(r.Body)
		if err != nil {
			problem.Of(err, time.Now()).Write(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(said{name, c.TokenID, c.GroupID, api.SessionOf(r.Context()), c.Scope, known, len(b)})
	})
	mux.HandleFunc("GET /v1/things/{thing}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("boom") })
	mux.HandleFunc("GET /panic/late", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
		panic("boom")
	})
	mux.HandleFunc("GET /until", func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		problem.Of(r.Context().Err(), time.Now()).Write(w, r)
	})
	return mux
}

func newHouse(t *testing.T, change func(*server.Options)) *house {
	t.Helper()
	h := &house{t: t, log: &log{}, now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.now
	}
	h.service = &api.Service{Store: pgtest.Open(t, pg.Options{Now: clock}), Now: clock}
	opts := server.Options{Service: h.service, REST: room("rest"), Web: room("web"), MCP: room("mcp"), Metrics: telemetry.New("test", clock),
		Log: slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: clock}
	if change != nil {
		change(&opts)
	}
	var err error
	if h.Server, err = server.New(opts); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) later(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// token makes one of a group.
func (h *house) token(n api.NewToken) (whole, id string) {
	h.t.Helper()
	if n.GroupID != "" {
		if _, err := h.service.Store.EnsureGroup(h.t.Context(), reverie.Group{ID: n.GroupID}); err != nil {
			h.t.Fatal(err)
		}
	}
	whole, token, err := h.service.CreateToken(h.t.Context(), n)
	if err != nil {
		h.t.Fatal(err)
	}
	return whole, token.ID
}

// ask sends a request; headers are name: value.
func (h *house) ask(method, target string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	r := httptest.NewRequestWithContext(h.t.Context(), method, target, body)
	r.Host = "localhost:8470"
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	return w
}

// wantProblem wants an answer to be one, whole and of the status.
func wantProblem(t *testing.T, what string, w *httptest.ResponseRecorder, status int) problem.Problem {
	t.Helper()
	var p problem.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); w.Code != status || err != nil || p.Status != status || p.Title != http.StatusText(status) ||
		p.Detail == "" || p.Instance != w.Header().Get("X-Request-Id") || w.Header().Get("Content-Type") != problem.MediaType {
		t.Errorf("%s: %d %s (%v), want a problem of %d", what, w.Code, w.Body, err, status)
	}
	if challenge := w.Header().Get("WWW-Authenticate"); (status == 401) != (challenge == "Bearer") {
		t.Errorf("%s: WWW-Authenticate is %q", what, challenge)
	}
	return p
}

func answered(t *testing.T, what string, w *httptest.ResponseRecorder, want said) {
	t.Helper()
	var got said
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != 200 || err != nil || got != want {
		t.Errorf("%s: %d %s (%v), want %+v", what, w.Code, w.Body, err, want)
	}
}

// Everything needs a good token, but for what is open to all: probes, the description of
// the API, and the page, which sees that nobody has logged in.
func TestWhoAsks(t *testing.T) {
	h := newHouse(t, nil)
	end := h.now.Add(time.Minute)
	own, ownID := h.token(api.NewToken{GroupID: oddGroup, Scope: reverie.ScopeWrite})
	all, allID := h.token(api.NewToken{Scope: reverie.ScopeAdmin})
	brief, briefID := h.token(api.NewToken{Scope: reverie.ScopeRead, ExpiresAt: &end})
	session, _, err := h.service.Login(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	as := func(room, id, group string, scope reverie.Scope) said {
		return said{Room: room, TokenID: id, GroupID: group, Scope: scope, Known: true}
	}
	login := as("web", ownID, oddGroup, reverie.ScopeWrite)
	login.Session = session
	nobody := said{Room: "web"}
	for i, c := range []struct {
		target  string
		headers []string
		want    *said // nil: 401
	}{
		{"/memory/list/g", nil, nil},
		{"/nowhere", nil, nil},
		{"/mcp", nil, nil},
		{"/v1/groups", []string{"Authorization: Bearer " + own}, ptr(as("rest", ownID, oddGroup, reverie.ScopeWrite))},
		{"/mcp", []string{"Authorization: bearer  " + all}, ptr(as("mcp", allID, "", reverie.ScopeAdmin))},
		{"/v1/groups", []string{"Authorization: Bearer " + brief}, ptr(as("rest", briefID, "", reverie.ScopeRead))},
		{"/v1/groups?token=" + own, nil, nil},
		{"/v1/groups", []string{"Authorization: Bearer " + own + "x"}, nil},
		{"/v1/groups", []string{"Authorization: Bearer"}, nil},
		{"/v1/groups", []string{"Authorization: Basic " + own}, nil},
		{"/v1/groups", []string{"Authorization: Bearer " + own, "Authorization: Bearer " + own}, nil},
		{"/v1/groups", []string{"Cookie: reverie_session=" + session}, nil},
		{"/v1/groups", []string{"Authorization: Bearer " + session}, nil},
		{"/openapi.json", nil, ptr(said{Room: "rest"})},
		{"/openapi.json", []string{"Authorization: Bearer " + own + "x"}, nil},
		{"/ui/", []string{"Cookie: reverie_session=" + session}, &login},
		{"/ui/groups", []string{"Cookie: reverie_session=" + session, "Authorization: Bearer " + all}, &login},
		{"/ui/", nil, &nobody},
		{"/ui/", []string{"Cookie: reverie_session=" + own}, &nobody},
		{"/ui/", []string{"Cookie: reverie_session="}, &nobody},
		{"/ui/", []string{"Authorization: Bearer " + own}, &nobody},
		{"/%2e%2e/ui/", nil, nil},
	} {
		what := fmt.Sprintf("%d: %s %q", i, c.target, c.headers)
		w := h.ask("GET", c.target, nil, c.headers...)
		if c.want == nil {
			wantProblem(t, what, w, 401)
		} else {
			answered(t, what, w, *c.want)
		}
	}
	wantProblem(t, "writing what all may read", h.ask("POST", "/openapi.json", nil), 401)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if w := h.ask("GET", path, nil, "Host: 10.0.0.7:8470"); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	h.later(time.Minute)
	wantProblem(t, "expired", h.ask("GET", "/v1/groups", nil, "Authorization: Bearer "+brief), 401)
	if _, err := h.service.Store.RevokeToken(t.Context(), ownID); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, "revoked", h.ask("GET", "/v1/groups", nil, "Authorization: Bearer "+own), 401)
	answered(t, "a login with what is revoked", h.ask("GET", "/ui/", nil, "Cookie: reverie_session="+session), nobody)
	answered(t, "the other", h.ask("GET", "/v1/groups", nil, "Authorization: Bearer "+all), as("rest", allID, "", reverie.ScopeAdmin))
	for _, secret := range []string{own, all, brief, session, "token="} {
		if strings.Contains(h.log.String(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// While no token was ever made, this machine's own requests are answered, and no others;
// from the first token on, each needs one.
func TestOpen(t *testing.T) {
	h := newHouse(t, nil)
	anyone := said{Room: "rest", Known: true, Scope: reverie.ScopeAdmin}
	for _, c := range []struct {
		headers []string
		good    bool
	}{
		{nil, true}, {[]string{"Host: 127.0.0.1:8470"}, true}, {[]string{"Host: [::1]:8470"}, true}, {[]string{"Host: LocalHost."}, true},
		{[]string{"Host: reverie.localhost"}, true}, {[]string{"Host: 127.8.8.8"}, true},
		{[]string{"Host: evil.example"}, false}, {[]string{"Host: localhost.evil.example:8470"}, false}, {[]string{"Host: 10.0.0.7"}, false},
		{[]string{"Host: "}, false}, {[]string{"Host: 127.0.0.1.evil.example"}, false}, {[]string{"Host: [::1"}, true},
		{[]string{"Origin: http://localhost:8470"}, true}, {[]string{"Origin: http://evil.example"}, false}, {[]string{"Origin: null"}, false},
		{[]string{"Origin: http://localhost:3000"}, false}, {[]string{"Sec-Fetch-Site: same-origin"}, true}, {[]string{"Sec-Fetch-Site: none"}, true},
		{[]string{"Sec-Fetch-Site: cross-site"}, false}, {[]string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, false},
		{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, true},
		{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, false},
	} {
		if w := h.ask("GET", "/v1/groups", nil, c.headers...); c.good {
			answered(t, fmt.Sprint(c.headers), w, anyone)
		} else {
			wantProblem(t, fmt.Sprint(c.headers), w, 403)
		}
	}
	wantProblem(t, "a form that a link leads to", h.ask("POST", "/v1/groups", nil, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), 403)
	wantProblem(t, "a token that is none", h.ask("GET", "/v1/groups", nil, "Authorization: Bearer rvr_000000000000_"+strings.Repeat("0", 43)), 401)
	anyone.Room = "web"
	answered(t, "the page", h.ask("GET", "/ui/", nil), anyone)
	for _, path := range []string{"/", "/ui"} {
		if w := h.ask("GET", path, nil); w.Code != 303 || w.Header().Get("Location") != "/ui/" {
			t.Errorf("%s: %d to %s", path, w.Code, w.Header().Get("Location"))
		}
	}

	_, id := h.token(api.NewToken{Scope: reverie.ScopeRead})
	if _, err := h.service.Store.RevokeToken(t.Context(), id); err != nil { // that there was one is enough
		t.Fatal(err)
	}
	wantProblem(t, "once there was a token", h.ask("GET", "/v1/groups", nil), 401)
	answered(t, "the page, once there was a token", h.ask("GET", "/ui/", nil), said{Room: "web"})
	if open, err := h.Open(t.Context()); open || err != nil {
		t.Errorf("open: %v, %v", open, err)
	}
}

// A page of another site sends nothing to the page, whoever is logged in.
func TestCrossOrigin(t *testing.T) {
	h := newHouse(t, func(o *server.Options) { o.RequireToken = true })
	for _, c := range []struct {
		method, header string
		good           bool
	}{
		{"POST", "Sec-Fetch-Site: same-origin", true}, {"POST", "Origin: https://localhost:8470", true}, {"POST", "X-Nothing: 1", true},
		{"POST", "Sec-Fetch-Site: cross-site", false}, {"POST", "Sec-Fetch-Site: same-site", false}, {"POST", "Origin: http://evil.example", false},
		{"POST", "Origin: null", false}, {"GET", "Sec-Fetch-Site: cross-site", true},
	} {
		if w := h.ask(c.method, "/ui/login", nil, c.header); c.good {
			answered(t, c.header, w, said{Room: "web"})
		} else {
			wantProblem(t, c.header, w, 403)
		}
	}
}

// Each request has an id, which a sender may give it; the log, the answer and a problem
// have it, and the log nothing that is secret.
func TestRequestIDs(t *testing.T) {
	h := newHouse(t, func(o *server.Options) { o.RequireToken = true })
	for given, kept := range map[string]bool{"abc-1_2.3:4/5+6=": true, "": false, strings.Repeat("x", 65): false, "a b": false, "ü": false, "a\r\nSet-Cookie: x": false} {
		w := h.ask("GET", "/v1/groups?q=a+secret", nil, "X-Request-Id: "+given)
		id := w.Header().Get("X-Request-Id")
		if kept != (id == given) || !kept && !reverie.IsID(id) {
			t.Errorf("%q became %q", given, id)
		}
		wantProblem(t, given, w, 401)
		line := ""
		for l := range strings.Lines(h.log.String()) {
			if strings.Contains(l, "request_id="+id) || strings.Contains(l, fmt.Sprintf("request_id=%q", id)) {
				line = l
			}
		}
		if !strings.Contains(line, "method=GET route=other path=/v1/groups status=401 bytes=") {
			t.Errorf("%q is logged as %s", given, line)
		}
	}
	token := "rvr_" + strings.Repeat("a", 12) + "_" + strings.Repeat("B", 43) // where it does not belong
	h.ask("GET", "/v1/groups/"+token+"/stats", nil, "X-Request-Id: "+token)
	if log := h.log.String(); strings.Contains(log, "BBB") || !strings.Contains(log, "rvr_aaaaaaaaaaaa_[") {
		t.Errorf("the log has the secret of a token, or not its id:\n%s", log)
	}
	if strings.Contains(h.log.String(), "q=a") {
		t.Errorf("the log has queries:\n%s", h.log)
	}
}

// A panic ends its request alone, and tells its client nothing.
func TestPanic(t *testing.T) {
	h := newHouse(t, nil)
	p := wantProblem(t, "a panic", h.ask("GET", "/panic", nil), 500)
	if strings.Contains(p.Detail, "boom") {
		t.Errorf("the client is told %q", p.Detail)
	}
	for _, want := range []string{"panic=boom", "server_test.go", "status=500", "request_id=" + p.Instance} {
		if !strings.Contains(h.log.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	func() {
		defer func() {
			if fault, _ := recover().(error); !errors.Is(fault, http.ErrAbortHandler) {
				t.Errorf("an answer that was begun is not cut off: %v", fault)
			}
		}()
		h.ask("GET", "/panic/late", nil)
	}()
	answered(t, "the next request", h.ask("GET", "/v1/groups", nil), said{Room: "rest", Known: true, Scope: reverie.ScopeAdmin})
}

// Who asks more often than is allowed is told when to come again, and stops nobody else.
func TestRate(t *testing.T) {
	h := newHouse(t, func(o *server.Options) { o.RequestsPerSecond = 0.5 })
	first, firstID := h.token(api.NewToken{Scope: reverie.ScopeRead})
	second, secondID := h.token(api.NewToken{Scope: reverie.ScopeRead})
	ask := func(token string) *httptest.ResponseRecorder {
		return h.ask("GET", "/v1/groups", nil, "Authorization: Bearer "+token)
	}
	as := func(id string) said { return said{Room: "rest", Known: true, TokenID: id, Scope: reverie.ScopeRead} }
	answered(t, "the first", ask(first), as(firstID))
	w := ask(first)
	wantProblem(t, "the second at once", w, 429)
	if after := w.Header().Get("Retry-After"); after != "2" {
		t.Errorf("Retry-After: %q", after)
	}
	answered(t, "another one", ask(second), as(secondID))
	wantProblem(t, "nobody", ask("x"), 401)
	wantProblem(t, "nobody again", ask("x"), 429)
	wantProblem(t, "nobody, and all is as a token is", ask("rvr_000000000000_"+strings.Repeat("0", 43)), 429)
	third, _ := h.token(api.NewToken{Scope: reverie.ScopeRead})
	wantProblem(t, "one that was not good before is not looked up", ask(third), 429)
	h.later(2 * time.Second)
	answered(t, "the first, later", ask(first), as(firstID))
	if code := ask(third).Code; code != 200 {
		t.Errorf("the third, later: %d", code)
	}
	if err := h.service.Store.Close(); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, "the database is not asked about one that is over its rate", ask(third), 429)
}

// Nobody has more than half of the connections busy, and who has leaves the rest to
// others.
func TestUnderWay(t *testing.T) {
	var h *house
	var inner []int // statuses of requests that are sent while the one around them is under way
	h = newHouse(t, func(o *server.Options) {
		o.MaxConns = 6
		o.REST = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if len(inner) < 9 {
				inner = append(inner, 0)
				n := len(inner) - 1
				inner[n] = h.ask("GET", "/v1/groups", nil, "Authorization: "+r.Header.Get("Authorization")).Code
			}
		})
	})
	token, _ := h.token(api.NewToken{Scope: reverie.ScopeRead})
	for range 2 {
		if w := h.ask("GET", "/v1/groups", nil, "Authorization: Bearer "+token); w.Code != 200 || !slices.Equal(inner, []int{200, 200, 429}) {
			t.Errorf("%d, and within it %v", w.Code, inner)
		}
		inner = nil
	}
	if !strings.Contains(h.log.String(), "status=429") {
		t.Error("the log does not tell of it")
	}
}

// What is too large is not read, or not to its end; messages may be larger.
func TestBodies(t *testing.T) {
	h := newHouse(t, func(o *server.Options) { o.MaxBody, o.MaxMessagesBody = 100, 1000 })
	known := said{Room: "rest", Known: true, Scope: reverie.ScopeAdmin}
	for _, c := range []struct {
		target      string
		size, bound int
	}{
		{"/v1/groups/g/context", 100, 100}, {"/v1/groups/g/context", 101, 100}, {"/v1/groups/g/messages", 1000, 1000}, {"/v1/groups/g/messages", 1001, 1000},
		{"/v1/groups/a%2Fb/messages", 1000, 1000}, {"/v1/groups/a/b/messages", 101, 100}, {"/memory/evolve/g", 101, 100},
	} {
		text := strings.Repeat("x", c.size)
		for what, body := range map[string]io.Reader{"said": strings.NewReader(text), "not said": io.MultiReader(strings.NewReader(text))} {
			what = fmt.Sprintf("%s, %d bytes, %s", c.target, c.size, what)
			w := h.ask("POST", c.target, body)
			if c.size <= c.bound {
				known.Body = c.size
				answered(t, what, w, known)
			} else {
				wantProblem(t, what, w, 413)
			}
		}
	}
}

// Bodies are bounded together, too, and each sender's; what was stored of messages counts
// no more, and what a room says of a body that was refused is not heard.
func TestBodiesTogether(t *testing.T) {
	var h *house
	text := strings.Repeat("x", 1<<20)
	h = newHouse(t, func(o *server.Options) {
		o.MaxBodies = 4 << 20
		o.REST = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				w.Header().Set("Content-Length", "3")
				w.WriteHeader(400)
				_, _ = io.WriteString(w, "bad")
				return
			}
			if r.URL.Path == "/v1/groups/g/messages" {
				r.Body.(interface{ Stored() }).Stored()
			}
			if len(b) == len(text) && r.Header.Get("X-Inner") != "" {
				again := h.ask("POST", "/v1/groups/g/context", strings.NewReader(text), "Authorization: "+r.Header.Get("Authorization"))
				w.WriteHeader(again.Code)
				_, _ = w.Write(again.Body.Bytes())
			}
		})
	})
	token, _ := h.token(api.NewToken{Scope: reverie.ScopeRead})
	for _, c := range []struct {
		target string
		status int
	}{{"/v1/groups/g/context", 503}, {"/v1/groups/g/messages", 503}, {"/v1/groups/g/messages", 200}} {
		body := text
		if c.status == 200 {
			body = text[1:] + "\n"
		}
		w := h.ask("POST", c.target, strings.NewReader(body), "Authorization: Bearer "+token, "X-Inner: 1")
		if w.Code != c.status {
			t.Errorf("%s within it: %d %s", c.target, w.Code, w.Body)
		}
	}
	w := h.ask("POST", "/v1/groups/g/messages", strings.NewReader(strings.Repeat(text, 3)), "Authorization: Bearer "+token)
	wantProblem(t, "more than a sender may hold", w, 503)
	if w.Header().Get("Retry-After") != "5" || w.Header().Get("Content-Length") != "" {
		t.Errorf("%v", w.Header())
	}
	wantProblem(t, "a packed body", h.ask("POST", "/v1/groups/g/context", strings.NewReader("x"), "Authorization: Bearer "+token, "Content-Encoding: gzip"), 415)
	if w := h.ask("POST", "/v1/groups/g/context", strings.NewReader("x"), "Authorization: Bearer "+token, "Content-Encoding: Identity"); w.Code != 200 {
		t.Errorf("a body as it is: %d %s", w.Code, w.Body)
	}
	wantProblem(t, "a login with more than a token", h.ask("POST", "/ui/login", strings.NewReader(text[:5000])), 413)
	wantProblem(t, "a form of nobody", h.ask("POST", "/ui/else", strings.NewReader(text[:5000])), 413)
	h.Stopping()
	wantProblem(t, "messages at the end", h.ask("POST", "/v1/groups/g/messages", strings.NewReader("x"), "Authorization: Bearer "+token), 503)
}

// Who has not said who it is sends few things at a time, and holds nobody else up.
func TestStrangersUnderWay(t *testing.T) {
	var h *house
	deep, refused := 0, 0
	h = newHouse(t, func(o *server.Options) {
		o.RequireToken = true
		o.Web = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if deep++; deep > 100 {
				t.Error("there is no end to them")
				return
			}
			if h.ask("POST", "/ui/login", strings.NewReader("token=x")).Code == 429 {
				refused++
			}
		})
	})
	for range 2 {
		if deep, refused = 0, 0; h.ask("POST", "/ui/login", strings.NewReader("token=x")).Code != 200 || deep != 64 || refused != 1 {
			t.Errorf("%d under way, %d refused", deep, refused)
		}
	}
}

// A request has its time, and its answer what every answer has.
func TestHeadersAndTime(t *testing.T) {
	h := newHouse(t, func(o *server.Options) { o.RequestTimeout = time.Millisecond })
	w := h.ask("GET", "/until", nil)
	wantProblem(t, "one that takes too long", w, 504)
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "X-Frame-Options": "DENY"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Requests are counted by the pattern of their route, and by no path.
func TestRequestMetrics(t *testing.T) {
	h := newHouse(t, nil)
	for _, target := range []string{"/v1/things/1", "/v1/things/2", "/nowhere/1", "/nowhere/2", "/ui/x", "/mcp", "/", "/panic"} {
		h.ask("GET", target, nil)
	}
	h.ask("BREW", "/v1/groups", nil)
	text := h.ask("GET", "/metrics", nil).Body.String()
	for _, want := range []string{
		`reverie_http_requests_total{method="GET",route="/v1/things/{thing}",status="2xx"} 2`,
		`reverie_http_requests_total{method="GET",route="other",status="2xx"} 2`,
		`reverie_http_requests_total{method="GET",route="/ui/",status="2xx"} 1`,
		`reverie_http_requests_total{method="GET",route="/mcp",status="2xx"} 1`,
		`reverie_http_requests_total{method="GET",route="/",status="3xx"} 1`,
		`reverie_http_requests_total{method="GET",route="/panic",status="5xx"} 1`,
		`reverie_http_requests_total{method="other",route="other",status="2xx"} 1`,
		`reverie_http_request_seconds_count{method="GET",route="/v1/things/{thing}"} 2`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %s", want)
		}
	}
	if strings.Contains(text, "nowhere") || strings.Contains(text, "things/1") {
		t.Error("a path is a label")
	}
}
