package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// A token is rvr_, an id that finds it, and a secret of 256 bits. It is of letters and
// digits, so that it can be marked with a double click and written behind a command.
const (
	tokenPrefix  = "rvr_"
	idLength     = 12
	secretLength = 43
)

var tokenPattern = text.NewPattern(`^` + tokenPrefix + `([A-Za-z0-9]{12})_[A-Za-z0-9]{43}$`)

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
	if !utf8.ValidString(n.Name) || strings.ContainsRune(n.Name, 0) || utf8.RuneCountInString(n.Name) > maxTokenName {
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

var errToken = fmt.Errorf("this token is not, or no longer, good: %w", reverie.ErrUnauthorized)

// goodToken looks a token up. What is compared takes as long for one that is unknown.
func (s *Service) goodToken(ctx context.Context, whole string) (reverie.Token, error) {
	parts := tokenPattern.FindStringSubmatch(whole)
	if parts == nil {
		return reverie.Token{}, errToken
	}
	token, err := s.Store.Token(ctx, parts[1])
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

func (s *Service) now() time.Time {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	return now().UTC().Truncate(time.Microsecond)
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// random is so many letters and digits, each as likely as any other.
func random(length int) string {
	text := make([]byte, 0, length)
	for b := make([]byte, 64); ; {
		_, _ = rand.Read(b) // it never fails
		for _, c := range b {
			if c >= 4*byte(len(letters)) {
				continue // it would make the first letters likelier
			}
			if text = append(text, letters[int(c)%len(letters)]); len(text) == length {
				return string(text)
			}
		}
	}
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
