package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/api"
	"reverie/internal/api/rest"
	"reverie/internal/api/server"
	"reverie/internal/reverie"
)

// Every route that there is, and the page and the agents beside them, refuses a request that asks for the work of
// thousands.
func TestEveryRouteIsBounded(t *testing.T) {
	h := newHouse(t, nil)
	token, _ := h.token(api.NewToken{Scope: reverie.ScopeAdmin})
	_, document := rest.New(h.service, rest.Options{})
	asked := 0
	ask := func(method, path, body string, want ...int) {
		t.Helper()
		asked++
		w := h.ask(method, path, strings.NewReader(body), "Authorization: Bearer "+token, "Content-Type: application/json")
		if !slices.Contains(want, w.Code) {
			t.Errorf("%s %.80s with %.20s…: %d", method, path, body, w.Code)
		}
	}
	deep := `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}"
	wide := `{"tags":["` + strings.Repeat(`x","`, 20_000) + `"]}`
	sending := []string{"POST /mcp"}
	for path, item := range document.Paths {
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete} {
			if op == nil {
				continue
			}
			sending = append(sending, method+" "+path)
		}
	}
	for _, route := range sending {
		method, path, _ := strings.Cut(route, " ")
		for _, name := range []string{"{group_id}", "{memory_id}", "{run_id}", "{entity_id}", "{session_id}", "{id}"} {
			path = strings.ReplaceAll(path, name, "x")
		}
		ask(method, path+"?q="+url.QueryEscape(strings.Repeat("猫", 20_000)), "", http.StatusRequestURITooLong)
		if method == "GET" || strings.HasSuffix(path, "/messages") { // a stream: it is counted as it comes
			continue
		}
		ask(method, path, deep, http.StatusUnprocessableEntity)
		ask(method, path, wide, http.StatusRequestEntityTooLarge)
	}
	if asked < 60 {
		t.Errorf("only %d requests were made", asked)
	}
}

// A batch of calls counts as as many requests, values and fields by their number, and all by its bytes: who has sent
// them waits for longer.
func TestWeight(t *testing.T) {
	h := newHouse(t, func(o *server.Options) { o.RequestsPerSecond = 1 })
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_groups","arguments":{"a":[1,"],[",2]}}}`
	for _, c := range []struct {
		name, path, body string
		status           int
		wait             string // of the request after it; "" for none
	}{
		{"one call", "/mcp", call, 200, ""},
		{"a batch of one", "/mcp", "[" + call + "]", 200, ""},
		{"a batch of ten", "/mcp", " [" + strings.Repeat(call+",", 9) + call + "]", 200, "9"},
		{"a batch of twenty", "/mcp", "[" + strings.Repeat(call+",", 19) + call + "]", 200, "19"},
		{"a longer one", "/mcp", "[" + strings.Repeat(call+",", 20) + call + "]", 413, ""},
		{"a batch of nonsense", "/mcp", "[" + strings.Repeat("1,", 5000) + "1]", 413, ""},
		{"an object with a list", "/memory/g", `{"tags":["a","b","c","d"]}`, 200, ""},
		{"many values", "/memory/g", `{"tags":[` + strings.Repeat("1,", 9_000) + "1]}", 200, "9"},
		{"many fields", "/memory/g", "form:a=1" + strings.Repeat("&a=1", 9_000), 200, "9"},
		{"more fields", "/memory/g", "form:a=1" + strings.Repeat("&a=1", 11_000), 413, ""},
		{"fields in both", "/memory/g?a" + strings.Repeat("&a", 6_000), "form:a=1" + strings.Repeat("&a=1", 6_000), 413, ""},
		{"many bytes", "/memory/g", `{"statement":"` + strings.Repeat("x", 640<<10) + `"}`, 200, "10"},
	} {
		token, _ := h.token(api.NewToken{Scope: reverie.ScopeAdmin})
		auth := "Authorization: Bearer " + token
		kind := "Content-Type: application/json"
		fields, form := strings.CutPrefix(c.body, "form:")
		if form {
			kind = "Content-Type: application/x-www-form-urlencoded"
		}
		w := h.ask("POST", c.path, strings.NewReader(fields), auth, kind)
		if w.Code != c.status {
			t.Errorf("%s: %d %.200s", c.name, w.Code, w.Body)
		}
		next := h.ask("GET", "/v1/groups", nil, auth)
		if got := next.Header().Get("Retry-After"); got != c.wait || (c.wait == "") != (next.Code == 200) {
			t.Errorf("%s: the next request has %d, to be sent again in %q s and not %q", c.name, next.Code, got, c.wait)
		}
		other, _ := h.token(api.NewToken{Scope: reverie.ScopeRead})
		if w := h.ask("GET", "/v1/groups", nil, "Authorization: Bearer "+other); w.Code != 200 {
			t.Errorf("%s: somebody else is refused with %d", c.name, w.Code)
		}
	}
}

