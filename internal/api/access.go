// Package api implements the operations for bots, agents and people outside, each with its permission check and
// independent of a protocol. Its subpackages implement protocols: rest (HTTP and OpenAPI), web (pages), mcp; server
// serves them on a port.
package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
)

// Caller is the sender of a request: what its token lets it see and do.
type Caller struct {
	TokenID string // "" if no token is needed
	Name    string // of the token, for people
	GroupID string // "" = all groups
	Scope   reverie.Scope
}

// Anyone is the caller as long as no token exists, only on this machine.
var Anyone = Caller{Name: "local", Scope: reverie.ScopeAdmin}

// Sees reports whether a group exists from the caller's point of view.
func (c Caller) Sees(groupID string) bool { return c.GroupID == "" || c.GroupID == groupID }

// Within returns the caller confined to one group; "" confines no further. The error for a group that it does not
// see is a [reverie.ErrNotFound].
func (c Caller) Within(groupID string) (Caller, error) {
	if groupID == "" {
		return c, nil
	}
	if !c.Sees(groupID) {
		return Caller{}, fmt.Errorf("group %q: %w", groupID, reverie.ErrNotFound)
	}
	c.GroupID = groupID
	return c, nil
}

type callerKey struct{}

// WithCaller returns a context with a caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the context's caller; ok is false if there is none.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// allowed checks that the caller has a scope in a group; with "", the group follows later from the request. It
// returns the group to which the request is confined.
//
// Without a caller the error is a [reverie.ErrUnauthorized]. For another group it is a [reverie.ErrNotFound] with
// the text for a missing one. If the scope is too small, it is a [reverie.ErrForbidden].
func allowed(ctx context.Context, groupID string, scope reverie.Scope) (confined string, err error) {
	c, ok := CallerOf(ctx)
	switch {
	case !ok || c.Scope == "":
		return "", reverie.ErrUnauthorized
	case groupID != "" && !c.Sees(groupID):
		return "", fmt.Errorf("group %q: %w", groupID, reverie.ErrNotFound)
	case !c.Scope.Covers(scope):
		return "", fmt.Errorf("this needs a token of scope %s, and this one's is %s: %w", scope, c.Scope, reverie.ErrForbidden)
	case groupID == "":
		return c.GroupID, nil
	}
	return groupID, nil
}

// reading is allowed for reads. It returns a context in which the database shows only what the caller may see, or
// only the requested group (see [store.AsReader]). The checks validate the request; they only count if the caller
// has permission.
func reading(ctx context.Context, groupID string, scope reverie.Scope,
	checks ...error) (reader context.Context, confined string, err error) {
	if confined, err = allowed(ctx, groupID, scope); err == nil {
		err = errors.Join(checks...)
	}
	if err != nil {
		return ctx, "", err
	}
	if confined == "" {
		return store.AsReaderOfAll(ctx), "", nil
	}
	return store.AsReader(ctx, confined), confined, nil
}

// readingOf is reading for something with an id, or its beginning, in a group or, with "", in any that the caller
// may see. It returns the full id.
func (s *Service) readingOf(ctx context.Context, kind reverie.IDKind, groupID,
	id string) (reader context.Context, confined, whole string, err error) {
	if reader, confined, err = reading(ctx, groupID, reverie.ScopeRead); err == nil {
		whole, err = s.Store.WholeID(reader, kind, confined, id)
	}
	return reader, confined, whole, err
}

// defaultPageSession is the default duration of a login.
const defaultPageSession = 12 * time.Hour

// Login logs the bearer of a token into the operator's page. The session is the value of a cookie, and is never
// shown again. It is valid until expires, as long as its token is valid. For an invalid token the error is
// reverie.ErrUnauthorized.
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

// Logout ends a session; an unknown one is over already.
func (s *Service) Logout(ctx context.Context, session string) error {
	return s.Store.EndPageSession(ctx, hash(session))
}

// CallerOfSession returns the caller of a session: its token's bearer. If the session is over or its token is
// invalid, the error is reverie.ErrUnauthorized.
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

// WithSession returns the context of a request with a session's cookie.
func WithSession(ctx context.Context, session string) context.Context {
	return context.WithValue(ctx, sessionKey{}, session)
}

// SessionOf returns the session of a request, "" if there is none: nobody is logged in, or no token is needed.
func SessionOf(ctx context.Context) string {
	session, _ := ctx.Value(sessionKey{}).(string)
	return session
}

// processSecret signs forms if no login is needed.
var processSecret = random(secretLength)

