package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"reverie/internal/api"
	"reverie/internal/api/server"
	"reverie/internal/api/web"
	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// TestLogin comes to the page as it is on the first day: open to this machine, then with
// tokens.
func TestLogin(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	db := pgtest.Open(t, pg.Options{})
	service := &api.Service{Store: db, Now: func() time.Time { return now }}
	h := serve(t, service)
	v := visit(t, h, "en-GB")

	a := v.get("/")
	if text := words(a.doc); a.url != "/ui/" || !strings.Contains(text, "only this machine can open this page") || !strings.Contains(text, "reverie token create") ||
		!strings.Contains(text, "There are no groups yet") || strings.Contains(text, "Log out") {
		t.Errorf("the first page: %s\n%s", a.url, text)
	}
	if text := words(v.get("/ui/login").doc); !strings.Contains(text, "nobody has to log in") {
		t.Errorf("the login without tokens: %s", text)
	}
	for _, id := range []string{"a", "b/c %", "d"} {
		check(t, db.AddGroup(t.Context(), reverie.Group{ID: id, TimeZone: "Asia/Shanghai"}))
	}
	if a := v.get("/ui/?q=b%2Fc+%25"); a.url != "/ui/groups/b%2Fc%20%25" || !strings.Contains(words(a.doc), "Nothing has happened in this group yet") {
		t.Errorf("the search for a group: %s\n%s", a.url, words(a.doc))
	}
	searchGroups(t, v, db)

	whole := token(t, service, "", reverie.ScopeRead)
	a = v.get("/ui/groups/b%2Fc%20%25?before=2026-01-01")
	if want := "/ui/login?next=" + url.QueryEscape("/ui/groups/b%2Fc%20%25?before=2026-01-01"); a.url != want || !strings.Contains(words(a.doc), "Scope read lets you look around") {
		t.Errorf("without a login: %s, want %s\n%s", a.url, want, words(a.doc))
	}
	next := attr(a.named("input", "next"), "value")
	bad := v.send(http.MethodPost, "/ui/login", url.Values{"token": {whole[:20]}, "next": {next}})
	if text := words(bad.doc); bad.Code != http.StatusUnauthorized || !strings.Contains(text, "not valid, or no longer is") || attr(bad.named("input", "next"), "value") != next ||
		strings.Contains(bad.Body.String(), whole[:20]) || len(v.cookies) != 0 {
		t.Errorf("a token that is not good: status %d, cookies %v\n%s", bad.Code, v.cookies, text)
	}
	a = v.send(http.MethodPost, "/ui/login", url.Values{"token": {" " + whole + "\n"}, "next": {next}})
	if cookie := a.Header().Get("Set-Cookie"); a.Header().Get("Location") != next || !strings.HasPrefix(cookie, api.SessionCookie+"=") ||
		!strings.HasSuffix(cookie, "; Path=/ui/; Expires=Fri, 16 Jan 2026 00:00:00 GMT; HttpOnly; SameSite=Strict") {
		t.Errorf("the login leads to %s, cookie %s", a.Header().Get("Location"), cookie)
	}
	if a := v.get(next); a.Code != http.StatusOK || a.url != next || !strings.Contains(words(a.doc), "Log out") {
		t.Errorf("after the login: %s, status %d", a.url, a.Code)
	}
	if a := visit(t, h, "").send(http.MethodPost, "/ui/login", url.Values{"token": {whole}, "next": {"https://evil.example/ui/"}}); a.Header().Get("Location") != "/ui/" {
		t.Errorf("a login leads to %s", a.Header().Get("Location"))
	}
	now = now.Add(13 * time.Hour)
	if a := v.get("/ui/runs"); !strings.HasPrefix(a.url, "/ui/login") {
		t.Errorf("after the session is over, %s is shown", a.url)
	}
	t.Run("https", func(t *testing.T) { overHTTPS(t, service, whole) })
	t.Run("language", func(t *testing.T) { speak(t, h) })
}

// searchGroups looks for groups by what is shown of them.
func searchGroups(t *testing.T, v *visitor, db *store.Store) {
	for i := range 51 {
		check(t, db.AddGroup(t.Context(), reverie.Group{ID: fmt.Sprintf("x%02d", i), Name: fmt.Sprintf("群组 %d Lens", i), TimeZone: "UTC"}))
	}
	for query, want := range map[string]string{"b": `with "b" in their id or name`, "群组 33": "x33", "LENS 5": "No group that you may see has"} {
		a := v.get("/ui/?q=" + url.QueryEscape(query))
		if text := words(a.doc); !strings.Contains(text, want) || !strings.Contains(text, "All groups") || strings.Contains(text, "no groups yet") ||
			strings.Contains(text, "x32") || len(a.all("tbody")) == 1 && len(a.all("tr")) != 2 {
			t.Errorf("the search for %q: %s", query, text)
		}
	}
	next := ""
	for _, n := range v.get("/ui/?q=lens").all("a") {
		if attr(n, "rel") == "next" {
			next = attr(n, "href")
		}
	}
	if text := words(v.get(next).doc); !strings.Contains(text, "x50") || strings.Contains(text, "x49") || !strings.Contains(text, "First page") {
		t.Errorf("the second page of a search, %q: %s", next, text)
	}
}

// named is an element with a name.
func (a *answer) named(element, name string) *html.Node {
	for _, n := range a.all(element) {
		if attr(n, "name") == name {
			return n
		}
	}
	return &html.Node{}
}

// overHTTPS has the cookies of a page that is reached over https go over nothing else.
func overHTTPS(t *testing.T, service *api.Service, token string) {
	s, err := server.New(server.Options{Service: service, Web: web.New(service, web.Options{HTTPS: true})})
	check(t, err)
	v := visit(t, s.Handler(), "en")
	for _, a := range []*answer{v.send(http.MethodPost, "/ui/login", url.Values{"token": {token}}), v.send(http.MethodGet, "/ui/?lang=zh", nil)} {
		for _, c := range a.Result().Cookies() {
			if !c.Secure {
				t.Errorf("cookie %s goes without https", c)
			}
		}
	}
}

// speak has the page speak as the visitor chose, else as the browser prefers.
func speak(t *testing.T, h http.Handler) {
	for accept, want := range map[string]string{"": "en", "de": "en", "zh-TW,en;q=0.3": "zh-Hans", "zh;q=0.2,en;q=0.8": "en", "fr,zh-CN": "zh-Hans", "%%%": "en"} {
		v := visit(t, h, accept)
		if got := attr(v.get("/ui/").all("html")[0], "lang"); got != want {
			t.Errorf("Accept-Language %q is answered in %s", accept, got)
		}
		other := map[string]string{"en": "zh", "zh-Hans": "en"}[want]
		for _, address := range []string{"/ui/runs?status=failed&lang=" + other, "/ui/"} { // chosen, and kept
			if got := attr(v.get(address).all("html")[0], "lang"); got == want || v.cookies["reverie_lang"] != other {
				t.Errorf("%s after %q: %s, cookies %v", address, accept, got, v.cookies)
			}
		}
		if a := v.get("/ui/?lang=fr"); v.cookies["reverie_lang"] != other || a.Code != http.StatusOK {
			t.Errorf("a language that is not there: %v", v.cookies)
		}
	}
}
