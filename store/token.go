package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"reverie/internal/reverie"
)

const (
	tokenColumns = `group_id, token_id, name, scope, sha256, created_at, expires_at, revoked_at, last_used_at`

	tokenQuery     = `select ` + tokenColumns + ` from api_tokens where token_id = $1`
	hasTokensQuery = `select exists (select 1 from api_tokens)`

	// Who finds another one noting the use leaves it to that one.
	useTokenQuery = `update api_tokens set last_used_at = $3::timestamptz where group_id = $1 and token_id in (
		select token_id from api_tokens where group_id = $1 and token_id = $2
			and (last_used_at is null or last_used_at <= $4::timestamptz) for update skip locked)`
)

// useEvery is how often the use of a token is noted at most.
const useEvery = time.Minute

// AddToken keeps a token that was made. Another of its id is reverie.ErrConflict.
func (s *Store) AddToken(ctx context.Context, token reverie.Token) error {
	return s.run(ctx, work{
		what: fmt.Sprintf("keep token %s", token.ID),
		do: func(ctx context.Context, t *tx) error { // may be repeated: the same secret is the same token
			n, err := t.exec(ctx, `insert into api_tokens (`+tokenColumns+`)
				values ($1, $2, $3, $4, $5, $6::timestamptz, $7::timestamptz, null, null)
				on conflict (group_id, token_id) do update set name = excluded.name where api_tokens.sha256 = excluded.sha256`,
				token.GroupID, token.ID, storable(token.Name), string(token.Scope), token.SHA256, timestamp(token.CreatedAt), orNullTimestamp(token.ExpiresAt))
			if err == nil && n == 0 {
				err = fmt.Errorf("there is another of that id: %w", reverie.ErrConflict)
			}
			return err
		},
	})
}

// Tokens returns the tokens that let one into a group, its own and those of all groups;
// all there are where groupID is "". The oldest are first.
func (s *Store) Tokens(ctx context.Context, groupID string) ([]reverie.Token, error) {
	var list []reverie.Token
	err := s.run(asLogin(ctx), work{what: "read tokens", readOnly: true, do: func(ctx context.Context, t *tx) error {
		list = nil
		return t.list(ctx, &list, `select `+tokenColumns+` from api_tokens where $1 = '' or group_id in ('', $1)
			order by created_at, token_id`, groupID)
	}})
	for i := range list {
		list[i] = inUTC(list[i])
	}
	return list, err
}

// Token returns a token by its id, good or not. An unknown one is reverie.ErrNotFound.
func (s *Store) Token(ctx context.Context, id string) (reverie.Token, error) {
	var token reverie.Token
	err := s.look(asLogin(ctx), "read a token", &token, tokenQuery, storable(id))
	if errors.Is(err, sql.ErrNoRows) {
		return token, fmt.Errorf("token %q: %w", id, reverie.ErrNotFound)
	}
	return inUTC(token), err
}

// HasTokens tells whether a token was ever made, revoked or not.
func (s *Store) HasTokens(ctx context.Context) (bool, error) {
	var found bool
	err := s.look(asLogin(ctx), "look for tokens", &found, hasTokensQuery)
	return found, err
}

// RevokeToken ends a token for good, and the logins that were made with it. One that is
// revoked stays as it is; an unknown one is reverie.ErrNotFound.
func (s *Store) RevokeToken(ctx context.Context, id string) (reverie.Token, error) {
	var token reverie.Token
	err := s.run(ctx, work{what: fmt.Sprintf("revoke token %q", id), do: func(ctx context.Context, t *tx) error {
		token = reverie.Token{}
		err := t.get(ctx, &token, `update api_tokens set revoked_at = coalesce(revoked_at, $2::timestamptz) where token_id = $1
			returning `+tokenColumns, storable(id), timestamp(s.now()))
		if err != nil {
			return one(err, "token %q", id)
		}
		_, err = t.exec(ctx, `delete from page_sessions where group_id = $1 and token_id = $2`, token.GroupID, token.ID)
		return err
	}})
	return inUTC(token), err
}

// UseToken notes that a token was used, unless that was noted within the last minute.
func (s *Store) UseToken(ctx context.Context, token reverie.Token, at time.Time) error {
	if token.LastUsedAt != nil && at.Sub(*token.LastUsedAt) < useEvery {
		return nil
	}
	return s.run(ctx, work{what: fmt.Sprintf("note the use of token %s", token.ID), do: func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, useTokenQuery, token.GroupID, token.ID, timestamp(at), timestamp(at.Add(-useEvery)))
		return err
	}})
}

func inUTC(t reverie.Token) reverie.Token {
	t.CreatedAt = t.CreatedAt.UTC()
	t.ExpiresAt, t.RevokedAt, t.LastUsedAt = utc(t.ExpiresAt), utc(t.RevokedAt), utc(t.LastUsedAt)
	return t
}
