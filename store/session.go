package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// sessionColumns are those of reverie.Session, under the names of its fields.
	sessionColumns = `group_id as groupid, session_id as id, cut, first_at as firstat, last_at as lastat, asking,
		messages as "total.messages", tokens as "total.tokens", tool_calls as "total.toolcalls", turns as "total.turns",
		new_messages as "new.messages", new_tokens as "new.tokens", new_tool_calls as "new.toolcalls",
			new_turns as "new.turns",
		folded_messages as "folded.messages", folded_tokens as "folded.tokens", folded_tool_calls as "folded.toolcalls",
		folded_turns as "folded.turns", extractions, extracted_until as extracteduntil, unfinished, failures, failure,
		retry_at as retryat, parked_at as parkedat, fold_failures as foldfailures, fold_retry_at as foldretryat,
			dreamt_until as dreamtuntil`

	sessionQuery = `select ` + sessionColumns + ` from sessions where group_id = $1 and session_id = $2`

	// Whoever changes what a session counts locks it first.
	lockSessionQuery = `select 1 from sessions where group_id = $1 and session_id = $2 for no key update`

	findSessionQuery = `select ` + sessionColumns + ` from sessions where session_id = $1 order by group_id`

	sessionFilter = ` from sessions where ($1 = '' or group_id = $1) and ($2 = '' or session_id = $2) and (not $3::bool
		or new_messages > 0)`

	summaryColumns = `group_id, session_id, summary, messages, turns, tokens, first_message_id, last_message_id,
		covers_since, covers_until,
		run_id, created_at, updated_at`

	summaryQuery = `select ` + summaryColumns + ` from session_summaries where group_id = $1 and session_id = $2`

	// Of the messages of a session, the newest.
	sessionMessagesQuery = `select ` + messageColumns + ` from messages where group_id = $1 and session_id = $2
		and session_id <> ''
		order by sent_at desc, seq desc limit nullif($3::int, 0)`

	// And of those that are not extracted.
	bufferQuery = `select ` + messageColumns + ` from (
			select m.*, u.sent_at as at from message_uses u join messages m on m.group_id = u.group_id
				and m.message_id = u.message_id
			where u.group_id = $1 and u.job = 'extract' and u.session_id = $2 and u.session_id <> '' and u.run_id is null) w
		order by at desc, seq desc limit nullif($3::int, 0)`
)

// Session returns a session of a group, or reverie.ErrNotFound.
func (s *Store) Session(ctx context.Context, groupID, sessionID string) (reverie.Session, error) {
	var session reverie.Session
	err := s.db.Run(ctx, pg.Work{What: "read a session", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		var err error
		session, err = getSession(ctx, t, groupID, sessionID)
		return err
	}})
	return session, err
}

// FindSession returns the sessions of that id, of any group, by group; one that is
// nowhere is reverie.ErrNotFound.
func (s *Store) FindSession(ctx context.Context, sessionID string) ([]reverie.Session, error) {
	var list []reverie.Session
	err := s.db.Run(ctx, pg.Work{What: "look for a session", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		list = nil
		err := t.Select(ctx, &list, findSessionQuery, sessionID)
		if err == nil && len(list) == 0 {
			return fmt.Errorf("session %q: %w", sessionID, reverie.ErrNotFound)
		}
		return err
	}})
	return utcSessions(list), err
}

// ListSessions returns a page of sessions, those with the latest message first, and
// how many there are in all. A limit of 0 is no limit; without a group all are
// listed. An unknown group is reverie.ErrNotFound.
func (s *Store) ListSessions(ctx context.Context, f reverie.SessionFilter) ([]reverie.Session, int, error) {
	var list []reverie.Session
	var total int
	err := s.db.Run(ctx, pg.Work{What: "list sessions", ReadOnly: true, Do: func(ctx context.Context, t *pg.Tx) error {
		list = nil
		if f.GroupID != "" {
			if _, err := GetGroup(ctx, t, f.GroupID); err != nil {
				return err
			}
		}
		if err := t.Get(ctx, &total, `select count(*)`+sessionFilter, f.GroupID, f.SessionID, f.Waiting); err != nil {
			return err
		}
		return t.Select(ctx, &list, `select `+sessionColumns+sessionFilter+` order by last_at desc, group_id, session_id
			limit nullif($4::int, 0) offset $5`,
			f.GroupID, f.SessionID, f.Waiting, f.Limit, f.Offset)
	}})
	return utcSessions(list), total, err
}

// SessionSummary returns the rolling summary of a session, nil where it has none.
func (s *Store) SessionSummary(ctx context.Context, groupID, sessionID string) (*reverie.SessionSummary, error) {
	var summary *reverie.SessionSummary
	err := s.db.Run(ctx, pg.Work{What: "read the summary of a session", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		var err error
		summary, err = rollingSummary(ctx, t, groupID, sessionID)
		return err
	}})
	return summary, err
}

// SessionMessages returns the messages of a session, or of those the ones that are
// not extracted, oldest first; of more than limit the newest. A limit of 0 is no
// limit.
func (s *Store) SessionMessages(ctx context.Context, groupID, sessionID string, waiting bool,
	limit int) ([]reverie.Message, error) {
	query := sessionMessagesQuery
	if waiting {
		query = bufferQuery
	}
	var list []reverie.Message
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("read the messages of session %q", sessionID), ReadOnly: true,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			list = nil
			return t.Select(ctx, &list, query, groupID, sessionID, limit)
		}})
	slices.Reverse(list)
	return utcMessages(list), err
}

func getSession(ctx context.Context, t *pg.Tx, groupID, sessionID string) (reverie.Session, error) {
	var session reverie.Session
	err := t.Get(ctx, &session, sessionQuery, groupID, sessionID)
	return utcSession(session), pg.NotFoundIfEmpty(err, "session %q of group %q", sessionID, groupID)
}

// lockSession lets nobody else count a session, or make it part of another, before
// the commit.
func lockSession(ctx context.Context, t *pg.Tx, groupID, sessionID string) error {
	var there int
	err := t.Get(ctx, &there, lockSessionQuery, groupID, sessionID)
	return pg.NotFoundIfEmpty(err, "session %q of group %q", sessionID, groupID)
}

func rollingSummary(ctx context.Context, t *pg.Tx, groupID, sessionID string) (*reverie.SessionSummary, error) {
	var list []reverie.SessionSummary
	if err := t.Select(ctx, &list, summaryQuery, groupID, sessionID); err != nil || len(list) == 0 {
		return nil, err
	}
	found := &list[0]
	for _, at := range []*time.Time{&found.CoversSince, &found.CoversUntil, &found.CreatedAt, &found.UpdatedAt} {
		*at = at.UTC()
	}
	return found, nil
}

func utcSession(s reverie.Session) reverie.Session {
	s.FirstAt, s.LastAt, s.ExtractedUntil = s.FirstAt.UTC(), s.LastAt.UTC(), pg.UTC(s.ExtractedUntil)
	s.RetryAt, s.ParkedAt, s.FoldRetryAt, s.DreamtUntil = pg.UTC(s.RetryAt), pg.UTC(s.ParkedAt), pg.UTC(s.FoldRetryAt),
		pg.UTC(s.DreamtUntil)
	return s
}

func utcSessions(list []reverie.Session) []reverie.Session {
	for i := range list {
		list[i] = utcSession(list[i])
	}
	return list
}
