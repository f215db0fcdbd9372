package store

import (
	"time"

	"reverie/internal/reverie"
)

// What a session counts is written with the messages that it counts, and is at any
// time what these queries make of the rows: see reverie.Session.Add. A turn is
// counted with the assistant's message that ends it; tools do not stand between.
const (
	// The user or assistant before a message m of its session.
	roleBefore = `(select b.role from messages b where b.group_id = m.group_id and b.session_id = m.session_id
		and b.session_id <> ''
		and (b.sent_at, b.seq) < (m.sent_at, m.seq) and b.role <> 'tool' order by b.sent_at desc, b.seq desc limit 1)`

	// What stands before messages that are to come into sessions, and behind them,
	// tools left out. Of the same instant the new one is the later.
	neighboursQuery = `select coalesce(b.role, '') as beforerole, coalesce(b.sent_at, 'epoch') as beforeat,
		coalesce(n.message_id, '') as afterid,
			coalesce(n.role, '') as afterrole, coalesce(n.sent_at, 'epoch') as afterat,
			coalesce((select u.run_id is null from message_uses u
				where u.group_id = $1 and u.job = 'extract' and u.message_id = n.message_id and n.role = 'assistant'),
					false) as afterwaits,
			coalesce((select true from message_uses f
				where f.group_id = $1 and f.job = 'summarize' and f.message_id = n.message_id and n.role = 'assistant'),
					false) as afterfolded
		from unnest($2::text[], $3::timestamptz[]) with ordinality as p (id, at, no)
		left join lateral (select m.role, m.sent_at from messages m where m.group_id = $1 and m.session_id = p.id
			and m.session_id <> ''
			and m.sent_at <= p.at and m.role <> 'tool' order by m.sent_at desc, m.seq desc limit 1) b on true
		left join lateral (select m.message_id, m.role, m.sent_at from messages m where m.group_id = $1
			and m.session_id = p.id and m.session_id <> ''
			and m.sent_at > p.at and m.role <> 'tool' order by m.sent_at, m.seq limit 1) n on true
		order by p.no`

	// A message that a rolling summary covers ends a turn now ($4 is 1), or no more (-1).
	recountSummariesQuery = `update session_summaries s set turns = s.turns + c.turns
		from (select x.session_id, sum(d.turns)::int as turns from unnest($2::text[], $3::timestamptz[],
			$4::int[]) as d (id, at, turns)
			join session_summaries x on x.group_id = $1 and x.session_id = d.id and d.at between x.covers_since
				and x.covers_until
			group by x.session_id) c
		where s.group_id = $1 and s.session_id = c.session_id`

	// Some messages of a session, by themselves.
	tallyOf = `(select count(*) as messages, coalesce(sum(m.tokens), 0) as tokens, count(*)
		filter (where m.role = 'tool') as tool_calls,
			count(*) filter (where m.role = 'assistant' and ` + roleBefore + ` = 'user') as turns
		from ` + messagesByID + `)`

	// Messages that wait for extraction from now on ($5 is 1), or no more (-1).
	addNewQuery = `update sessions s set new_messages = new_messages + $5::int * c.messages,
		new_tokens = new_tokens + $5 * c.tokens,
			new_tool_calls = new_tool_calls + $5 * c.tool_calls, new_turns = new_turns + $5 * c.turns,
				updated_at = $4::timestamptz
		from ` + tallyOf + ` c where s.group_id = $1 and s.session_id = $2`

	// Messages that the rolling summary covers from now on, which counts the same.
	addFoldedQuery = `update sessions s set folded_messages = folded_messages + c.messages,
		folded_tokens = folded_tokens + c.tokens,
			folded_tool_calls = folded_tool_calls + c.tool_calls, folded_turns = folded_turns + c.turns, fold_failures = 0,
				fold_retry_at = null,
			updated_at = $4::timestamptz
		from ` + tallyOf + ` c where s.group_id = $1 and s.session_id = $2
		returning c.messages, c.tokens, c.turns`
)

// neighbours are what messages of a session come between: the last word before
// them, and the first one behind, of a user or an assistant. There may be none.
type neighbours struct {
	BeforeRole  reverie.Role
	BeforeAt    time.Time
	AfterID     string
	AfterRole   reverie.Role
	AfterAt     time.Time
	AfterWaits  bool // for extraction; both are said of an assistant alone
	AfterFolded bool // the rolling summary covers it
}
