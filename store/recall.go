package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"reverie"
)

const (
	recallSessionQuery = `select group_id as groupid, session_id as id, cut, first_at as firstat, last_at as lastat, asking,
			messages as "total.messages", tokens as "total.tokens", tool_calls as "total.toolcalls", turns as "total.turns",
			new_messages as "new.messages", new_tokens as "new.tokens", new_tool_calls as "new.toolcalls", new_turns as "new.turns",
			folded_messages as "folded.messages", folded_tokens as "folded.tokens", folded_turns as "folded.turns",
			extractions, extracted_until as extracteduntil
		from sessions where group_id = $1 and session_id = $2`

	recallSummaryQuery = `select group_id, session_id, summary, messages, turns, tokens, first_message_id, last_message_id,
			covers_since, covers_until, run_id, created_at, updated_at
		from session_summaries where group_id = $1 and session_id = $2 and covers_until >= $3::timestamptz`

	recallMessagesQuery = `select ` + messageColumns + ` from messages m
		where group_id = $1 and session_id = $2 and session_id <> '' and sent_at >= $3::timestamptz and role <> 'tool' and pruned_at is null
			and (select true from message_uses u where u.group_id = m.group_id and u.job = 'summarize' and u.message_id = m.message_id) is null
		order by sent_at desc, seq desc limit $4`

	// The longest names first: of what is left out beyond the limit, least is lost.
	recallNamesQuery = `select n.name_id, n.entity_id, n.kind, n.name, n.name_key, n.created_at, n.run_id, e.kind as entity_kind
		from entity_names n join entities e on e.group_id = n.group_id and e.entity_id = n.entity_id
		where n.group_id = $1 and n.ended_at is null and n.kind <> 'id' and strpos($2::text, n.name_key) > 0
		order by char_length(n.name_key) desc, n.name_key, n.created_at, n.name_id limit 200`
)

// maxRecalled is how many messages of the newest turns are read at most, however
// long a question of many users is.
const maxRecalled = 1000

// RecallState reads what a context needs besides memories, in one snapshot. An
// unknown group is reverie.ErrNotFound, an unknown session has nothing.
func (s *Store) RecallState(ctx context.Context, q reverie.RecallQuery) (reverie.RecallState, error) {
	var state reverie.RecallState
	err := s.run(ctx, work{
		what:     fmt.Sprintf("read what is under way in group %q", q.GroupID),
		prepare:  []string{groupQuery, recallSessionQuery, recallSummaryQuery, recallMessagesQuery, recallNamesQuery},
		readOnly: true,
		byKey:    true,
		do: func(ctx context.Context, t *tx) error {
			state = reverie.RecallState{}
			var err error
			if state.Group, err = getGroup(ctx, t, q.GroupID); err != nil {
				return err
			}
			if text := reverie.Simplify(reverie.Fold(q.Text)); text != "" {
				if state.Named, err = namedIn(ctx, t, q.GroupID, text); err != nil {
					return err
				}
			}
			if q.SessionID == "" {
				return nil
			}
			return recallSession(ctx, t, q, &state)
		},
	})
	return state, err
}

// recallSession reads a session's short-term memory: its summary, and the newest
// turns that it does not cover.
func recallSession(ctx context.Context, t *tx, q reverie.RecallQuery, state *reverie.RecallState) error {
	var session reverie.Session
	err := t.get(ctx, &session, recallSessionQuery, q.GroupID, q.SessionID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	session.FirstAt, session.LastAt, session.ExtractedUntil = session.FirstAt.UTC(), session.LastAt.UTC(), utc(session.ExtractedUntil)
	state.Session = &session
	var summary reverie.SessionSummary
	err = t.get(ctx, &summary, recallSummaryQuery, q.GroupID, q.SessionID, orMinusInfinity(q.Since))
	switch {
	case err == nil:
		for _, at := range []*time.Time{&summary.CoversSince, &summary.CoversUntil, &summary.CreatedAt, &summary.UpdatedAt} {
			*at = at.UTC()
		}
		state.Summary = &summary
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	state.Messages, err = newestTurns(ctx, t, q)
	return err
}

// newestTurns reads back from the newest message until there are turns enough,
// mostly at once.
func newestTurns(ctx context.Context, t *tx, q reverie.RecallQuery) ([]reverie.Message, error) {
	if q.Turns <= 0 {
		return nil, nil
	}
	for limit := min(8*q.Turns, maxRecalled); ; limit = min(8*limit, maxRecalled) {
		var list []reverie.Message
		if err := t.list(ctx, &list, recallMessagesQuery, q.GroupID, q.SessionID, orMinusInfinity(q.Since), limit); err != nil {
			return nil, err
		}
		all := len(list) < limit
		slices.Reverse(list)
		from, enough := turnsFrom(list, q.Turns)
		if all || enough || limit == maxRecalled {
			return utcMessages(list[from:]), nil
		}
	}
}

// turnsFrom says where the newest n turns begin. An older turn ends with an
// assistant whom a user follows; enough tells that there is one.
func turnsFrom(list []reverie.Message, n int) (from int, enough bool) {
	turns := 1
	for i := len(list) - 2; i >= 0; i-- {
		if list[i].Role == reverie.RoleAssistant && list[i+1].Role == reverie.RoleUser {
			turns++
		}
		if turns > n {
			return i + 1, true
		}
	}
	return 0, false
}

func namedIn(ctx context.Context, t *tx, groupID, text string) ([]reverie.EntityName, error) {
	var list []reverie.EntityName
	err := t.list(ctx, &list, recallNamesQuery, groupID, text)
	for i := range list {
		list[i].CreatedAt = list[i].CreatedAt.UTC()
	}
	return list, err
}
