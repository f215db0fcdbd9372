package web

import (
	"errors"
	"net/http"

	"reverie"
	"reverie/api"
	"reverie/api/rest"
)

const errorTemplate = "error"

// failure is what an error page says.
type failure struct {
	Status int
	Kind   string // of texts: error.<kind> says what is the matter, error.<kind>.next what to do
	Detail string // the error itself, "" where it is not for clients
	ID     string // of the request, where the log says more
	Login  string // where to log in, if that helps
}

// nowhere answers where there is no page.
func (s *site) nowhere(w http.ResponseWriter, r *http.Request) {
	v := s.visit(w, r)
	s.fail(v, reverie.ErrNotFound)
}

// fail answers with a page that says what is the matter and what to do.
func (s *site) fail(v *visit, err error) {
	p := rest.ProblemOf(err, v.at())
	f := failure{Status: p.Status, Detail: p.Detail, ID: api.RequestID(v.Context())}
	switch {
	case errors.Is(err, errAnswered):
		return
	case f.Status == http.StatusUnauthorized && v.Method == http.MethodGet:
		http.Redirect(v.w, v.Request, v.login(), http.StatusSeeOther)
		return
	case f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden:
		f.Login = loginURL
	}
	f.Kind = kinds[f.Status]
	if f.Kind == "" {
		f.Kind = "failed"
	}
	if f.Status >= http.StatusInternalServerError {
		s.Options.Log.Error("a page failed", "request_id", f.ID, "path", v.URL.Path, "error", err)
	}
	for name, values := range p.GetHeaders() {
		v.w.Header()[name] = values
	}
	v.group = nil // whoever may not see it gets no tabs of it
	s.render(v, f.Status, s.looks[errorTemplate][v.lang], view{visit: v, Kind: "error." + f.Kind, Data: f})
}

// kinds are what error pages say, by status.
var kinds = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnauthorized: "login", http.StatusForbidden: "forbidden", http.StatusNotFound: "missing",
	http.StatusConflict: "conflict", http.StatusRequestEntityTooLarge: "invalid", http.StatusUnprocessableEntity: "invalid",
	http.StatusTooManyRequests: "later", http.StatusServiceUnavailable: "later", http.StatusGatewayTimeout: "later",
}
