package store

import (
	"context"
	"time"

	"github.com/lib/pq"

	"reverie"
)

// What a session counts is written with the messages that it counts, and is at any
// time what these queries make of the rows: see reverie.Session.Add. A turn is
// counted with the assistant's message that ends it; tools do not stand between.
const (
	// The user or assistant before a message m of its session.
	roleBefore = `(select b.role from messages b where b.group_id = m.group_id and b.session_id = m.session_id and b.session_id <> ''
		and (b.sent_at, b.seq) < (m.sent_at, m.seq) and b.role <> 'tool' order by b.sent_at desc, b.seq desc limit 1)`

	// Of several sessions, what was sent at an instant or later. What stands before
	// that is looked at, not counted. Each row of message_uses is looked up by its key,
	// whatever the planner thinks of a session that has grown since it looked.
	talliesQuery = `select s.no, x.*, coalesce((select z.role from messages z where z.group_id = $1 and z.session_id = s.id and z.session_id <> ''
			and z.role <> 'tool' order by z.sent_at desc, z.seq desc limit 1) = 'user', false) as asking
		from unnest($2::text[], $3::timestamptz[]) with ordinality as s (id, since, no)
		cross join lateral (
			select count(*) as "total.messages", coalesce(sum(tokens), 0) as "total.tokens",
				count(*) filter (where role = 'tool') as "total.toolcalls", count(*) filter (where ends) as "total.turns",
				count(*) filter (where waits) as "new.messages", coalesce(sum(tokens) filter (where waits), 0) as "new.tokens",
				count(*) filter (where waits and role = 'tool') as "new.toolcalls", count(*) filter (where waits and ends) as "new.turns",
				count(*) filter (where folded) as "folded.messages", coalesce(sum(tokens) filter (where folded), 0) as "folded.tokens",
				count(*) filter (where folded and role = 'tool') as "folded.toolcalls", count(*) filter (where folded and ends) as "folded.turns"
			from (
				select m.role, m.tokens,
					coalesce((select u.run_id is null from message_uses u where u.group_id = $1 and u.job = 'extract' and u.message_id = m.message_id), false) as waits,
					(select true from message_uses f where f.group_id = $1 and f.job = 'summarize' and f.message_id = m.message_id) as folded,
					m.role = 'assistant' and coalesce(lag(m.role) over (partition by m.role = 'tool' order by m.sent_at, m.seq), (
						select b.role from messages b where b.group_id = $1 and b.session_id = s.id and b.session_id <> '' and b.sent_at < s.since
							and b.role <> 'tool' order by b.sent_at desc, b.seq desc limit 1), '') = 'user' as ends
				from messages m where m.group_id = $1 and m.session_id = s.id and m.session_id <> '' and m.sent_at >= s.since) y) x
		order by s.no`

	// Some messages of a session, by themselves.
	tallyOf = `(select count(*) as messages, coalesce(sum(m.tokens), 0) as tokens, count(*) filter (where m.role = 'tool') as tool_calls,
			count(*) filter (where m.role = 'assistant' and ` + roleBefore + ` = 'user') as turns
		from ` + messagesByID + `)`

	// Messages that wait for extraction from now on ($5 is 1), or no more (-1).
	addNewQuery = `update sessions s set new_messages = new_messages + $5::int * c.messages, new_tokens = new_tokens + $5 * c.tokens,
			new_tool_calls = new_tool_calls + $5 * c.tool_calls, new_turns = new_turns + $5 * c.turns, updated_at = $4::timestamptz
		from ` + tallyOf + ` c where s.group_id = $1 and s.session_id = $2`

	// Messages that the rolling summary covers from now on.
	addFoldedQuery = `update sessions s set folded_messages = folded_messages + c.messages, folded_tokens = folded_tokens + c.tokens,
			folded_tool_calls = folded_tool_calls + c.tool_calls, folded_turns = folded_turns + c.turns, updated_at = $4::timestamptz
		from ` + tallyOf + ` c where s.group_id = $1 and s.session_id = $2`
)

// tally is what is counted of a session from an instant on.
type tally struct {
	No     int           `db:"no"`
	Total  reverie.Tally `db:"total"`
	New    reverie.Tally `db:"new"`
	Folded reverie.Tally `db:"folded"`
	Asking bool          `db:"asking"` // of the whole session
}

// tallies counts sessions, each from an instant on; a zero one is from its beginning.
func tallies(ctx context.Context, t *tx, groupID string, ids []string, since []time.Time) ([]tally, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var from pq.StringArray
	for _, at := range since {
		if at.IsZero() {
			from = append(from, "-infinity")
		} else {
			from = append(from, timestamp(at))
		}
	}
	var list []tally
	err := t.list(ctx, &list, talliesQuery, groupID, pq.StringArray(ids), from)
	return list, err
}
