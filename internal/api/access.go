// Package api is what bots, agents and people ask of Reverie from outside: the
// operations, each with the check of who may do it, and without any protocol. The rooms
// in it speak one each: rest (HTTP and OpenAPI), web (pages), mcp; server puts them on a
// port.
package api

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
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
// [store.AsReader]).
func reading(ctx context.Context, groupID string, scope reverie.Scope) (reader context.Context, confined string, err error) {
	if confined, err = allowed(ctx, groupID, scope); err != nil {
		return ctx, "", err
	}
	if confined == "" {
		return store.AsReaderOfAll(ctx), "", nil
	}
	return store.AsReader(ctx, confined), confined, nil
}
