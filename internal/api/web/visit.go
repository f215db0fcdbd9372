package web

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// visit is one request for a page, or of a form.
type visit struct {
	*http.Request
	site    *site
	w       http.ResponseWriter
	Caller  api.Caller // Scope is "" where nobody has logged in
	lang    lang
	title   string              // what the page is about, where that says more than its kind
	tab     string              // of the group's pages
	Group   *reverie.GroupReply // that the page is about; nil for none
	notices []notice
	bad     error // what the query of the address says wrongly; the page is not shown then
}

func (s *site) visit(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{Request: r, site: s, w: w, lang: chooseLanguage(w, r, s.HTTPS)}
	v.Caller, _ = api.CallerOf(r.Context())
	return v
}

// t is a text of the page in the visitor's language.
func (v *visit) t(key string, args ...any) string { return v.lang.text(key, args...) }

// Local tells whether nobody has to log in: no token was ever created.
func (v *visit) Local() bool { return v.Caller == api.Anyone }

// May tells whether the visitor may do what needs a scope: $.May "write".
func (v *visit) May(scope reverie.Scope) bool { return v.Caller.Scope.Covers(scope) }

// about reads the group that a page is of. The page has its tabs then, and its times are
// the group's own.
func (v *visit) about(groupID, tab string) error {
	g, err := v.site.Group(v.Context(), groupID)
	if err == nil {
		v.Group, v.tab = &g, tab
	}
	return err
}

// aboutFiltered is about of a group that the visitor has chosen in a filter; "" is none.
func (v *visit) aboutFiltered(groupID, tab string) error {
	if groupID == "" {
		return nil
	}
	return v.about(groupID, tab)
}

// Zone is where the page's times are told, {{when .At $.Zone}}: the group's, else UTC.
func (v *visit) Zone() *time.Location {
	if v.Group != nil {
		if loc, err := v.Group.Location(); err == nil {
			return loc
		}
	}
	return time.UTC
}

// check refuses what no text may hold, wherever it stands in the request.
func (v *visit) check() error {
	if err := v.ParseForm(); err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return err
		}
		return fmt.Errorf("the form cannot be read: %w", reverie.ErrInvalid)
	}
	texts := []string{v.URL.Path}
	for name, values := range v.Form {
		texts = append(append(texts, name), values...)
	}
	for _, s := range texts {
		if !text.Storable(s) {
			return fmt.Errorf("the address or the form holds a NUL or invalid UTF-8: %w", reverie.ErrInvalid)
		}
	}
	return nil
}

// notice is a line that is shown once, on the page that follows a form.
type notice struct {
	Key  string `json:"k"`
	Args []any  `json:"a,omitempty"`
}

const noticeCookie = "reverie_notice"

// notify has the next page say what became of a form.
func (v *visit) notify(key string, args ...any) { v.notices = append(v.notices, notice{key, args}) }

// keepNotices hands the notices over to the next page.
func (v *visit) keepNotices() {
	if len(v.notices) == 0 {
		return
	}
	if b, err := json.Marshal(v.notices); err == nil { // of strings and numbers
		v.setCookie(noticeCookie, base64.RawURLEncoding.EncodeToString(b), time.Time{}, 60)
	}
}

// takeNotices are what the form before this page has left, in words.
func (v *visit) takeNotices() []string {
	cookie, err := v.Cookie(noticeCookie)
	if err != nil {
		return nil
	}
	v.setCookie(noticeCookie, "", time.Time{}, -1)
	b, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	var list []notice
	if err != nil || json.Unmarshal(b, &list) != nil {
		return nil
	}
	var lines []string
	for _, n := range list {
		if _, known := locales()[v.lang][n.Key]; known && strings.HasPrefix(n.Key, "notice.") {
			for i, arg := range n.Args {
				if number, ok := arg.(float64); ok {
					n.Args[i] = int(number)
				}
			}
			lines = append(lines, v.t(n.Key, n.Args...))
		}
	}
	return lines
}

// setCookie sets a cookie of the page, which no script and no other site sees. maxAge is
// in seconds, 0 for as long as the browser runs unless it expires at an instant.
func (v *visit) setCookie(name, value string, expires time.Time, maxAge int) {
	http.SetCookie(v.w, &http.Cookie{Name: name, Value: value, Path: "/ui/", Expires: expires, MaxAge: maxAge,
		Secure: v.site.HTTPS, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// number reads a whole number of the query, otherwise where there is none. What is no
// number is noted as bad.
func (v *visit) number(name string, otherwise int) int {
	s := cmp.Or(v.URL.Query().Get(name), strconv.Itoa(otherwise))
	n, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(n) != s {
		v.bad = fmt.Errorf("%s=%q is no number: %w", name, text.Excerpt(s, 40), reverie.ErrInvalid)
		return otherwise
	}
	return n
}

// choice reads which of some values the query has chosen: the first, where it says
// nothing. What is none of them is noted as bad.
func (v *visit) choice(name string, values []string) string {
	chosen := cmp.Or(v.FormValue(name), values[0])
	if !slices.Contains(values, chosen) {
		v.bad = fmt.Errorf("%s=%q is none of %q: %w", name, text.Excerpt(chosen, 40), values, reverie.ErrInvalid)
	}
	return chosen
}