// A few requests of one sender work at a time, and of heavy ones one alone; others of it wait, those of somebody else do not.
func TestTurns(t *testing.T) {
	t.Run("light", func(t *testing.T) { testTurns(t, "{}", 2) })
	t.Run("heavy", func(t *testing.T) { testTurns(t, `{"tags":[`+strings.Repeat("1,", 9_000)+"1]}", 1) })
}

func testTurns(t *testing.T, body string, want int32) {
	working, most := atomic.Int32{}, atomic.Int32{}
	came, leave := make(chan struct{}, 20), make(chan struct{})
	h := newHouse(t, func(o *server.Options) {
		o.MaxWorking = 2
		o.REST = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/runs" { // somebody else's
				return
			}
			most.Store(max(most.Load(), working.Add(1)))
			came <- struct{}{}
			<-leave
			working.Add(-1)
		})
	})
	token, _ := h.token(api.NewToken{Scope: reverie.ScopeRead})
	other, _ := h.token(api.NewToken{Scope: reverie.ScopeRead})
	done := make(chan *httptest.ResponseRecorder)
	for range 10 {
		go func() {
			done <- h.ask("POST", "/memory/g", strings.NewReader(body), "Authorization: Bearer "+token, "Content-Type: application/json")
		}()
	}
	for range want {
		<-came
	}
	if w := h.ask("GET", "/v1/runs", nil, "Authorization: Bearer "+other); w.Code != 200 {
		t.Errorf("somebody else is answered with %d", w.Code)
	}
	close(leave)
	for range 10 {
		if w := <-done; w.Code != 200 {
			t.Errorf("one that waited is answered with %d", w.Code)
		}
	}
	if most.Load() != want {
		t.Errorf("%d worked at a time", most.Load())
	}
}

// While one request of a sender works, so many of it wait; the next is told to come again, and one of somebody else is
// answered.
func TestTurnsHaveRoom(t *testing.T) {
	const room = 128
	came, leave := make(chan struct{}), make(chan struct{})
	h := newHouse(t, func(o *server.Options) {
		o.MaxWorking = 1
		o.REST = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/memory/first" {
				close(came)
				<-leave
			}
		})
	})
	token, _ := h.token(api.NewToken{Scope: reverie.ScopeRead})
	other, _ := h.token(api.NewToken{Scope: reverie.ScopeRead})
	done := make(chan *httptest.ResponseRecorder)
	ask := func(path string) { done <- h.ask("GET", path, nil, "Authorization: Bearer "+token) }
	go ask("/memory/first")
	<-came
	for range room + 1 {
		go ask("/memory/g")
	}
	if w := <-done; w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("one too many is answered with %d: %s", w.Code, w.Body)
	}
	if w := h.ask("GET", "/memory/g", nil, "Authorization: Bearer "+other); w.Code != http.StatusOK {
		t.Errorf("somebody else is answered with %d", w.Code)
	}
	close(leave)
	for range room + 1 {
		if w := <-done; w.Code != http.StatusOK {
			t.Errorf("one that waited is answered with %d", w.Code)
		}
	}
}