// FormToken returns the token in a session's forms, which keeps other sites from sending them. It does not reveal
// the session, which is "" without a login.
func FormToken(session string) string {
	if session == "" {
		session = processSecret
	}
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// IsFormToken reports whether the token of a form belongs to the session.
func IsFormToken(session, given string) bool {
	return subtle.ConstantTimeCompare([]byte(FormToken(session)), []byte(given)) == 1
}

// A token consists of rvr_, an id for finding it, and a secret of 256 bits. It has only letters and digits, so that
// a double click selects it and a shell needs no quotes.
const (
	tokenPrefix  = "rvr_"
	idLength     = 12
	secretLength = 43
)

var tokenPattern = text.NewPattern(`^` + tokenPrefix + `([A-Za-z0-9]{12})_[A-Za-z0-9]{43}$`)

var tokenAnywhere = text.NewPattern(tokenPrefix + `([A-Za-z0-9]{12})_[A-Za-z0-9]{43}`)

// WithoutTokens removes the secrets of tokens from a text for the log.
func WithoutTokens(s string) string {
	return tokenAnywhere.ReplaceAllString(s, tokenPrefix+"${1}_[secret]")
}

// maxTokenName bounds the name of a token, in characters.
const maxTokenName = 100

// NewToken has the settings of a new token.
type NewToken struct {
	GroupID   string // "" = all groups
	Name      string
	Scope     reverie.Scope
	ExpiresAt *time.Time // nil: never
}

// CreateToken creates a token and returns it in full, for the only time: only a hash of its secret is stored. It is
// for the owner of the database, and checks no caller. A missing group is a reverie.ErrNotFound.
func (s *Service) CreateToken(ctx context.Context, n NewToken) (whole string, token reverie.Token, err error) {
	if err := n.check(s.now()); err != nil {
		return "", reverie.Token{}, err
	}
	if n.GroupID != "" {
		if _, err := s.Store.Group(ctx, n.GroupID); err != nil {
			return "", reverie.Token{}, err
		}
	}
	id := random(idLength)
	whole = tokenPrefix + id + "_" + random(secretLength)
	token = reverie.Token{GroupID: n.GroupID, ID: id, Name: n.Name, Scope: n.Scope, SHA256: hash(whole),
		CreatedAt: s.now(), ExpiresAt: n.ExpiresAt}
	return whole, token, s.Store.AddToken(ctx, token)
}

func (n NewToken) check(now time.Time) error {
	if _, err := reverie.ReadScope(string(n.Scope)); err != nil {
		return err
	}
	if !text.Storable(n.Name) || utf8.RuneCountInString(n.Name) > maxTokenName {
		return fmt.Errorf("a token's name has at most %d characters: %w", maxTokenName, reverie.ErrInvalid)
	}
	if n.ExpiresAt != nil && !n.ExpiresAt.After(now) {
		return fmt.Errorf("it would have expired on %s already: %w", n.ExpiresAt.UTC().Format(time.RFC3339), reverie.ErrInvalid)
	}
	return nil
}

// CallerOfToken returns the caller of a token. If it is unknown, revoked or expired, the error is
// reverie.ErrUnauthorized, with a text that does not say which.
func (s *Service) CallerOfToken(ctx context.Context, whole string) (Caller, error) {
	token, err := s.goodToken(ctx, whole)
	if err != nil {
		return Caller{}, err
	}
	return s.use(ctx, token), nil
}

var errToken = fmt.Errorf("this token is unknown, expired or revoked: %w", reverie.ErrUnauthorized)

// goodToken looks a token up. The comparison takes as long for an unknown one.
func (s *Service) goodToken(ctx context.Context, whole string) (reverie.Token, error) {
	parts := tokenPattern.FindStringSubmatch(whole)
	if parts == nil {
		return reverie.Token{}, errToken
	}
	token, err := s.lookups.token(ctx, parts[1], s.Store.Token)
	if err != nil && !errors.Is(err, reverie.ErrNotFound) {
		return reverie.Token{}, err
	}
	if err != nil {
		token = reverie.Token{SHA256: make([]byte, sha256.Size), RevokedAt: new(time.Time)}
	}
	if same := subtle.ConstantTimeCompare(hash(whole), token.SHA256) == 1; !same || !token.Good(s.now()) {
		return reverie.Token{}, errToken
	}
	return token, nil
}

// use records the use of a token. A failure to record it is ignored, so that a read-only server can still be read.
func (s *Service) use(ctx context.Context, token reverie.Token) Caller {
	if err := s.Store.UseToken(ctx, token, s.now()); err != nil && s.Log != nil {
		s.Log.Warn("the use of a token could not be noted", "token_id", token.ID, "error", err)
	}
	return Caller{TokenID: token.ID, Name: token.Name, GroupID: token.GroupID, Scope: token.Scope}
}

func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// random returns uniformly random letters and digits.
func random(length int) string {
	most := new(big.Int).Exp(big.NewInt(62), big.NewInt(int64(length)), nil)
	n, err := rand.Int(rand.Reader, most)
	if err != nil {
		panic(err) // unreachable: without randomness, crypto/rand ends the process
	}
	text := n.Text(62)
	return strings.Repeat("0", length-len(text)) + text
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// SessionCookie is the name of the cookie with a login's session: web sets it, and server reads it, only below
// /ui/.
const SessionCookie = "reverie_session"
