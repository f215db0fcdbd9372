package rest_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
)

// TestAnswers asks what is answered in a way of its own.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	admin := w.mine.token[reverie.ScopeAdmin]
	group := target(w.doc.Paths["/v1/groups/{group_id}"].Get, w.mine, visit{})
	memory := "/memory/" + w.mine.old
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		has                string
	}{
		"no route":         {"GET", "/nowhere", "", 404, "openapi.json"},
		"half a route":     {"GET", "/memory/list/", "", 404, ""},
		"another folder":   {"GET", "/memory//list/x", "", 404, ""},
		"dots":             {"GET", "/memory/../healthz/x", "", 404, ""},
		"a NUL":            {"GET", "/memory/list/%00", "", 404, ""},
		"bad UTF-8":        {"GET", "/memory/list/%ff", "", 404, ""},
		"method":           {"POST", "/v1/runs", "", 405, "GET, HEAD"},
		"another":          {"PUT", memory, "", 405, "DELETE"},
		"bad query":        {"GET", group + "/context?query=%zz", "", 422, ""},
		"NUL in a query":   {"GET", group + "/context?query=a%00", "", 422, ""},
		"no number":        {"GET", "/v1/groups?limit=x", "", 422, "query.limit"},
		"beyond":           {"GET", "/v1/groups?limit=201", "", 422, "200"},
		"no such date":     {"GET", "/v1/runs?since=0001-01-01T00:00:00Z", "", 422, "1970"},
		"NaN":              {"GET", "/memory/search/" + group[len("/v1/groups/"):] + "?q=x&threshold=NaN", "", 422, "threshold"},
		"no JSON":          {"PUT", memory + "/strength", "{", 400, "body"},
		"no body":          {"PUT", memory + "/strength", "", 400, "body"},
		"too strong":       {"PUT", memory + "/strength", `{"strength":1.1}`, 422, "body.strength"},
		"no such field":    {"PUT", memory + "/strength", `{"strength":1,"weight":2}`, 422, "weight"},
		"NUL in a body":    {"PUT", memory + "/strength", `{"strength":1,"reason":"\u0000"}`, 422, "body.reason"},
		"GBK in a body":    {"PUT", memory + "/strength", "{\"strength\":1,\"reason\":\"\xba\xc3\"}", 400, "not UTF-8"},
		"too large":        {"PUT", memory + "/strength", `{"strength":1,"reason":"` + strings.Repeat("x", 1<<20) + `"}`, 413, ""},
		"an old version":   {"PUT", memory + "/strength", `{"strength":1}`, 409, `"head_id":"`},
		"words for an old": {"PATCH", memory, `{"statement":"we meet","reason":"so"}`, 409, `"head_id":"`},
		"no words":         {"PATCH", "/memory/" + w.mine.memory, `{"reason":"so"}`, 422, "nothing is written"},
		"no reason":        {"PATCH", "/memory/" + w.mine.memory, `{"statement":"we meet"}`, 422, "reason"},
		"a link":           {"POST", "/memory/" + group[len("/v1/groups/"):], `{"statement":"see https://example.com","reason":"so"}`, 422, "link"},
		"active already":   {"PUT", "/memory/" + w.mine.memory + "/restore", "", 409, "active"},
		"held no more":     {"POST", "/v1/runs/" + w.mine.run + "/approve", "", 409, ""},
		"an edited plan":   {"POST", "/v1/runs/" + w.mine.run + "/approve", `{"plan":"hello"}`, 422, "cannot be edited any more"},
		"an empty plan":    {"POST", "/v1/runs/" + w.mine.run + "/approve", `{"plan":""}`, 422, "body.plan"},
		"no line at all":   {"POST", group + "/messages", "hello\n", 422, "body.line 1"},
		"nobody's group":   {"GET", "/memory/list/" + strings.Repeat("x", 10_000), "", 404, ""},
		"bad two at once":  {"GET", "/v1/groups?limit=x&state=y", "", 422, "query.state"},
		"two times":        {"GET", group + "/context?query=x&at=2026-01-15&recorded_at=2026-01-15", "", 422, "give one of them"},
		"two in a body":    {"POST", group + "/context", `{"query":"x","at":"2026-01-15","recorded_at":"2026-01-15"}`, 422, "give one of them"},
	} {
		a := w.ask(admin, c.method, c.path, c.body)
		if problemIn(t, a); a.Code != c.status || !strings.Contains(a.Body.String()+a.Header().Get("Allow"), c.has) {
			t.Errorf("%s: %s %.80s is %d (Allow %q): %.300s", name, c.method, c.path, a.Code, a.Header().Get("Allow"), a.Body)
		}
	}
	if a := w.ask(admin, "POST", group+"/messages", `{"id":"a","author":"Bo","text":"hi","sent_at":"2026-01-15T12:30:00Z"}`+"\nwhat?\n"); a.Code != 200 ||
		!strings.HasPrefix(a.Body.String(), `{"success":false,`) || !strings.Contains(a.Body.String(), `"new":1`) {
		t.Errorf("a good line and a bad one: %d %s", a.Code, a.Body)
	}
	for charset, status := range map[string]int{"gbk": 415, "UTF-8": 200} {
		r := httptest.NewRequest("POST", group+"/messages", strings.NewReader(""))
		r.Header.Set("Authorization", "Bearer "+admin)
		r.Header.Set("Content-Type", "application/x-ndjson; charset="+charset)
		a := httptest.NewRecorder()
		if w.handler.ServeHTTP(a, r); a.Code != status {
			t.Errorf("messages in %s: %d %s", charset, a.Code, a.Body)
		}
	}
	if a := w.ask(admin, "PUT", "/memory/"+w.mine.deleted+"/restore?reason=sorry", ""); a.Code != 200 {
		t.Errorf("restored without a body: %d %s", a.Code, a.Body)
	}
	w.goesOn(t)
}

