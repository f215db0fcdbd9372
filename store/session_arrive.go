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

const (
	nearSessionsQuery = `select ` + sessionColumns + ` from sessions
		where group_id = $1 and cut and last_at >= $2::timestamptz and first_at <= $3::timestamptz
			order by session_id for no key update`

	namedSessionsQuery = `select ` + sessionColumns + ` from sessions
		where group_id = $1 and session_id = any ($2::text[]) order by session_id for no key update`

	takenSessionsQuery = `select session_id from sessions where group_id = $1 and session_id = any ($2::text[])`

	// Sessions that a run or a context has used.
	fixedSessionsQuery = `select s.id from unnest($2::text[]) as s (id)
		where exists (select 1 from runs r where r.group_id = $1 and r.session_id = s.id and r.session_id <> '')
			or exists (select 1 from memory_usage_log l where l.group_id = $1 and l.session_id = s.id and l.session_id <> '')`

	// Locked in the order of their ids, as by evolve.
	moveMessagesQuery = `update messages m set session_id = n.new from (
			select l.message_id, r.new from (select message_id, session_id from messages
				where group_id = $1 and session_id = any ($2::text[]) and session_id <> ''
					order by message_id for no key update) l
			join unnest($2::text[], $3::text[]) as r (old, new) on r.old = l.session_id) n
		where m.group_id = $1 and m.message_id = n.message_id`

	moveUsesQuery = `update message_uses u set session_id = r.new from unnest($2::text[], $3::text[]) as r (old, new)
		where u.group_id = $1 and u.job = 'extract' and u.session_id = r.old and u.session_id <> '' and u.run_id is null`

	dropSessionsQuery = `delete from sessions where group_id = $1 and session_id = any ($2::text[])`
)

// arrivals are new messages that are added to the sessions of a group. The caller has locked the group.
type arrivals struct {
	groupID  string
	silence  time.Duration
	messages []reverie.Message // in order of arrival
	tokens   []int             // of each message
	filtered []reverie.Message // messages without a session
	sessions map[string]*arrival
	moved    map[string]string // old session -> session that it has merged into
}

// arrival is a session with its new messages.
type arrival struct {
	reverie.Session
	messages []int // indexes in arrivals.messages
	recount  bool  // they come before others of it, or sessions have merged into it
}

