package erase

import (
	"context"

	"reverie/store"

	"github.com/lib/pq"
)

const (
	// Runs that asked a model about the author's messages, or in a session of theirs, or
	// that still wait for answers: the questions are asked anew.
	answersOfAuthor = `(exists (select 1 from run_chunks c where c.group_id = x.group_id and c.run_id = x.run_id
		and c.message_ids && $2::text[])
			or exists (select 1 from runs r where r.group_id = x.group_id and r.run_id = x.run_id
				and (r.session_id <> '' and r.session_id = any ($3::text[]) or r.job = 'dream' or r.status in ('running',
					'deferred', 'failed'))))`

	// A chunk that was begun is not taken up again: it would have other messages.
	forgetChunksQuery = `answer = '', refusals = '[]',
			message_ids = array(select id from unnest(message_ids) with ordinality as m (id, no) where id <> all ($2::text[])
				order by no),
			status = case when status in ('open', 'answered') then 'failed' else status end
		where group_id = $1 and message_ids && $2::text[]`

	// What a session counts is counted anew: see session_tally.go.
	countSessionsQuery = `with m as (
			select m.*, lag(m.role) over (partition by m.session_id, m.role = 'tool' order by m.sent_at, m.seq) as before,
				coalesce((select true from message_uses u where u.group_id = m.group_id and u.job = 'extract'
					and u.message_id = m.message_id and u.run_id is null), false) as new,
				coalesce((select true from message_uses u where u.group_id = m.group_id and u.job = 'summarize'
					and u.message_id = m.message_id), false) as folded
			from messages m where m.group_id = $1 and m.session_id = any ($2::text[]) and m.session_id <> ''),
		t as (
			select *, role = 'assistant' and coalesce(before, '') = 'user' as turn from m),
		c as (
			select session_id, min(sent_at) as first_at, max(sent_at) as last_at,
				coalesce((array_agg(role order by sent_at desc, seq desc) filter (where role <> 'tool'))[1] = 'user',
					false) as asking,
				count(*) as messages, coalesce(sum(tokens), 0) as tokens, count(*) filter (where role = 'tool') as tools, count(*)
					filter (where turn) as turns,
				count(*) filter (where new) as new_messages, coalesce(sum(tokens) filter (where new), 0) as new_tokens,
				count(*) filter (where new and role = 'tool') as new_tools, count(*) filter (where new and turn) as new_turns,
				count(*) filter (where folded) as folded_messages, coalesce(sum(tokens) filter (where folded),
					0) as folded_tokens,
				count(*) filter (where folded and role = 'tool') as folded_tools, count(*) filter (where folded
					and turn) as folded_turns
			from t group by session_id)
		update sessions s set first_at = c.first_at, last_at = c.last_at, asking = c.asking, messages = c.messages,
			tokens = c.tokens, tool_calls = c.tools,
			turns = c.turns, new_messages = c.new_messages, new_tokens = c.new_tokens, new_tool_calls = c.new_tools,
				new_turns = c.new_turns,
			folded_messages = c.folded_messages, folded_tokens = c.folded_tokens, folded_tool_calls = c.folded_tools,
				folded_turns = c.folded_turns,
			updated_at = $3::timestamptz
		from c where s.group_id = $1 and s.session_id = c.session_id`
)

// forgetTraffic deletes what was kept of what models were asked and answered, and the
// vectors of texts, which cannot be told apart.
func (e *eraser) forgetTraffic(ctx context.Context) error {
	if len(e.messages) == 0 && len(e.counts.Deleted) == 0 {
		return nil
	}
	if err := e.deleted(ctx, "answers", answersOfAuthor, e.messages, e.sessions); err != nil {
		return err
	}
	if err := e.changed(ctx, "run_chunks", forgetChunksQuery, e.messages); err != nil {
		return err
	}
	return e.deleted(ctx, "embedding_cache", `true`)
}

// forgetMessages deletes the author's messages, and the rolling summaries of the sessions
// that they are of: those are folded anew.
func (e *eraser) forgetMessages(ctx context.Context) error {
	if err := e.deleted(ctx, "session_summaries", `session_id = any ($2::text[])`, e.sessions); err != nil {
		return err
	}
	if err := e.deleted(ctx, "message_uses", `(message_id = any ($2::text[]) or job = 'summarize' and session_id <> ''
		and session_id = any ($3::text[]))`,
		e.messages, e.sessions); err != nil {
		return err
	}
	if err := e.changed(ctx, "messages", `reply_to = '' where group_id = $1 and reply_to <> ''
		and reply_to = any ($2::text[]) and author_id <> $3`,
		e.messages, e.query.AuthorID); err != nil {
		return err
	}
	err := e.deleted(ctx, "messages", `author_id = $2`, e.query.AuthorID)
	e.counts.Messages = e.counts.Deleted["messages"]
	return err
}

// countSessions counts sessions anew that messages were taken out of, or that wait for
// extraction again. One without a message is no more.
func (e *eraser) countSessions(ctx context.Context) error {
	if len(e.sessions) == 0 {
		return nil
	}
	if _, err := e.t.Exec(ctx, `select 1 from sessions where group_id = $1 and session_id = any ($2::text[])
		order by session_id for no key update`,
		e.group, e.sessions); err != nil {
		return err
	}
	var empty pq.StringArray
	if err := e.t.Select(ctx, &empty, `select session_id from sessions s where group_id = $1
		and session_id = any ($2::text[])
		and not exists (select 1 from messages m where m.group_id = s.group_id and m.session_id = s.session_id
			and m.session_id <> '')`, e.group, e.sessions); err != nil {
		return err
	}
	if err := e.deleted(ctx, "sessions", `session_id = any ($2::text[])`, store.OrEmpty(empty)); err != nil {
		return err
	}
	n, err := e.t.Exec(ctx, countSessionsQuery, e.group, e.sessions, e.at)
	if n > 0 {
		e.counts.Changed["sessions"] += n
	}
	if err != nil {
		return err
	}
	return e.changed(ctx, "session_summaries", `tokens = s.folded_tokens, turns = s.folded_turns from sessions s
		where x.group_id = $1 and x.session_id = any ($2::text[]) and s.group_id = x.group_id
			and s.session_id = x.session_id
			and (x.tokens, x.turns) <> (s.folded_tokens, s.folded_turns)`, e.sessions)
}
