package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"reverie/internal/reverie"
)

// defaultPageSession is how long a login is good for where nothing else is configured.
const defaultPageSession = 12 * time.Hour

// Login lets the bearer of a token into the operator's page. The session is the value of
// a cookie, and is shown for the only time. It is good until expires, as long as its token
// is. What is no good token is reverie.ErrUnauthorized.
func (s *Service) Login(ctx context.Context, token string) (session string, expires time.Time, err error) {
	good, err := s.goodToken(ctx, token)
	if err != nil {
		return "", time.Time{}, err
	}
	s.use(ctx, good)
	lifetime := s.PageSession
	if lifetime <= 0 {
		lifetime = defaultPageSession
	}
	expires = s.now().Add(lifetime)
	if good.ExpiresAt != nil && good.ExpiresAt.Before(expires) {
		expires = *good.ExpiresAt
	}
	session = random(secretLength)
	return session, expires, s.Store.AddPageSession(ctx, reverie.PageSession{GroupID: good.GroupID, SHA256: hash(session),
		TokenID: good.ID, CreatedAt: s.now(), ExpiresAt: expires})
}

// Logout ends a session. One that is unknown is over already.
func (s *Service) Logout(ctx context.Context, session string) error {
	return s.Store.EndPageSession(ctx, hash(session))
}

// CallerOfSession returns who asks with a session: its token's bearer. A session that is
// over, or whose token is no longer good, is reverie.ErrUnauthorized.
func (s *Service) CallerOfSession(ctx context.Context, session string) (Caller, error) {
	p, token, err := s.Store.PageSession(ctx, hash(session))
	if err != nil && !errors.Is(err, reverie.ErrNotFound) {
		return Caller{}, err
	}
	if now := s.now(); err != nil || !now.Before(p.ExpiresAt) || !token.Good(now) {
		return Caller{}, fmt.Errorf("this login is over: %w", reverie.ErrUnauthorized)
	}
	return s.use(ctx, token), nil
}

type sessionKey struct{}

// WithSession is a context of a request that came with a session's cookie.
func WithSession(ctx context.Context, session string) context.Context {
	return context.WithValue(ctx, sessionKey{}, session)
}

// SessionOf returns the session that a request came with, "" if there is none: nobody is
// logged in, or no token is needed.
func SessionOf(ctx context.Context) string {
	session, _ := ctx.Value(sessionKey{}).(string)
	return session
}

// processSecret is what the forms of those who need no login are signed with.
var processSecret = random(secretLength)

// FormToken is what the forms of a session carry, so that no other site can send them. It
// tells nothing of the session. Where nobody logs in, session is "".
func FormToken(session string) string {
	if session == "" {
		session = processSecret
	}
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// IsFormToken tells whether a form that was sent is one of the session.
func IsFormToken(session, given string) bool {
	return subtle.ConstantTimeCompare([]byte(FormToken(session)), []byte(given)) == 1
}
