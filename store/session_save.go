package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"reverie"
)

const saveSessionsQuery = `insert into sessions as s (group_id, session_id, cut, first_at, last_at, asking, messages, tokens, tool_calls, turns,
		new_messages, new_tokens, new_tool_calls, new_turns, folded_messages, folded_tokens, folded_tool_calls, folded_turns, created_at, updated_at)
	select $1, x.session_id, x.cut, x.first_at, x.last_at, x.asking, (x.total->>'messages')::int, (x.total->>'tokens')::bigint,
		(x.total->>'tool_calls')::int, (x.total->>'turns')::int, (x.new->>'messages')::int, (x.new->>'tokens')::bigint,
		(x.new->>'tool_calls')::int, (x.new->>'turns')::int, (x.folded->>'messages')::int, (x.folded->>'tokens')::bigint,
		(x.folded->>'tool_calls')::int, (x.folded->>'turns')::int, $2::timestamptz, $2::timestamptz
	from jsonb_to_recordset($3::jsonb) as x (session_id text, cut bool, first_at timestamptz, last_at timestamptz, asking bool,
		total jsonb, new jsonb, folded jsonb)
	on conflict (group_id, session_id) do update set first_at = excluded.first_at, last_at = excluded.last_at, asking = excluded.asking,
		messages = excluded.messages, tokens = excluded.tokens, tool_calls = excluded.tool_calls, turns = excluded.turns,
		new_messages = excluded.new_messages, new_tokens = excluded.new_tokens, new_tool_calls = excluded.new_tool_calls,
		new_turns = excluded.new_turns, folded_messages = excluded.folded_messages, folded_tokens = excluded.folded_tokens,
		folded_tool_calls = excluded.folded_tool_calls, folded_turns = excluded.folded_turns, updated_at = excluded.updated_at`

// look reads what the sessions count so far, before the messages are there. Where
// each comes after all of its session, it is added to that; elsewhere turns that
// are there may begin or end with it, and what stands behind it is counted again.
func (a *arrivals) look(ctx context.Context, t *tx) error {
	for _, s := range a.sessions {
		slices.SortStableFunc(s.messages, func(i, j int) int { return a.messages[i].SentAt.Compare(a.messages[j].SentAt) })
		s.late = !s.whole && a.first(s).Before(s.LastAt)
	}
	return a.tally(ctx, t, func(s *arrival) bool { return s.late }, func(s *arrival, c tally) { s.before = c })
}

// first is when the first new message of a session was sent.
func (a *arrivals) first(s *arrival) time.Time { return a.messages[s.messages[0]].SentAt }

// count counts the sessions, now that the messages are there, and saves them.
func (a *arrivals) count(ctx context.Context, t *tx, at time.Time) error {
	for _, s := range a.sessions {
		before := s.Session
		for _, i := range s.messages {
			s.Add(a.messages[i], a.tokens[i])
		}
		if s.whole || s.late {
			s.Total, s.New, s.Folded = before.Total.Minus(s.before.Total), before.New.Minus(s.before.New), before.Folded.Minus(s.before.Folded)
		}
	}
	err := a.tally(ctx, t, func(s *arrival) bool { return s.whole || s.late }, func(s *arrival, c tally) {
		s.Total, s.New, s.Folded, s.Asking = s.Total.Plus(c.Total), s.New.Plus(c.New), s.Folded.Plus(c.Folded), c.Asking
	})
	if err != nil {
		return err
	}
	var list []reverie.Session
	for _, id := range slices.Sorted(maps.Keys(a.sessions)) {
		list = append(list, a.sessions[id].Session)
	}
	text, err := asJSON(list)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, saveSessionsQuery, a.groupID, at, text)
	return err
}

// tally counts some of the sessions, one that is counted whole from its beginning,
// another from its first new message on.
func (a *arrivals) tally(ctx context.Context, t *tx, wanted func(*arrival) bool, then func(*arrival, tally)) error {
	var ids []string
	var since []time.Time
	for id, s := range a.sessions {
		if !wanted(s) {
			continue
		}
		ids = append(ids, id)
		if s.whole {
			since = append(since, time.Time{})
		} else {
			since = append(since, a.first(s))
		}
	}
	list, err := tallies(ctx, t, a.groupID, ids, since)
	for _, c := range list {
		then(a.sessions[ids[c.No-1]], c)
	}
	return err
}
