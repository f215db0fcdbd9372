// Package api is what bots, agents and people ask of Reverie from outside: the
// operations, each with the check of who may do it, and without any protocol. The rooms
// in it speak one each: rest (HTTP and OpenAPI), web (pages), mcp; server puts them on a
// port.
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

// Caller is who asks: what its token lets it see and do.
type Caller struct {
	TokenID string // "" where no token is needed
	Name    string // of the token, for people
	GroupID string // "" = all groups
	Scope   reverie.Scope
}

// Anyone is who asks where no token was ever created, on this machine alone.
var Anyone = Caller{Name: "local", Scope: reverie.ScopeAdmin}

// Sees tells whether a group exists as far as the caller is concerned.
func (c Caller) Sees(groupID string) bool { return c.GroupID == "" || c.GroupID == groupID }

// Within is the caller confined to one group, "" for no less than it sees already. A group
// that it does not see is a [reverie.ErrNotFound].
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

// WithCaller is a context in which it is c who asks.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns who asks, false where nobody has said so.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// allowed checks that whoever asks may do what needs a scope, in a group or, where it is
// "", in whichever group the rest of the question leads to. It returns the group that
// the question is confined to.
//
// Nobody is a [reverie.ErrUnauthorized]. Another group's is a [reverie.ErrNotFound], in
// the words for one that does not exist. Too small a scope is a [reverie.ErrForbidden].
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

// reading is allowed for what only reads, with the context to read in: the database
// shows it what the caller may see, or the group that is asked for, and nothing else (see
// [store.AsReader]). The checks are of the question itself, and are of no account where the
// caller may not ask it.
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

// readingOf is reading for what has an id, or the beginning of one, in a group or, where
// that is "", in whichever the caller may see. It returns the whole id.
func (s *Service) readingOf(ctx context.Context, kind reverie.IDKind, groupID,
	id string) (reader context.Context, confined, whole string, err error) {
	if reader, confined, err = reading(ctx, groupID, reverie.ScopeRead); err == nil {
		whole, err = s.Store.WholeID(reader, kind, confined, id)
	}
	return reader, confined, whole, err
}

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

// A token is rvr_, an id that finds it, and a secret of 256 bits. It is of letters and
// digits, so that it can be marked with a double click and written behind a command.
const (
	tokenPrefix  = "rvr_"
	idLength     = 12
	secretLength = 43
)

var tokenPattern = text.NewPattern(`^` + tokenPrefix + `([A-Za-z0-9]{12})_[A-Za-z0-9]{43}$`)

var tokenAnywhere = text.NewPattern(tokenPrefix + `([A-Za-z0-9]{12})_[A-Za-z0-9]{43}`)

// WithoutTokens is a text for the log, with the secrets of the tokens in it cut out.
func WithoutTokens(s string) string {
	return tokenAnywhere.ReplaceAllString(s, tokenPrefix+"${1}_[secret]")
}

// maxTokenName bounds what a person calls a token, in characters.
const maxTokenName = 100

// NewToken says what a token is to be.
type NewToken struct {
	GroupID   string // "" = all groups
	Name      string
	Scope     reverie.Scope
	ExpiresAt *time.Time // nil: never
}

// CreateToken makes a token and returns it whole, for the only time: of its secret
// nothing but a hash is kept. It is for whoever has the database, and asks for no
// caller. A group that does not exist is a reverie.ErrNotFound.
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

// CallerOfToken returns who asks with a token. One that is unknown, revoked or over is
// reverie.ErrUnauthorized, in words that do not say which.
func (s *Service) CallerOfToken(ctx context.Context, whole string) (Caller, error) {
	token, err := s.goodToken(ctx, whole)
	if err != nil {
		return Caller{}, err
	}
	return s.use(ctx, token), nil
}

var errToken = fmt.Errorf("this token is unknown, expired or revoked: %w", reverie.ErrUnauthorized)

// goodToken looks a token up. What is compared takes as long for one that is unknown.
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

// use notes that a token is used. That it could not be noted stops nobody: a server that
// takes no writes can still be read.
func (s *Service) use(ctx context.Context, token reverie.Token) Caller {
	if err := s.Store.UseToken(ctx, token, s.now()); err != nil && s.Log != nil {
		s.Log.Warn("the use of a token could not be noted", "token_id", token.ID, "error", err)
	}
	return Caller{TokenID: token.ID, Name: token.Name, GroupID: token.GroupID, Scope: token.Scope}
}

func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// random is so many letters and digits, each as likely as any other.
func random(length int) string {
	most := new(big.Int).Exp(big.NewInt(62), big.NewInt(int64(length)), nil)
	n, err := rand.Int(rand.Reader, most)
	if err != nil {
		panic(err) // the system has no randomness: crypto/rand ends the process itself
	}
	text := n.Text(62)
	return strings.Repeat("0", length-len(text)) + text
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// SessionCookie is the name of the cookie that holds a login's session: web sets it, and
// server reads it, below /ui/ alone.
const SessionCookie = "reverie_session"
