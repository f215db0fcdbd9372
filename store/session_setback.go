package store

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	lockSetbackQuery = `select ` + sessionColumns + ` from sessions where group_id = $1
		and session_id = $2 for no key update`

	sessionFailureQuery = `update sessions set failures = $3, failure = $4, retry_at = $5::timestamptz,
		parked_at = $6::timestamptz
		where group_id = $1 and session_id = $2`

	foldFailureQuery = `update sessions set fold_failures = $3, fold_retry_at = $4::timestamptz where group_id = $1
		and session_id = $2`

	setBackSessionsQuery = `select ` + sessionColumns + ` from sessions
		where group_id = $1 and (failures > 0 or fold_failures > 0) order by last_at, session_id for no key update`

	forgetFailures = `update sessions set failures = 0, failure = '', retry_at = null, parked_at = null,
		fold_failures = 0, fold_retry_at = null
		where (failures > 0 or fold_failures > 0) and `
)

// NoteSession counts one more failure in a row to extract a session and returns what
// the rule makes of it: the session is left alone for a while, or parked. The
// extraction of any of its messages forgets it. Each call counts once, whatever
// becomes of its connection. An unknown session is reverie.ErrNotFound.
func (s *Store) NoteSession(ctx context.Context, groupID, sessionID, reason string,
	rule reverie.ParkRule) (reverie.Setback, error) {
	var noted reverie.Setback
	err := s.noteSession(ctx, groupID, sessionID, func(ctx context.Context, t *pg.Tx, session reverie.Session) error {
		noted = rule.Next(setbackOf(session), pg.ValidText(reason), s.db.Now())
		noted.RetryAt = noted.RetryAt.Truncate(time.Microsecond)
		_, err := t.Exec(ctx, sessionFailureQuery, groupID, sessionID, noted.Failures, noted.Error, noted.RetryAt,
			noted.ParkedAt)
		return err
	})
	return noted, err
}

// NoteFold is [Store.NoteSession] for the session's fold, which is never parked: it
// returns when it is tried again. A fold that succeeds forgets it.
func (s *Store) NoteFold(ctx context.Context, groupID, sessionID string, rule reverie.ParkRule) (time.Time, error) {
	var retry time.Time
	err := s.noteSession(ctx, groupID, sessionID, func(ctx context.Context, t *pg.Tx, session reverie.Session) error {
		next := rule.Next(reverie.Setback{Failures: session.FoldFailures}, "", s.db.Now())
		retry = next.RetryAt.Truncate(time.Microsecond).UTC()
		_, err := t.Exec(ctx, foldFailureQuery, groupID, sessionID, next.Failures, retry)
		return err
	})
	return retry, err
}

func (s *Store) noteSession(ctx context.Context, groupID, sessionID string, note func(context.Context, *pg.Tx,
	reverie.Session) error) error {
	var xid string
	return s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("note that session %q of group %q failed", sessionID, groupID),
		Do: func(ctx context.Context, t *pg.Tx) error {
			var session reverie.Session
			if err := t.Get(ctx, &session, lockSetbackQuery, groupID,
				sessionID); err != nil { // two that fail at a time count as two
				return pg.NotFoundIfEmpty(err, "session %q of group %q", sessionID, groupID)
			}
			if err := note(ctx, t, utcSession(session)); err != nil {
				return err
			}
			return t.Get(ctx, &xid, pg.XIDQuery)
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			if err := lockSession(ctx, t, groupID, sessionID); err != nil {
				return false, err
			}
			return pg.WasCommitted(ctx, t, xid)
		},
	})
}

// forgetSessions forgets the failures of a group's sessions and returns what they
// had led to.
func forgetSessions(ctx context.Context, t *pg.Tx, groupID string) ([]reverie.Setback, error) {
	var list []reverie.Session
	if err := t.Select(ctx, &list, setBackSessionsQuery, groupID); err != nil || len(list) == 0 {
		return nil, err
	}
	var gone []reverie.Setback
	for _, session := range utcSessions(list) {
		if session.Failures > 0 {
			gone = append(gone, setbackOf(session))
		}
	}
	_, err := t.Exec(ctx, forgetFailures+`group_id = $1`, groupID)
	return gone, err
}

// setbackOf is what repeated failure to extract a session has led to.
func setbackOf(s reverie.Session) reverie.Setback {
	b := reverie.Setback{GroupID: s.GroupID, SessionID: s.ID, Job: reverie.JobExtract, Failures: s.Failures,
		Error: s.Failure, ParkedAt: s.ParkedAt}
	if s.RetryAt != nil {
		b.RetryAt = *s.RetryAt
	}
	return b
}
