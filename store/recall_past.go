package store

// The past form of recallQuery, as of the instant $10. A session is counted from its messages. Only the newest rolling
// summary is stored. If it was renewed since, the messages that it covers are read instead.
const (
	recallAtQuery = `select ` + GroupColumns + `, ` + isLinked + `,
			(select row_to_json(s) from (` + recallSessionAtQuery + `) s)::text as session,
			(select row_to_json(s) from (` + recallSummaryQuery + ` and updated_at <= $10::timestamptz) s)::text as summary,
			(select json_agg(m) from (` + recallMessagesAtQuery + `) m)::text as messages,
			(select json_agg(n) from (` + recallNamesAtQuery + `) n)::text as names, ` + recallQuotes + `
		from groups where group_id = $1`

	recallSessionAtQuery = `select $1 as group_id, $2 as session_id, to_char(min(sent_at)` + forJSON + ` as first_at,
		to_char(max(sent_at)` + forJSON + ` as last_at,
				json_build_object('messages', count(*), 'turns', count(*) filter (where role = 'assistant'
					and before = 'user')) as total
			from (select sent_at, role, lag(role) over (order by sent_at, seq) as before from messages
				where group_id = $1 and session_id = $2 and session_id <> '' and sent_at <= $10::timestamptz
					and role <> 'tool') said
			having count(*) > 0`

	recallMessagesAtQuery = `select message_id as id, author_id, author, role, text,
		to_char(sent_at` + forJSON + ` as sent_at, session_id from messages m
			where group_id = $1 and session_id = $2 and session_id <> '' and sent_at >= $3::timestamptz
				and sent_at <= $10::timestamptz
				and role <> 'tool' and pruned_at is null
				and (not exists (select 1 from session_summaries s where s.group_id = $1 and s.session_id = m.session_id
					and s.updated_at <= $10)
					or not exists (select 1 from message_uses u where u.group_id = $1 and u.job = 'summarize'
						and u.message_id = m.message_id))
			order by m.sent_at desc, seq desc limit $4::int`

	recallNamesAtQuery = `select n.name_id, n.entity_id, n.kind, n.name, n.name_key,
		to_char(n.created_at` + forJSON + ` as created_at, n.run_id, e.kind as entity_kind
			from entity_names n join entities e on e.group_id = $1 and e.entity_id = n.entity_id
			where n.group_id = $1 and n.created_at <= $10::timestamptz and (n.ended_at is null or n.ended_at > $10)
				and n.kind <> 'id' and $5::text <> '' and strpos($5::text, n.name_key) > 0
			order by char_length(n.name_key) desc, n.name_key, n.created_at, n.name_id limit 200`
)
