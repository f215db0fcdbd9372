package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// Answers to writes under a key are kept for as long as somebody might ask again, and
// no more of a team's than these.
const (
	keepTeamRequests = 7 * 24 * time.Hour
	maxTeamRequests  = 10_000
)

const (
	teamRequestQuery = `select body_sha256, answer from team_requests where group_id = $1 and request_key = $2`

	insertTeamRequestQuery = `insert into team_requests (group_id, request_key, body_sha256, lineage_id, answer,
		created_at)
		values ($1, $2, $3, $4::uuid, $5::jsonb, $6::timestamptz)`

	pruneTeamRequestsQuery = `delete from team_requests where group_id = $1 and created_at < greatest($2::timestamptz, (
		select created_at from team_requests where group_id = $1 order by created_at desc offset $3 limit 1))`
)

// teamAnswer is the answer that a write had when it was asked for under its key before,
// nil where it was not.
func teamAnswer(ctx context.Context, t *pg.Tx, groupID string, w reverie.TeamWrite) (*reverie.TeamMemory, error) {
	if w.RequestKey == "" {
		return nil, nil
	}
	var before struct {
		BodySHA256 string                      `db:"body_sha256"`
		Answer     pg.JSON[reverie.TeamMemory] `db:"answer"`
	}
	err := t.Get(ctx, &before, teamRequestQuery, groupID, w.RequestKey)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case before.BodySHA256 != w.BodySHA256:
		return nil, reverie.ErrKeyReused
	}
	return &before.Answer.V, nil
}

// keepTeamAnswer keeps the answer to a write that has a key, and drops old ones.
func (s *Store) keepTeamAnswer(ctx context.Context, t *pg.Tx, groupID string, w reverie.TeamWrite,
	m reverie.TeamMemory) error {
	if w.RequestKey == "" {
		return nil
	}
	at := s.db.Now()
	if _, err := t.Exec(ctx, pruneTeamRequestsQuery, groupID, at.Add(-keepTeamRequests), maxTeamRequests-2); err != nil {
		return err
	}
	_, err := t.Exec(ctx, insertTeamRequestQuery, groupID, w.RequestKey, w.BodySHA256, m.ID, pg.JSON[any]{V: m}, at)
	return err
}

// value is what a pointer points to, the zero value for nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
