package reverie

import (
	"fmt"
	"slices"
	"time"
)

// Scope is what the bearer of a token may do. Each scope includes the earlier ones.
type Scope string

// The scopes of a token.
const (
	ScopeRead  Scope = "read"  // read everything; request contexts
	ScopeWrite Scope = "write" // import messages, report answers, edit memories, run evolve
	ScopeAdmin Scope = "admin" // approve held plans, undo runs
)

// Scopes are all scopes, weakest first.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeAdmin}

// Covers reports whether a scope includes another one. An unknown scope includes nothing.
func (s Scope) Covers(other Scope) bool {
	asked := slices.Index(Scopes, other)
	return asked >= 0 && slices.Index(Scopes, s) >= asked
}

// ReadScope parses a scope.
func ReadScope(s string) (Scope, error) {
	if !slices.Contains(Scopes, Scope(s)) {
		return "", fmt.Errorf("scope %q: give read, write or admin: %w", s, ErrInvalid)
	}
	return Scope(s), nil
}

// Token lets a program or a person use the API, in one group or in all. Only the hash of its secret is stored.
type Token struct {
	GroupID    string     `db:"group_id" json:"group_id"` // "" = all groups
	ID         string     `db:"token_id" json:"token_id"`
	Name       string     `db:"name" json:"name"` // chosen by a person
	Scope      Scope      `db:"scope" json:"scope"`
	SHA256     []byte     `db:"sha256" json:"-"` // of the whole token, which was shown once
	CreatedAt  time.Time  `db:"created_at" json:"created_at"`
	ExpiresAt  *time.Time `db:"expires_at" json:"expires_at"` // nil: never
	RevokedAt  *time.Time `db:"revoked_at" json:"revoked_at"`
	LastUsedAt *time.Time `db:"last_used_at" json:"last_used_at"` // to the minute
}

// Good reports whether a token is valid at an instant.
func (t Token) Good(now time.Time) bool {
	return t.RevokedAt == nil && (t.ExpiresAt == nil || now.Before(*t.ExpiresAt))
}

// PageSession is a login to the operator's page. It is valid as long as its token. Only the hash of its cookie is
// stored.
type PageSession struct {
	GroupID   string    `db:"group_id"` // of the token
	SHA256    []byte    `db:"sha256"`   // of the cookie's value
	TokenID   string    `db:"token_id"`
	CreatedAt time.Time `db:"created_at"`
	ExpiresAt time.Time `db:"expires_at"`
}
