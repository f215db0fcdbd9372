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

// visit is one request for a page or of a form.
type visit struct {
	*http.Request
	site    *site
	w       http.ResponseWriter
	Caller  api.Caller // Scope is "" without a login
	lang    lang
	title   string              // the subject of the page, if it is more specific than the page's kind
	tab     string              // of the group's pages
	Group   *reverie.GroupReply // the page's group; nil for none
	notices []notice
	bad     error // the mistake in the address's query; the page is not shown then
}

func (s *site) visit(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{Request: r, site: s, w: w, lang: chooseLanguage(w, r, s.HTTPS)}
	v.Caller, _ = api.CallerOf(r.Context())
	return v
}

// t returns a text of the page in the visitor's language.
func (v *visit) t(key string, args ...any) string { return v.lang.text(key, args...) }

// Local reports whether no login is needed: no token exists.
func (v *visit) Local() bool { return v.Caller == api.Anyone }

// May reports whether the visitor has a scope: $.May "write".
func (v *visit) May(scope reverie.Scope) bool { return v.Caller.Scope.Covers(scope) }

// about reads the group of a page. The page then has the group's tabs and time zone.
func (v *visit) about(groupID, tab string) error {
	g, err := v.site.Group(v.Context(), groupID)
	if err == nil {
		v.Group, v.tab = &g, tab
	}
	return err
}

// aboutFiltered is about for a group chosen in a filter; "" is none.
func (v *visit) aboutFiltered(groupID, tab string) error {
	if groupID == "" {
		return nil
	}
	return v.about(groupID, tab)
}

// Zone returns the time zone of the page, {{when .At $.Zone}}: the group's, otherwise UTC.
func (v *visit) Zone() *time.Location {
	if v.Group != nil {
		if loc, err := v.Group.Location(); err == nil {
			return loc
		}
	}
	return time.UTC
}

// check refuses text in the request that cannot be stored.
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

// notice is a line that is shown once, on the page after a form.
type notice struct {
	Key  string `json:"k"`
	Args []any  `json:"a,omitempty"`
}

const noticeCookie = "reverie_notice"

// notify shows the result of a form on the next page.
func (v *visit) notify(key string, args ...any) { v.notices = append(v.notices, notice{key, args}) }

// keepNotices stores the notices for the next page.
func (v *visit) keepNotices() {
	if len(v.notices) == 0 {
		return
	}
	if b, err := json.Marshal(v.notices); err == nil { // strings and numbers can always be encoded
		v.setCookie(noticeCookie, base64.RawURLEncoding.EncodeToString(b), time.Time{}, 60)
	}
}

// takeNotices returns the notices of the previous form as texts.
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

// setCookie sets a cookie of the page, which scripts and other sites cannot read. maxAge is in seconds. With 0, the
// cookie lasts as long as the browser runs, unless it expires at an instant.
func (v *visit) setCookie(name, value string, expires time.Time, maxAge int) {
	http.SetCookie(v.w, &http.Cookie{Name: name, Value: value, Path: "/ui/", Expires: expires, MaxAge: maxAge,
		Secure: v.site.HTTPS, HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// number parses an integer of the query, otherwise if it is missing. An invalid number is recorded as bad.
func (v *visit) number(name string, otherwise int) int {
	s := cmp.Or(v.URL.Query().Get(name), strconv.Itoa(otherwise))
	n, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(n) != s {
		v.bad = fmt.Errorf("%s=%q is no number: %w", name, text.Excerpt(s, 40), reverie.ErrInvalid)
		return otherwise
	}
	return n
}

// choice returns the value that the query chooses: the first by default. An unknown one is recorded as bad.
func (v *visit) choice(name string, values []string) string {
	chosen := cmp.Or(v.FormValue(name), values[0])
	if !slices.Contains(values, chosen) {
		v.bad = fmt.Errorf("%s=%q is none of %q: %w", name, text.Excerpt(chosen, 40), values, reverie.ErrInvalid)
	}
	return chosen
}

// loginView is the data of the login page.
type loginView struct {
	Next string // the page after the login
	Bad  bool   // the token that was sent is invalid
}

func (s *site) loginPage(v *visit) (any, error) {
	return loginView{Next: localPath(v.URL.Query().Get("next"))}, nil
}

// login checks a token and sets the cookie of a session. It differs from other forms: without a login there is no
// form token, and server rejects login forms from other sites.
func (s *site) login(v *visit) (string, error) {
	next := localPath(v.PostFormValue("next"))
	session, expires, err := s.Login(v.Context(), strings.TrimSpace(v.PostFormValue("token")))
	if errors.Is(err, reverie.ErrUnauthorized) {
		s.render(v, http.StatusUnauthorized, s.looks["login"]()[v.lang],
			view{visit: v, Kind: "login.title", Data: loginView{Next: next, Bad: true}})
		return "", errAnswered
	}
	if err != nil {
		return "", err
	}
	v.setCookie(api.SessionCookie, session, expires, 0)
	return next, nil
}

// errAnswered says that a form has been answered already.
var errAnswered = errors.New("answered")

func (s *site) logout(v *visit) (string, error) {
	if err := s.Logout(v.Context(), api.SessionOf(v.Context())); err != nil {
		return "", err
	}
	v.setCookie(api.SessionCookie, "", time.Time{}, -1)
	v.notify("notice.logged_out")
	return loginURL, nil
}
