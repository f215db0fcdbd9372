package web

import (
	"bytes"
	"errors"
	"html/template"
	"net/http"
	"strings"

	"reverie/internal/api"
	"reverie/internal/api/problem"
)

// policy is what browsers may load for a page: our own style sheet and pictures.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'none'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// show answers with a page, or with why not.
func (s *site) show(w http.ResponseWriter, r *http.Request, p page) {
	v := s.visit(w, r)
	if v.caller.Scope == "" && !p.open {
		http.Redirect(w, r, v.login(), http.StatusSeeOther)
		return
	}
	err := v.check()
	var data any
	if err == nil {
		data, err = p.show(v)
	}
	var elsewhere redirect
	switch {
	case errors.As(err, &elsewhere):
		http.Redirect(w, r, string(elsewhere), http.StatusSeeOther)
	case err != nil:
		s.fail(v, err)
	default:
		status := http.StatusOK
		if v.refused != nil {
			status = v.refused.Status
		}
		s.render(v, status, s.looks[p.template][v.lang], view{visit: v, Kind: p.title, Notices: v.takeNotices(), Data: data})
	}
}

// redirect is the error of a page that is another page.
type redirect string

func (r redirect) Error() string { return "see " + string(r) }

// do does what a form asks for, and goes on with another page.
func (s *site) do(w http.ResponseWriter, r *http.Request, f form) {
	v := s.visit(w, r)
	err := v.check()
	switch {
	case err != nil:
	case f.open:
	case v.caller.Scope == "":
		v.notify("notice.login_over")
		v.keepNotices()
		http.Redirect(w, r, v.login(), http.StatusSeeOther)
		return
	case !api.IsFormToken(api.SessionOf(r.Context()), r.PostFormValue("form_token")):
		err = errStale
	}
	var next string
	if err == nil {
		next, err = f.do(v)
	}
	if err != nil {
		s.fail(v, err)
		return
	}
	v.keepNotices()
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// render makes a page whole before any of it is sent.
func (s *site) render(v *visit, status int, look *template.Template, data view) {
	var b bytes.Buffer
	if err := look.Execute(&b, data); err != nil {
		s.Options.Log.Error("a page could not be made", "request_id", problem.RequestID(v.Context()), "path", v.URL.Path,
			"error", err)
		http.Error(v.w, v.t("error.failed"), http.StatusInternalServerError)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.lang.tag())
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Cookie, Accept-Language")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	v.w.WriteHeader(status)
	_, _ = b.WriteTo(v.w) // a client that is gone needs no answer
}

// localPath is an address of the page's own that a login leads back to, the first page
// where it is anything else.
func localPath(address string) string {
	if !strings.HasPrefix(address, "/ui/") || strings.HasPrefix(address, loginURL) ||
		strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) {
		return homeURL
	}
	return address
}