// divide gives each message its session, and locks the known sessions.
func (a *arrivals) divide(ctx context.Context, t *pg.Tx) error {
	a.sessions, a.moved = map[string]*arrival{}, map[string]string{}
	if err := a.cut(ctx, t); err != nil {
		return err
	}
	for i := range a.messages {
		m := &a.messages[i]
		if to := a.moved[m.SessionID]; to != "" { // a cut session, named in a message of an export
			m.SessionID = to
		}
		if a.sessions[m.SessionID] == nil {
			a.sessions[m.SessionID] = &arrival{Session: reverie.Session{GroupID: a.groupID, ID: m.SessionID}}
		}
		s := a.sessions[m.SessionID]
		s.messages = append(s.messages, i)
	}
	var rows []reverie.Session
	var ids []string
	for id, s := range a.sessions {
		if !s.Cut { // not read yet
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := t.Select(ctx, &rows, namedSessionsQuery, a.groupID, ids); err != nil {
		return err
	}
	for _, row := range rows {
		a.sessions[row.ID].Session = row
	}
	return nil
}

// cut finds the sessions of messages that name none.
func (a *arrivals) cut(ctx context.Context, t *pg.Tx) error {
	var sent []time.Time
	var index []int
	for i, m := range a.messages {
		if m.SessionID == "" {
			sent, index = append(sent, m.SentAt), append(index, i)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	first, last := slices.MinFunc(sent, time.Time.Compare), slices.MaxFunc(sent, time.Time.Compare)
	var near []reverie.Session
	if err := t.Select(ctx, &near, nearSessionsQuery, a.groupID, first.Add(-a.silence), last.Add(a.silence)); err != nil {
		return err
	}
	cuts := reverie.CutBySilence(near, nil, sent, a.silence)
	if moved(cuts) != nil {
		fixed, err := fixedSessions(ctx, t, a.groupID, near)
		if err != nil {
			return err
		}
		cuts = reverie.CutBySilence(near, fixed, sent, a.silence)
	}
	if err := a.name(ctx, t, cuts); err != nil {
		return err
	}
	for _, c := range cuts {
		a.open(c, near)
		for _, m := range c.Messages {
			a.messages[index[m]].SessionID = c.ID
		}
	}
	a.moved = moved(cuts)
	return a.move(ctx, t)
}

// name gives new cuts an id that neither a session nor one of these messages has.
func (a *arrivals) name(ctx context.Context, t *pg.Tx, cuts []reverie.Cut) error {
	taken := map[string]bool{}
	for _, m := range a.messages {
		taken[m.SessionID] = true
	}
	for try := 0; ; try++ {
		var ids []string
		for _, c := range cuts {
			if c.ID == "" {
				ids = append(ids, reverie.CutID(a.groupID, c.FirstAt, try))
			}
		}
		if len(ids) == 0 {
			return nil
		}
		var known []string
		if err := t.Select(ctx, &known, takenSessionsQuery, a.groupID, ids); err != nil {
			return err
		}
		for _, id := range known {
			taken[id] = true
		}
		for i := range cuts {
			if c := &cuts[i]; c.ID == "" {
				if id := ids[0]; !taken[id] {
					c.ID, taken[id] = id, true
				}
				ids = ids[1:]
			}
		}
	}
}

// open adds a cut session with its known counts. If several sessions have merged into it, it is counted anew.
func (a *arrivals) open(c reverie.Cut, near []reverie.Session) {
	s := &arrival{Session: reverie.Session{GroupID: a.groupID, ID: c.ID, Cut: true}, recount: len(c.Was) > 1}
	a.sessions[c.ID] = s
	if len(c.Was) == 1 {
		s.Session = near[slices.IndexFunc(near, func(k reverie.Session) bool { return k.ID == c.Was[0] })]
	}
}

// moved returns which known sessions a cut has merged into another.
func moved(cuts []reverie.Cut) map[string]string {
	var to map[string]string
	for _, c := range cuts {
		for _, was := range c.Was {
			if was != c.ID {
				if to == nil {
					to = map[string]string{}
				}
				to[was] = c.ID
			}
		}
	}
	return to
}

func fixedSessions(ctx context.Context, t *pg.Tx, groupID string, among []reverie.Session) (map[string]bool, error) {
	var ids []string
	for _, s := range among {
		ids = append(ids, s.ID)
	}
	var list []string
	if err := t.Select(ctx, &list, fixedSessionsQuery, groupID, ids); err != nil {
		return nil, err
	}
	fixed := map[string]bool{}
	for _, id := range list {
		fixed[id] = true
	}
	return fixed, nil
}

// move moves the messages of merged sessions to the session that they have merged into.
func (a *arrivals) move(ctx context.Context, t *pg.Tx) error {
	if len(a.moved) == 0 {
		return nil
	}
	var from, to []string
	for _, old := range slices.Sorted(maps.Keys(a.moved)) {
		from, to = append(from, old), append(to, a.moved[old])
	}
	if err := t.Exec(ctx, moveMessagesQuery, a.groupID, from, to); err != nil {
		return err
	}
	if err := t.Exec(ctx, moveUsesQuery, a.groupID, from, to); err != nil {
		return err
	}
	return t.Exec(ctx, dropSessionsQuery, a.groupID, from)
}

// Messages may have come before the last one of a session, or others may have merged into it. Then a dream has not
// covered all of it any more, although its last message is the same.
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

// count updates the counts of the sessions after their messages are stored. Messages after the end of a session are
// added to its counts. Others may end or begin a turn in the middle, so the session is counted anew.
func (a *arrivals) count(ctx context.Context, t *pg.Tx, at time.Time) error {
	var list []reverie.Session
	var anew pq.StringArray
	for _, id := range slices.Sorted(maps.Keys(a.sessions)) {
		s := a.sessions[id]
		slices.SortStableFunc(s.messages, func(i, j int) int { return a.messages[i].SentAt.Compare(a.messages[j].SentAt) })
		if s.recount || a.messages[s.messages[0]].SentAt.Before(s.LastAt) {
			anew = append(anew, id)
		}
		for _, i := range s.messages {
			s.Add(a.messages[i], a.tokens[i])
		}
		list = append(list, s.Session)
	}
	if err := t.Exec(ctx, saveSessionsQuery, a.groupID, at, pg.AsJSON(list)); err != nil || anew == nil {
		return err
	}
	if err := t.Exec(ctx, RecountSessions, a.groupID, anew, at); err != nil {
		return err
	}
	return t.Exec(ctx, `update session_summaries x set `+RecountSummaries+` and x.messages = s.folded_messages`, a.groupID, anew)
}

// The counts of a session are written with its messages, and always equal the result of these queries: see
// reverie.Session.Add. A turn is counted with the assistant's message that ends it. Messages of tools do not separate
// turns.
const (
	// RecountSessions counts the sessions $2 anew.
	RecountSessions = `with m as (
			select m.*, lag(m.role) over (partition by m.session_id, m.role = 'tool' order by m.sent_at, m.seq) as before,
				coalesce((select true from message_uses u where u.group_id = $1 and u.job = 'extract'
					and u.message_id = m.message_id and u.run_id is null), false) as new,
				coalesce((select true from message_uses u where u.group_id = $1 and u.job = 'summarize'
					and u.message_id = m.message_id), false) as folded
			from messages m where m.group_id = $1 and m.session_id = any ($2::text[]) and m.session_id <> ''),
		t as (select *, role = 'assistant' and coalesce(before, '') = 'user' as turn from m),
		c as (
			select session_id, min(sent_at) as first_at, max(sent_at) as last_at,
				coalesce((array_agg(role order by sent_at desc, seq desc) filter (where role <> 'tool'))[1] = 'user', false) as asking,
				count(*) as messages, coalesce(sum(tokens), 0) as tokens,
				count(*) filter (where role = 'tool') as tools, count(*) filter (where turn) as turns,
				count(*) filter (where new) as new_messages, coalesce(sum(tokens) filter (where new), 0) as new_tokens,
				count(*) filter (where new and role = 'tool') as new_tools, count(*) filter (where new and turn) as new_turns,
				count(*) filter (where folded) as folded_messages,
				coalesce(sum(tokens) filter (where folded), 0) as folded_tokens,
				count(*) filter (where folded and role = 'tool') as folded_tools,
				count(*) filter (where folded and turn) as folded_turns
			from t group by session_id)
		update sessions s set first_at = c.first_at, last_at = c.last_at, asking = c.asking, messages = c.messages,
			tokens = c.tokens, tool_calls = c.tools, turns = c.turns, new_messages = c.new_messages,
			new_tokens = c.new_tokens, new_tool_calls = c.new_tools, new_turns = c.new_turns,
			folded_messages = c.folded_messages, folded_tokens = c.folded_tokens,
			folded_tool_calls = c.folded_tools, folded_turns = c.folded_turns, updated_at = $3::timestamptz
		from c where s.group_id = $1 and s.session_id = c.session_id`

	// RecountSummaries sets the counts of their rolling summaries x.
	RecountSummaries = `tokens = s.folded_tokens, turns = s.folded_turns from sessions s
		where x.group_id = $1 and x.session_id = any ($2::text[]) and s.group_id = $1
			and s.session_id = x.session_id and (x.tokens, x.turns) <> (s.folded_tokens, s.folded_turns)`

	// The role of the user's or assistant's message before a message m in its session.
	roleBefore = `(select b.role from messages b where b.group_id = $1 and b.session_id = m.session_id
		and b.session_id <> ''
		and (b.sent_at, b.seq) < (m.sent_at, m.seq) and b.role <> 'tool' order by b.sent_at desc, b.seq desc limit 1)`

	// The counts of some messages of a session.
	tallyOf = `(select count(*) as messages, coalesce(sum(m.tokens), 0) as tokens, count(*)
		filter (where m.role = 'tool') as tool_calls,
			count(*) filter (where m.role = 'assistant' and ` + roleBefore + ` = 'user') as turns
		from ` + messagesByID + `)`

	// Messages that are now pending for extraction ($5 is 1), or no longer (-1).
	AddNewQuery = `update sessions s set new_messages = new_messages + $5::int * c.messages,
		new_tokens = new_tokens + $5 * c.tokens,
			new_tool_calls = new_tool_calls + $5 * c.tool_calls, new_turns = new_turns + $5 * c.turns,
				updated_at = $4::timestamptz
		from ` + tallyOf + ` c where s.group_id = $1 and s.session_id = $2`

	// Messages that the rolling summary now covers; the summary has the same counts.
	addFoldedQuery = `update sessions s set folded_messages = folded_messages + c.messages,
		folded_tokens = folded_tokens + c.tokens,
			folded_tool_calls = folded_tool_calls + c.tool_calls, folded_turns = folded_turns + c.turns, fold_failures = 0,
				fold_retry_at = null,
			updated_at = $4::timestamptz
		from ` + tallyOf + ` c where s.group_id = $1 and s.session_id = $2
		returning c.messages, c.tokens, c.turns`
)
