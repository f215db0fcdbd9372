package reverie

import (
	"fmt"
	"slices"
	"time"
)

// Scope says what the bearer of a token may do. Each covers those before it.
type Scope string

// The scopes of a token.
const (
	ScopeRead  Scope = "read"  // look at everything; have contexts made
	ScopeWrite Scope = "write" // bring messages in, report answers, edit memories, evolve
	ScopeAdmin Scope = "admin" // decide on what is held, and on what is taken back
)

// Scopes are all scopes, the least first.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeAdmin}

// Covers tells whether a scope allows what another one does. What is no scope covers
// nothing.
func (s Scope) Covers(other Scope) bool {
	asked := slices.Index(Scopes, other)
	return asked >= 0 && slices.Index(Scopes, s) >= asked
}

// ReadScope reads the name of a scope.
func ReadScope(s string) (Scope, error) {
	if !slices.Contains(Scopes, Scope(s)) {
		return "", fmt.Errorf("scope %q: give read, write or admin: %w", s, ErrInvalid)
	}
	return Scope(s), nil
}

// Token lets a program or a person use the API, in one group or in all of them. Of the
// secret only its hash is kept.
type Token struct {
	GroupID    string     `db:"group_id" json:"group_id"` // "" = all groups
	ID         string     `db:"token_id" json:"token_id"`
	Name       string     `db:"name" json:"name"` // what a person calls it
	Scope      Scope      `db:"scope" json:"scope"`
	SHA256     []byte     `db:"sha256" json:"-"` // of the whole token, as it was shown once
	CreatedAt  time.Time  `db:"created_at" json:"created_at"`
	ExpiresAt  *time.Time `db:"expires_at" json:"expires_at"` // nil: never
	RevokedAt  *time.Time `db:"revoked_at" json:"revoked_at"`
	LastUsedAt *time.Time `db:"last_used_at" json:"last_used_at"` // to the minute
}

// Good tells whether a token is accepted at an instant.
func (t Token) Good(now time.Time) bool {
	return t.RevokedAt == nil && (t.ExpiresAt == nil || now.Before(*t.ExpiresAt))
}

// PageSession is a login to the operator's page: it is as good as its token. Of the
// cookie only its hash is kept.
type PageSession struct {
	GroupID   string    `db:"group_id"` // of the token
	SHA256    []byte    `db:"sha256"`   // of the cookie's value
	TokenID   string    `db:"token_id"`
	CreatedAt time.Time `db:"created_at"`
	ExpiresAt time.Time `db:"expires_at"`
}
