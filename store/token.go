package store

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	tokenColumns = `group_id, token_id, name, scope, sha256, created_at, expires_at, revoked_at, last_used_at`

	tokenQuery     = `select ` + tokenColumns + ` from api_tokens where token_id = $1`
	hasTokensQuery = `select exists (select 1 from api_tokens)`

	// If another process is noting the use, this one does nothing.
	useTokenQuery = `update api_tokens set last_used_at = $3::timestamptz where group_id = $1 and token_id in (
		select token_id from api_tokens where group_id = $1 and token_id = $2
			and (last_used_at is null or last_used_at <= $4::timestamptz) for update skip locked)`
)

// useEvery is the shortest interval between two notes of a token's use.
const useEvery = time.Minute

// AddToken stores a new token. Another token with its id is reverie.ErrConflict.
func (s *Store) AddToken(ctx context.Context, token reverie.Token) error {
	return s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("keep token %s", token.ID),
		Do: func(ctx context.Context, t *pg.Tx) error { // may be repeated: the same secret is the same token
			n, err := t.ExecRows(ctx, `insert into api_tokens (`+tokenColumns+`)
				values ($1, $2, $3, $4, $5, $6::timestamptz, $7::timestamptz, null, null)
				on conflict (group_id, token_id) do update set name = excluded.name where api_tokens.sha256 = excluded.sha256`,
				token.GroupID, token.ID, pg.ValidText(token.Name), string(token.Scope), token.SHA256,
				token.CreatedAt, token.ExpiresAt)
			if err == nil && n == 0 {
				err = fmt.Errorf("a token already has this id; create it again: %w", reverie.ErrConflict)
			}
			return err
		},
	})
}

// Tokens returns the tokens that allow access to a group, oldest first: its own and those for all groups. If groupID is
// "", it returns all tokens.
func (s *Store) Tokens(ctx context.Context, groupID string) ([]reverie.Token, error) {
	return pg.QueryAll[reverie.Token](asLogin(ctx), s.db, "read tokens", `select `+tokenColumns+` from api_tokens
		where $1 = '' or group_id in ('', $1) order by created_at, token_id`, groupID)
}

// Token returns a token by its id, valid or not. An unknown one is reverie.ErrNotFound.
func (s *Store) Token(ctx context.Context, id string) (reverie.Token, error) {
	var token reverie.Token
	err := s.db.QueryRow(asLogin(ctx), "read a token", &token, tokenQuery, pg.ValidText(id))
	return token, pg.NotFoundIfEmpty(err, "token %q", id)
}

// HasTokens reports whether a token was ever made, revoked or not.
func (s *Store) HasTokens(ctx context.Context) (bool, error) {
	var found bool
	err := s.db.QueryRow(asLogin(ctx), "look for tokens", &found, hasTokensQuery)
	return found, err
}

// RevokeToken revokes a token, and ends the logins that were made with it. A revoked token is not changed; an unknown
// one is reverie.ErrNotFound.
func (s *Store) RevokeToken(ctx context.Context, id string) (reverie.Token, error) {
	var token reverie.Token
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("revoke token %q", id), Do: func(ctx context.Context, t *pg.Tx) error {
		token = reverie.Token{}
		err := t.Get(ctx, &token, `update api_tokens set revoked_at = coalesce(revoked_at, $2::timestamptz)
			where token_id = $1
			returning `+tokenColumns, pg.ValidText(id), s.db.Now())
		if err != nil {
			return pg.NotFoundIfEmpty(err, "token %q", id)
		}
		return t.Exec(ctx, `delete from page_sessions where group_id = $1 and token_id = $2`, token.GroupID, token.ID)
	}})
	return token, err
}

// UseToken notes the use of a token, unless a use was noted within the last minute.
func (s *Store) UseToken(ctx context.Context, token reverie.Token, at time.Time) error {
	if token.LastUsedAt != nil && at.Sub(*token.LastUsedAt) < useEvery {
		return nil
	}
	return s.db.Exec(ctx, fmt.Sprintf("note the use of token %s", token.ID),
		useTokenQuery, token.GroupID, token.ID, at, at.Add(-useEvery))
}

// pageSessionQuery reads a login and its token in one round trip.
const pageSessionQuery = `select s.group_id, s.sha256, s.token_id, s.created_at, s.expires_at,
		t.group_id "token.group_id", t.token_id "token.token_id", t.name "token.name", t.scope "token.scope",
			t.sha256 "token.sha256",
		t.created_at "token.created_at", t.expires_at "token.expires_at", t.revoked_at "token.revoked_at",
			t.last_used_at "token.last_used_at"
	from page_sessions s join api_tokens t on t.group_id = s.group_id and t.token_id = s.token_id where s.sha256 = $1`

// AddPageSession stores a login to the page, and deletes the expired logins of its group.
func (s *Store) AddPageSession(ctx context.Context, p reverie.PageSession) error {
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("log in with token %s", p.TokenID), Do: func(ctx context.Context,
		t *pg.Tx) error {
		if err := t.Exec(ctx, `delete from page_sessions where group_id = $1 and expires_at <= $2::timestamptz`,
			p.GroupID, p.CreatedAt); err != nil {
			return err
		}
		// A retry after a lost reply to the commit changes nothing.
		return t.Exec(ctx, `insert into page_sessions (group_id, sha256, token_id, created_at, expires_at)
			values ($1, $2, $3, $4::timestamptz, $5::timestamptz) on conflict (group_id, sha256) do nothing`,
			p.GroupID, p.SHA256, p.TokenID, p.CreatedAt, p.ExpiresAt)
	}})
}

// PageSession returns the login with the hash of a cookie, and its token, expired or not. An unknown login is
// reverie.ErrNotFound.
func (s *Store) PageSession(ctx context.Context, sha256 []byte) (reverie.PageSession, reverie.Token, error) {
	var row struct {
		reverie.PageSession
		Token reverie.Token `db:"token"`
	}
	err := s.db.QueryRow(asLogin(ctx), "read a login", &row, pageSessionQuery, sha256)
	return row.PageSession, row.Token, pg.NotFoundIfEmpty(err, "this login")
}

// EndPageSession deletes a login. An unknown login is no error.
func (s *Store) EndPageSession(ctx context.Context, sha256 []byte) error {
	return s.db.Exec(ctx, "log out", `delete from page_sessions where sha256 = $1`, sha256)
}
