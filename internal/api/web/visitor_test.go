package web_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"reverie/internal/api"
	"reverie/internal/api/server"
	"reverie/internal/api/web"
	"reverie/internal/reverie"
)

// visitor is somebody who looks at the page of a server: it keeps cookies and follows
// redirects, as browsers do.
type visitor struct {
	testing.TB
	handler http.Handler
	cookies map[string]string
	accept  string        // languages
	referer string        // the page that one comes from
	origin  string        // that the browser says it is
	look    func(*answer) // at each page of a walk; nil: not at all
}

// serve puts the page on a server as the product does.
func serve(t testing.TB, service *api.Service) http.Handler {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	s, err := server.New(server.Options{Service: service, Web: web.New(service, web.Options{}), Log: quiet})
	check(t, err)
	return s.Handler()
}

func visit(t testing.TB, handler http.Handler, accept string) *visitor {
	return &visitor{TB: t, handler: handler, cookies: map[string]string{}, accept: accept}
}

// token makes one of a scope, "" for all groups.
func token(t testing.TB, service *api.Service, groupID string, scope reverie.Scope) string {
	t.Helper()
	whole, _, err := service.CreateToken(t.Context(), api.NewToken{GroupID: groupID, Scope: scope, Name: string(scope)})
	check(t, err)
	return whole
}

// login logs a visitor in.
func (v *visitor) login(token string) *visitor {
	v.Helper()
	if a := v.send(http.MethodPost, "/ui/login", url.Values{"token": {token}}); a.Code != http.StatusSeeOther {
		v.Fatalf("login: status %d\n%s", a.Code, a.Body)
	}
	return v
}

// answer is what a visitor gets.
type answer struct {
	*httptest.ResponseRecorder
	url string
	doc *html.Node
}

// send asks for one thing.
func (v *visitor) send(method, address string, form url.Values) *answer {
	v.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(v.Context(), method, "http://localhost"+address, body)
	r.Header.Set("Accept-Language", v.accept)
	for name, value := range map[string]string{"Referer": v.referer, "Origin": v.origin} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range v.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	v.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if v.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		}
	}
	a := &answer{ResponseRecorder: w, url: address}
	var err error
	if a.doc, err = html.Parse(strings.NewReader(w.Body.String())); err != nil {
		v.Fatal(err)
	}
	return a
}

// get follows a link, and the redirects after it.
func (v *visitor) get(address string) *answer {
	v.Helper()
	address, _, _ = strings.Cut(address, "#")
	a := v.send(http.MethodGet, address, nil)
	for range 5 {
		next := a.Header().Get("Location")
		if next == "" {
			return a
		}
		a = v.send(http.MethodGet, next, nil)
	}
	v.Fatalf("%s: redirects without an end", address)
	return nil
}

// post sends a form, and follows it to its page.
func (v *visitor) post(address string, form url.Values) *answer {
	v.Helper()
	a := v.send(http.MethodPost, address, form)
	if next := a.Header().Get("Location"); next != "" {
		return v.get(next)
	}
	return a
}

// all are the elements of a page with one of the names, in order.
func (a *answer) all(names ...string) (list []*html.Node) {
	for n := range a.doc.Descendants() {
		for _, name := range names {
			if n.Type == html.ElementNode && n.Data == name {
				list = append(list, n)
			}
		}
	}
	return list
}

// attr is an attribute of an element.
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// words are the text of an element.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// formToken is the one that the forms of a page carry.
func (a *answer) formToken() string {
	for _, n := range a.all("input") {
		if attr(n, "name") == "form_token" {
			return attr(n, "value")
		}
	}
	return ""
}

// within are the elements of a name inside another one, in order.
func (a *answer) within(outer *html.Node, name string) (list []*html.Node) {
	for n := range outer.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			list = append(list, n)
		}
	}
	return list
}
