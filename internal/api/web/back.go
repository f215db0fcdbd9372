package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

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

// refusal is what is wrong with what was asked of a page that is shown all the same, so
// that it can be asked for otherwise.
type refusal struct {
	Status int
	Text   string
	Find   string // where to look for it; "" = nowhere
}

// refuse has the page be shown with a status and with what is wrong, instead of what was
// asked for.
func (v *visit) refuse(status int, key string, args ...any) {
	v.refused = &refusal{Status: status, Text: v.t(key, args...)}
}

// unknown refuses a choice that is none of a list; "" is one that was not made.
func unknown[T ~string](v *visit, key string, chosen T, known []T) bool {
	if chosen == "" || slices.Contains(known, chosen) {
		return false
	}
	v.refuse(http.StatusUnprocessableEntity, key, text.Excerpt(string(chosen), 40))
	return true
}

// errStale says that a form is not one of this login's pages.
var errStale = fmt.Errorf("the form is not one of this login's pages: %w", reverie.ErrForbidden)
