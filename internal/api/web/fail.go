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

// failure is the content of an error page.
type failure struct {
	Status int
	Kind   string // key of texts: error.<kind> describes the problem, error.<kind>.next the remedy
	Detail string // the error itself, "" if clients must not see it
	ID     string // of the request, if the log has details
	Back   string // the previous page; "" = none
	Head   string // the newest version, if the form was about an old one
	Login  string // the login page, if a login helps
}

// notFound answers requests for missing pages.
func (s *site) notFound(w http.ResponseWriter, r *http.Request) {
	v := s.visit(w, r)
	s.fail(v, reverie.ErrNotFound)
}

// fail answers with a page about the error and its remedy.
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

// Refuse answers requests that were refused before they reached a page: from another site, too many, or with too
// large a form.
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
	if f.Back == homeURL && f.Kind != "stale" { // every page leads there
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
	v.Group = nil // a visitor without permission must not see its tabs
	s.render(v, f.Status, s.looks[errorTemplate]()[v.lang], view{visit: v, Kind: "error." + f.Kind, Data: f})
}

// kinds are the kinds of error pages, by status.
var kinds = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnauthorized: "login", http.StatusForbidden: "forbidden",
	http.StatusNotFound: "missing",
	http.StatusConflict: "conflict", http.StatusRequestEntityTooLarge: "invalid",
	http.StatusUnprocessableEntity: "invalid",
	http.StatusTooManyRequests:     "later", http.StatusServiceUnavailable: "later", http.StatusGatewayTimeout: "later",
}

// place returns the address of the visitor's page: this one or, for a form, the page that contains the form.
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

// from returns the page of this site that led here, "" if none did.
func (v *visit) from() string {
	u, err := url.Parse(v.Referer())
	if err != nil || u.Host != v.Host || localPath(u.RequestURI()) != u.RequestURI() {
		return ""
	}
	return u.RequestURI()
}

// back returns the page to return to after an error: "" if unknown.
func (v *visit) back() string {
	if v.Method != http.MethodGet && v.Method != http.MethodHead {
		return v.place()
	}
	if from := v.from(); from != v.URL.RequestURI() {
		return from
	}
	return ""
}

// errStale is the error of a form that no page of this login contains.
var errStale = fmt.Errorf("the form is not one of this login's pages: %w", reverie.ErrForbidden)