// goesOn: a run that takes longer than clients are kept is answered by where it is.
func (w *world) goesOn(t *testing.T) {
	t.Helper()
	over, started, end := make(chan time.Time), make(chan struct{}), make(chan struct{})
	w.service.Evolver = api.NewEvolver(api.EvolverOptions{Concurrency: 1, Log: quiet(), Wait: func() (<-chan time.Time, func()) { return over, func() {} },
		Run: func(_ context.Context, o api.EvolveOrder) error {
			o.Started(w.mine.run)
			close(started)
			<-end
			return reverie.ErrDeferred
		}})
	go func() { <-started; close(over) }()
	op := w.doc.Paths["/memory/evolve/{group_id}"].Post
	a := w.ask(w.mine.token[reverie.ScopeWrite], "POST", target(op, w.mine, visit{query: "?days=1"}), "")
	if a.Code != 202 || a.Header().Get("Location") != "/v1/runs/"+w.mine.run || !strings.Contains(a.Body.String(), `"status":"running"`) {
		t.Errorf("%d %v %s", a.Code, a.Header(), a.Body)
	}
	w.fits(t, op, a)
	close(end)
	if err := w.service.Evolver.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBothTimes has each route that reads the past go by the chat's time, and by that of
// writing where it is asked to.
func TestBothTimes(t *testing.T) {
	w := newWorld(t)
	if _, err := w.db.Exec(`update memories set said_at = timestamptz '2024-03-05 00:00Z', said_until = case when status <> 'active'
		then timestamptz '2024-03-06 00:00Z' end where group_id = $1`, w.mine.group); err != nil {
		t.Fatal(err)
	}
	group := url.PathEscape(w.mine.group)
	written := w.now.Add(time.Hour).Format(time.RFC3339) // still to come is now
	for target, field := range map[string]string{"/memory/list/" + group + "?limit=200": "memories", "/memory/search/" + group + "?q=x": "results",
		"/v1/groups/" + group + "/context?query=what+is+there": "memories", "/memory/history/" + w.mine.memory + "?": "history",
		"/v1/memories/" + w.mine.memory + "/blame?": "versions"} {
		for _, c := range []struct {
			at  string
			any bool
		}{{"at=2024-03-04", false}, {"at=2024-03-05T01:00:00Z", true}, {"at=" + written, true}, {"recorded_at=2024-03-05T01:00:00Z", false},
			{"recorded_at=" + written, true}} {
			a := w.ask(w.mine.token[reverie.ScopeRead], "GET", target+"&"+c.at, "")
			var doc map[string]any
			if err := json.Unmarshal(a.Body.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			list, _ := doc[field].([]any)
			if len(list) > 0 != c.any || a.Code != 200 && a.Code != 404 {
				t.Errorf("%s&%s is %d with %d %s", target, c.at, a.Code, len(list), field)
			}
		}
	}
	for query, added := range map[string]bool{"from=2024-03-04&to=2024-03-05T01:00:00Z": true, "from=2024-03-04&to=2024-03-05T01:00:00Z&recorded=true": false,
		"from=2024-03-04&recorded=true": true} {
		a := w.ask(w.mine.token[reverie.ScopeRead], "GET", "/v1/groups/"+group+"/diff?"+query, "")
		var d reverie.DiffReply
		if err := json.Unmarshal(a.Body.Bytes(), &d); err != nil || a.Code != 200 || len(d.Added) > 0 != added {
			t.Errorf("%s: %d, %d added, %v", query, a.Code, len(d.Added), err)
		}
	}
}
