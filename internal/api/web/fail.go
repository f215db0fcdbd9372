package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"reverie/internal/api/problem"
	"reverie/internal/reverie"
)

const errorTemplate = "error"

// failure is what an error page says.
type failure struct {
	Status int
	Kind   string // of texts: error.<kind> says what is the matter, error.<kind>.next what to do
	Detail string // the error itself, "" where it is not for clients
	ID     string // of the request, where the log says more
	Back   string // the page that led here; "" = none
	Head   string // the newest version, where an old one was to be changed
	Login  string // where to log in, if that helps
}

// nowhere answers where there is no page.
func (s *site) nowhere(w http.ResponseWriter, r *http.Request) {
	v := s.visit(w, r)
	s.fail(v, reverie.ErrNotFound)
}

// fail answers with a page that says what is the matter and what to do.
func (s *site) fail(v *visit, err error) {
	p := problem.Of(err, v.site.Now())
	switch {
	case errors.Is(err, errAnswered):
		return
	case p.Status == http.StatusUnauthorized && v.Method == http.MethodGet:
		http.Redirect(v.w, v.Request, v.login(), http.StatusSeeOther)
		return
	case p.Status >= http.StatusInternalServerError:
		s.Log.Error("a page failed", "request_id", problem.RequestID(v.Context()), "path", v.URL.Path, "error", err)
	}
	kind := kinds[p.Status]
	if errors.Is(err, errStale) {
		kind = "stale"
	}
	s.explain(v, p, kind)
}

// Refuse answers who was refused before coming to any page: what another site sends, too
// much at once, or too large a form.
func (s *site) Refuse(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	kind := kinds[p.Status]
	if p.Status == http.StatusForbidden {
		kind = "foreign"
	}
	s.explain(s.visit(w, r), p, kind)
}

// explain shows the page of a problem.
func (s *site) explain(v *visit, p *problem.Problem, kind string) {
	f := failure{Status: p.Status, Kind: kind, Detail: p.Detail, ID: problem.RequestID(v.Context()), Back: v.back()}
	if f.Kind == "" {
		f.Kind = "failed"
	}
	if f.Back == homeURL && f.Kind != "stale" { // to which all lead
		f.Back = ""
	}
	if p.HeadID != "" {
		f.Head = memoryURL(p.HeadID)
	}
	if f.Kind == "login" || f.Kind == "forbidden" {
		f.Login = v.login()
	}
	for name, values := range p.GetHeaders() {
		v.w.Header()[name] = values
	}
	v.Group = nil // whoever may not see it gets no tabs of it
	s.render(v, f.Status, s.looks[errorTemplate]()[v.lang], view{visit: v, Kind: "error." + f.Kind, Data: f})
}

// kinds are what error pages say, by status.
var kinds = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnauthorized: "login", http.StatusForbidden: "forbidden",
	http.StatusNotFound: "missing",
	http.StatusConflict: "conflict", http.StatusRequestEntityTooLarge: "invalid",
	http.StatusUnprocessableEntity: "invalid",
	http.StatusTooManyRequests:     "later", http.StatusServiceUnavailable: "later", http.StatusGatewayTimeout: "later",
}

// place is the address of the page that the visitor is on: of this one or, where a form
// was sent, of the one that it was sent from.
func (v *visit) place() string {
	switch {
	case v.Method == http.MethodGet || v.Method == http.MethodHead:
		return v.URL.RequestURI()
	case v.URL.Path == loginURL:
		return query(loginURL, "next", localPath(v.PostForm.Get("next")))
	}
	if from := v.from(); from != "" {
		return from
	}
	path := v.URL.EscapedPath() // a form's page is the one above it
	return localPath(path[:strings.LastIndex(path, "/")])
}

// from is the page of ours that led here, "" where none did.
func (v *visit) from() string {
	u, err := url.Parse(v.Referer())
	if err != nil || u.Host != v.Host || localPath(u.RequestURI()) != u.RequestURI() {
		return ""
	}
	return u.RequestURI()
}

// back is where one comes from who has come to no good: "" where nothing is known of it.
func (v *visit) back() string {
	if v.Method != http.MethodGet && v.Method != http.MethodHead {
		return v.place()
	}
	if from := v.from(); from != v.URL.RequestURI() {
		return from
	}
	return ""
}

// errStale says that a form is not one of this login's pages.
var errStale = fmt.Errorf("the form is not one of this login's pages: %w", reverie.ErrForbidden)
