package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	bufferWhere = ` from message_uses u where u.group_id = $1 and u.job = 'extract' and u.session_id = $2
		and u.session_id <> '' and u.run_id is null`

	// A message's time is that of its use, so that the order comes from the index.
	buffered = `select ` + messageColumns + ` from (
			select m.*, u.sent_at as at from message_uses u join messages m on m.group_id = u.group_id
				and m.message_id = u.message_id
			where u.group_id = $1 and u.job = 'extract' and u.session_id = $2 and u.session_id <> '' and u.run_id is null) w`

	oldestBufferedQuery = buffered + ` order by at, seq limit $3`
	chosenBufferedQuery = buffered + ` where message_id = any ($3::text[]) order by at, seq`
	moreBufferedQuery   = `select exists (select 1` + bufferWhere + ` and u.message_id <> all ($3::text[]))`

	headOf = `select ` + headColumns + ` from memories m where group_id = $1 and kind = 'session' and status = 'active'`

	factHeadsQuery = headOf + ` and $2 <> all (tags) order by created_at, lineage_id`

	summaryHeadQuery = headOf + ` and session_id = $3 and session_id <> '' and $2 = any (tags) order by created_at,
		lineage_id limit 1`

	unfoldedQuery = `select ` + messageColumns + ` from messages m where group_id = $1 and session_id = $2
		and session_id <> '' and sent_at >= $3::timestamptz
			and (select true from message_uses f where f.group_id = m.group_id and f.job = 'summarize'
				and f.message_id = m.message_id) is null
		order by sent_at, seq`
)

// GatherSession reads what one chunk of an extraction needs, in one snapshot and at
// most six statements. An unknown group or session is reverie.ErrNotFound.
func (s *Store) GatherSession(ctx context.Context, q reverie.SessionQuery) (reverie.SessionState, error) {
	var state reverie.SessionState
	err := s.db.Run(ctx, pg.Work{
		What:     fmt.Sprintf("gather session %q of group %q", q.SessionID, q.GroupID),
		ReadOnly: true,
		ByKey:    true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			state = reverie.SessionState{}
			var err error
			if state.Group, err = GetGroup(ctx, t, q.GroupID); err != nil {
				return err
			}
			if state.Session, err = getSession(ctx, t, q.GroupID, q.SessionID); err != nil {
				return err
			}
			if state.Messages, state.More, err = buffer(ctx, t, q); err != nil {
				return err
			}
			if state.Heads, err = headList(ctx, t, factHeadsQuery, q.GroupID, reverie.TagSummary); err != nil {
				return err
			}
			summaries, err := headList(ctx, t, summaryHeadQuery, q.GroupID, reverie.TagSummary, q.SessionID)
			if len(summaries) > 0 {
				state.Summary = &summaries[0]
			}
			return err
		},
	})
	return state, err
}

// buffer reads the oldest messages of a session that are not extracted and looks
// one further, or those of them that are named and whether there are others.
func buffer(ctx context.Context, t *pg.Tx, q reverie.SessionQuery) ([]reverie.Message, bool, error) {
	var list []reverie.Message
	if len(q.MessageIDs) > 0 {
		ids := pq.StringArray(q.MessageIDs)
		if err := t.Select(ctx, &list, chosenBufferedQuery, q.GroupID, q.SessionID, ids); err != nil {
			return nil, false, err
		}
		var more bool
		err := t.Get(ctx, &more, moreBufferedQuery, q.GroupID, q.SessionID, ids)
		return utcMessages(list), more, err
	}
	limit := max(q.Limit, 0)
	if err := t.Select(ctx, &list, oldestBufferedQuery, q.GroupID, q.SessionID, limit+1); err != nil {
		return nil, false, err
	}
	more := len(list) > limit
	return utcMessages(list[:min(limit, len(list))]), more, nil
}

func headList(ctx context.Context, t *pg.Tx, query string, args ...any) ([]reverie.HeadState, error) {
	var rows []headRow
	if err := t.Select(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	list := make([]reverie.HeadState, len(rows))
	for i, r := range rows {
		list[i] = reverie.HeadState{Memory: r.memory(), SupportDates: r.SupportDates}
	}
	return list, nil
}

// GatherFold reads what folding a session needs, in one snapshot and at most five
// statements. An unknown group or session is reverie.ErrNotFound.
func (s *Store) GatherFold(ctx context.Context, groupID, sessionID string) (reverie.FoldState, error) {
	var state reverie.FoldState
	err := s.db.Run(ctx, pg.Work{
		What:     fmt.Sprintf("gather what session %q of group %q has to fold", sessionID, groupID),
		ReadOnly: true,
		ByKey:    true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			state = reverie.FoldState{}
			var err error
			if state.Group, err = GetGroup(ctx, t, groupID); err != nil {
				return err
			}
			if state.Session, err = getSession(ctx, t, groupID, sessionID); err != nil {
				return err
			}
			if state.Summary, err = rollingSummary(ctx, t, groupID, sessionID); err != nil {
				return err
			}
			state.Messages, err = unfolded(ctx, t, state)
			return err
		},
	})
	return state, err
}

// unfolded reads the messages of a session that its summary does not cover: those
// behind what it covers, and the others only if some of them came late.
func unfolded(ctx context.Context, t *pg.Tx, state reverie.FoldState) ([]reverie.Message, error) {
	var list []reverie.Message
	var since time.Time
	if state.Summary != nil {
		since = state.Summary.CoversUntil
	}
	err := t.Select(ctx, &list, unfoldedQuery, state.Group.ID, state.Session.ID, pg.OrMinusInfinity(since))
	if err == nil && !since.IsZero() && len(list) < state.Session.Unfolded().Messages {
		list = nil
		err = t.Select(ctx, &list, unfoldedQuery, state.Group.ID, state.Session.ID, "-infinity")
	}
	return utcMessages(list), err
}
