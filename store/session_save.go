package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// A session that messages came to before its last is no longer all dreamt of, although
// that stays its last; so is one that others have become part of.
const saveSessionsQuery = `insert into sessions as s (group_id, session_id, cut, first_at, last_at, asking, messages,
	tokens, tool_calls, turns,
		new_messages, new_tokens, new_tool_calls, new_turns, folded_messages, folded_tokens, folded_tool_calls,
			folded_turns, created_at, updated_at)
	select $1, x.session_id, x.cut, x.first_at, x.last_at, x.asking, (x.total->>'messages')::int,
		(x.total->>'tokens')::bigint,
		(x.total->>'tool_calls')::int, (x.total->>'turns')::int, (x.new->>'messages')::int, (x.new->>'tokens')::bigint,
		(x.new->>'tool_calls')::int, (x.new->>'turns')::int, (x.folded->>'messages')::int, (x.folded->>'tokens')::bigint,
		(x.folded->>'tool_calls')::int, (x.folded->>'turns')::int, $2::timestamptz, $2::timestamptz
	from jsonb_to_recordset($3::jsonb) as x (session_id text, cut bool, first_at timestamptz, last_at timestamptz,
		asking bool,
		total jsonb, new jsonb, folded jsonb)
	on conflict (group_id, session_id) do update set first_at = excluded.first_at, last_at = excluded.last_at,
		asking = excluded.asking,
		messages = excluded.messages, tokens = excluded.tokens, tool_calls = excluded.tool_calls, turns = excluded.turns,
		new_messages = excluded.new_messages, new_tokens = excluded.new_tokens, new_tool_calls = excluded.new_tool_calls,
		new_turns = excluded.new_turns, folded_messages = excluded.folded_messages, folded_tokens = excluded.folded_tokens,
		folded_tool_calls = excluded.folded_tool_calls, folded_turns = excluded.folded_turns,
			updated_at = excluded.updated_at,
		dreamt_until = case when excluded.last_at > s.last_at then s.dreamt_until end`

// look reads what the messages come between, before they are there. Where each comes
// after all of its session, it is simply added to that; elsewhere it may end a turn
// that has begun before it, and begin one, or take one from the answer behind it.
func (a *arrivals) look(ctx context.Context, t *pg.Tx) error {
	var index []int
	var ids, at pq.StringArray
	for _, id := range slices.Sorted(maps.Keys(a.sessions)) {
		s := a.sessions[id]
		slices.SortStableFunc(s.messages, func(i, j int) int { return a.messages[i].SentAt.Compare(a.messages[j].SentAt) })
		joined := len(s.parts) > 1
		if s.stands = joined || a.messages[s.messages[0]].SentAt.Before(s.LastAt); !s.stands {
			continue
		}
		for _, i := range s.messages {
			if m := a.messages[i]; joined || m.Role != reverie.RoleTool {
				index, ids, at = append(index, i), append(ids, id), append(at, pg.Timestamp(m.SentAt))
			}
		}
	}
	a.between = make([]*neighbours, len(a.messages))
	if len(index) == 0 {
		return nil
	}
	var list []neighbours
	if err := t.Select(ctx, &list, neighboursQuery, a.groupID, ids, at); err != nil {
		return err
	}
	for i := range list {
		a.between[index[i]] = &list[i]
	}
	return nil
}

// count counts the messages, now that they are there, and saves their sessions.
func (a *arrivals) count(ctx context.Context, t *pg.Tx, at time.Time) error {
	var list []reverie.Session
	for _, id := range slices.Sorted(maps.Keys(a.sessions)) {
		s := a.sessions[id]
		if s.stands {
			a.insertInto(s)
		} else {
			for _, i := range s.messages {
				s.Add(a.messages[i], a.tokens[i])
			}
		}
		list = append(list, s.Session)
	}
	text, err := pg.JSONText(list)
	if err != nil {
		return err
	}
	if _, err = t.Exec(ctx, saveSessionsQuery, a.groupID, at, text); err != nil || len(a.folded.ids) == 0 {
		return err
	}
	_, err = t.Exec(ctx, recountSummariesQuery, a.groupID, a.folded.ids, a.folded.at, a.folded.turns)
	return err
}

// insertInto counts messages of a session that come between others. Those between
// the same two are counted as if they stood at its end; then the one behind them is
// looked at again, for it may end a turn now that it did not end, or the reverse.
func (a *arrivals) insertInto(s *arrival) {
	last := s.Asking // of the session as it was
	var gap *neighbours
	for _, i := range s.messages {
		if n := a.between[i]; n != nil && (gap == nil || n.AfterID != gap.AfterID) {
			a.shut(s, gap)
			gap, s.Asking = n, n.BeforeRole == reverie.RoleUser
		}
		s.Add(a.messages[i], a.tokens[i])
	}
	a.shut(s, gap)
	if gap == nil || gap.AfterID != "" {
		s.Asking = last
	}
}

// shut counts the message behind a gap, now that the session is asking before it or
// not.
func (a *arrivals) shut(s *arrival, gap *neighbours) {
	if gap == nil || gap.AfterRole != reverie.RoleAssistant {
		return
	}
	ended := gap.BeforeRole == reverie.RoleUser && s.part(gap.BeforeAt) == s.part(gap.AfterAt)
	if ended == s.Asking {
		return
	}
	turn := reverie.Tally{Turns: 1}
	if ended {
		turn.Turns = -1
	}
	s.Total = s.Total.Plus(turn)
	if gap.AfterWaits {
		s.New = s.New.Plus(turn)
	}
	if gap.AfterFolded {
		s.Folded = s.Folded.Plus(turn)
		a.folded.ids, a.folded.at = append(a.folded.ids, s.ID), append(a.folded.at, pg.Timestamp(gap.AfterAt))
		a.folded.turns = append(a.folded.turns, int64(turn.Turns))
	}
}

// part says which of the sessions that a session is made of had a message.
func (s *arrival) part(at time.Time) int {
	n := 0
	for n+1 < len(s.parts) && !s.parts[n+1].FirstAt.After(at) {
		n++
	}
	return n
}
