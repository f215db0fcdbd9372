package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
)

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
