package audit

// sessionAudits hold the counts of sessions to their messages.
var sessionAudits = []audit{
	{
		name:    "counts of sessions add up",
		says:    "a session counts its messages, tokens, tool calls and turns, those that wait for extraction, and those that its short-term memory covers",
		checked: `select count(*) from sessions x where ` + auditedGroups,
		broken: `with m as (
				select x.group_id, x.session_id, x.tokens, (x.role = 'tool')::int as tool, x.sent_at,
					(x.role = 'assistant' and lag(x.role) over (partition by x.group_id, x.session_id, x.role = 'tool' order by x.sent_at, x.seq) = 'user')::int as turn,
					e.message_id is not null as waits, f.message_id is not null as folded
				from messages x
				left join message_uses e on e.group_id = x.group_id and e.message_id = x.message_id and e.job = 'extract' and e.run_id is null
				left join message_uses f on f.group_id = x.group_id and f.message_id = x.message_id and f.job = 'summarize' and f.run_id is not null
				where ` + auditedGroups + ` and x.session_id <> '' and x.filter = ''),
			counted as (
				select group_id, session_id, min(sent_at) as first_at, max(sent_at) as last_at,
					array[count(*), sum(tokens), sum(tool), coalesce(sum(turn), 0)]::bigint[] as total,
					array[count(*) filter (where waits), coalesce(sum(tokens) filter (where waits), 0), coalesce(sum(tool) filter (where waits), 0),
						coalesce(sum(turn) filter (where waits), 0)]::bigint[] as waiting,
					array[count(*) filter (where folded), coalesce(sum(tokens) filter (where folded), 0), coalesce(sum(tool) filter (where folded), 0),
						coalesce(sum(turn) filter (where folded), 0)]::bigint[] as covered
				from m group by 1, 2),
			said as (
				select x.group_id, x.session_id, x.first_at, x.last_at, array[x.messages, x.tokens, x.tool_calls, x.turns]::bigint[] as total,
					array[x.new_messages, x.new_tokens, x.new_tool_calls, x.new_turns]::bigint[] as waiting,
					array[x.folded_messages, x.folded_tokens, x.folded_tool_calls, x.folded_turns]::bigint[] as covered
				from sessions x where ` + auditedGroups + `)
			select x.group_id, format('session %s says messages, tokens, tool calls and turns %s, waiting %s, covered %s from %s to %s, and has %s, %s, %s from %s to %s',
				x.session_id, x.total, x.waiting, x.covered, x.first_at, x.last_at, c.total, c.waiting, c.covered, c.first_at, c.last_at)
			from said x left join counted c on c.group_id = x.group_id and c.session_id = x.session_id
			where (x.total, x.waiting, x.covered, x.first_at, x.last_at) is distinct from (c.total, c.waiting, c.covered, c.first_at, c.last_at)`,
	},
	{
		name:    "extraction waits with its session",
		says:    "a message that waits for extraction waits with the session that it is of, at the time when it was sent",
		checked: `select count(*) from message_uses x where ` + auditedGroups + ` and x.job = 'extract' and x.run_id is null`,
		broken: `select x.group_id, format('message %s of session %s, sent %s, waits with session %s, as of %s', x.message_id, m.session_id, m.sent_at, x.session_id, x.sent_at)
			from message_uses x join messages m on m.group_id = x.group_id and m.message_id = x.message_id
			where ` + auditedGroups + ` and x.job = 'extract' and x.run_id is null and (m.session_id <> x.session_id or m.sent_at <> x.sent_at)`,
	},
}
