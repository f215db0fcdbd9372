package store

import (
	"context"
	"fmt"
	"slices"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

const (
	// A statement is a snapshot of its own, and one round trip. What is not the group's
	// comes as JSON of the domain's structs.
	recallQuery = `select ` + GroupColumns + `,
			(select row_to_json(s) from (` + recallSessionQuery + `) s)::text as session,
			(select row_to_json(s) from (` + recallSummaryQuery + `) s)::text as summary,
			(select json_agg(m) from (` + recallMessagesQuery + `) m)::text as messages,
			(select json_agg(n) from (` + recallNamesQuery + `) n)::text as names
		from groups where group_id = $1`

	recallSessionQuery = `select group_id, session_id, cut, to_char(first_at` + forJSON + ` as first_at,
		to_char(last_at` + forJSON + ` as last_at, asking,
				json_build_object('messages', messages, 'tokens', tokens, 'tool_calls', tool_calls, 'turns', turns) as total,
				json_build_object('messages', new_messages, 'tokens', new_tokens, 'tool_calls', new_tool_calls, 'turns',
					new_turns) as new,
				json_build_object('messages', folded_messages, 'tokens', folded_tokens, 'turns', folded_turns) as folded,
				extractions, to_char(extracted_until` + forJSON + ` as extracted_until
			from sessions where group_id = $1 and session_id = $2 and session_id <> ''`

	recallSummaryQuery = `select group_id, session_id, summary, messages, turns, tokens, first_message_id,
		last_message_id, run_id,
				to_char(covers_since` + forJSON + ` as covers_since, to_char(covers_until` + forJSON + ` as covers_until,
				to_char(created_at` + forJSON + ` as created_at, to_char(updated_at` + forJSON + ` as updated_at
			from session_summaries where group_id = $1 and session_id = $2 and covers_until >= $3::timestamptz`

	recallMessagesQuery = `select message_id as id, author_id, author, role, text,
		to_char(sent_at` + forJSON + ` as sent_at, session_id from messages m
			where group_id = $1 and session_id = $2 and session_id <> '' and sent_at >= $3::timestamptz and role <> 'tool'
				and pruned_at is null
				and (select true from message_uses u where u.group_id = m.group_id and u.job = 'summarize'
					and u.message_id = m.message_id) is null
			order by m.sent_at desc, seq desc limit $4::int`

	// The longest names first: of what is left out beyond the limit, least is lost.
	recallNamesQuery = `select n.name_id, n.entity_id, n.kind, n.name, n.name_key,
		to_char(n.created_at` + forJSON + ` as created_at, n.run_id, e.kind as entity_kind
			from entity_names n join entities e on e.group_id = n.group_id and e.entity_id = n.entity_id
			where n.group_id = $1 and n.ended_at is null and n.kind <> 'id' and $5::text <> '' and strpos($5::text,
				n.name_key) > 0
			order by char_length(n.name_key) desc, n.name_key, n.created_at, n.name_id limit 200`

	// forJSON ends a time as Go's JSON has it, whatever the connection's zone.
	forJSON = ` at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
)

// maxRecalled is how many messages of the newest turns are read at most, however
// long a question of many users is.
const maxRecalled = 1000

// recallRow is what recallQuery returns.
type recallRow struct {
	reverie.Group
	Session  pg.JSON[*reverie.Session]        `db:"session"`
	Summary  pg.JSON[*reverie.SessionSummary] `db:"summary"`
	Messages pg.JSON[[]reverie.Message]       `db:"messages"` // newest first
	Names    pg.JSON[[]recallName]            `db:"names"`
}

// recallName is a name with what clients are not told of one.
type recallName struct {
	reverie.EntityName
	Key    string             `json:"name_key"`
	Entity reverie.EntityKind `json:"entity_kind"`
}

// RecallState reads what a context needs besides memories, in one snapshot. An
// unknown group is reverie.ErrNotFound, an unknown session has nothing. Of an instant, it
// is what had been said by then, and the rolling summary if it has not been renewed since.
//
// It reads back from the newest message until there are turns enough, mostly at once.
func (s *Store) RecallState(ctx context.Context, q reverie.RecallQuery) (reverie.RecallState, error) {
	what := fmt.Sprintf("read what is under way in group %q", q.GroupID)
	text := text.Simplify(text.Fold(q.Text))
	for limit := min(8*max(q.Turns, 0), maxRecalled); ; limit = min(8*limit, maxRecalled) {
		var row recallRow
		query, args := recallQuery, []any{q.GroupID, q.SessionID, pg.OrMinusInfinity(q.Since), limit, text}
		if !q.At.IsZero() {
			query, args = recallAtQuery, append(args, q.At)
		}
		err := s.db.QueryRow(ctx, what, &row, query, args...)
		if err != nil {
			return reverie.RecallState{}, pg.NotFoundIfEmpty(err, "group %q", q.GroupID)
		}
		list := row.Messages.V
		slices.Reverse(list)
		from, enough := turnsFrom(list, q.Turns)
		if enough || len(list) < limit || limit == 0 || limit == maxRecalled {
			row.Messages.V = list[from:]
			return row.state(), nil
		}
	}
}

func (r recallRow) state() reverie.RecallState {
	state := reverie.RecallState{Group: r.Group}
	for _, n := range r.Names.V {
		n.EntityName.Key, n.EntityName.Entity = n.Key, n.Entity
		state.Named = append(state.Named, n.EntityName)
	}
	if r.Session.V == nil {
		return state
	}
	state.Session, state.Summary, state.Messages = r.Session.V, r.Summary.V, r.Messages.V
	for i := range state.Messages {
		state.Messages[i].GroupID = r.ID
	}
	return state
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
