package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// pageSessionQuery finds a login and its token in one round trip.
const pageSessionQuery = `select s.group_id, s.sha256, s.token_id, s.created_at, s.expires_at,
		t.group_id "token.group_id", t.token_id "token.token_id", t.name "token.name", t.scope "token.scope",
			t.sha256 "token.sha256",
		t.created_at "token.created_at", t.expires_at "token.expires_at", t.revoked_at "token.revoked_at",
			t.last_used_at "token.last_used_at"
	from page_sessions s join api_tokens t on t.group_id = s.group_id and t.token_id = s.token_id where s.sha256 = $1`

// AddPageSession keeps a login to the page, and forgets those of its group that are over.
func (s *Store) AddPageSession(ctx context.Context, p reverie.PageSession) error {
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("log in with token %s", p.TokenID), Do: func(ctx context.Context,
		t *pg.Tx) error {
		if _, err := t.Exec(ctx, `delete from page_sessions where group_id = $1 and expires_at <= $2::timestamptz`,
			p.GroupID, pg.Timestamp(p.CreatedAt)); err != nil {
			return err
		}
		// Again, if the reply to the first commit was lost, it changes nothing.
		_, err := t.Exec(ctx, `insert into page_sessions (group_id, sha256, token_id, created_at, expires_at)
			values ($1, $2, $3, $4::timestamptz, $5::timestamptz) on conflict (group_id, sha256) do nothing`,
			p.GroupID, p.SHA256, p.TokenID, pg.Timestamp(p.CreatedAt), pg.Timestamp(p.ExpiresAt))
		return err
	}})
}

// PageSession returns the login of a cookie's hash with its token, over or not. An unknown
// one is reverie.ErrNotFound.
func (s *Store) PageSession(ctx context.Context, sha256 []byte) (reverie.PageSession, reverie.Token, error) {
	var row struct {
		reverie.PageSession
		Token reverie.Token `db:"token"`
	}
	err := s.db.QueryRow(asLogin(ctx), "read a login", &row, pageSessionQuery, sha256)
	if errors.Is(err, sql.ErrNoRows) {
		return reverie.PageSession{}, reverie.Token{}, fmt.Errorf("this login: %w", reverie.ErrNotFound)
	}
	row.CreatedAt, row.ExpiresAt = row.CreatedAt.UTC(), row.ExpiresAt.UTC()
	return row.PageSession, inUTC(row.Token), err
}

// EndPageSession forgets a login. That it is not there is no error.
func (s *Store) EndPageSession(ctx context.Context, sha256 []byte) error {
	return s.db.Run(ctx, pg.Work{What: "log out", Do: func(ctx context.Context, t *pg.Tx) error {
		_, err := t.Exec(ctx, `delete from page_sessions where sha256 = $1`, sha256)
		return err
	}})
}
