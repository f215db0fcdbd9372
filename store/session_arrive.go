package store

import (
	"context"
	"maps"
	"slices"
	"time"

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

	// Those that somebody has worked with: a run, or a context for a reader.
	fixedSessionsQuery = `select s.id from unnest($2::text[]) as s (id)
		where exists (select 1 from runs r where r.group_id = $1 and r.session_id = s.id and r.session_id <> '')
			or exists (select 1 from memory_usage_log l where l.group_id = $1 and l.session_id = s.id and l.session_id <> '')`

	// Locked in the order of their ids, as evolve does it.
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

// arrivals are new messages of a group on their way into its sessions. Whoever
// brings them has locked the group.
type arrivals struct {
	groupID  string
	silence  time.Duration
	messages []reverie.Message // in order of arrival
	tokens   []int             // of each
	filtered []reverie.Message // that no session has
	sessions map[string]*arrival
	moved    map[string]string // sessions that have become part of another
	between  []*neighbours     // of each, where it stands between others
	folded   pg.Columns        // where turns of what a rolling summary covers have changed, and by how much
}

// arrival is a session that new messages belong to.
type arrival struct {
	reverie.Session
	messages []int             // by index
	parts    []reverie.Session // that it is made of, the earliest first
	stands   bool              // between others: see look
}

// divide gives each message its session, and locks those that are known.
func (a *arrivals) divide(ctx context.Context, t *pg.Tx) error {
	a.sessions, a.moved = map[string]*arrival{}, map[string]string{}
	if err := a.cut(ctx, t); err != nil {
		return err
	}
	for i := range a.messages {
		m := &a.messages[i]
		if to := a.moved[m.SessionID]; to != "" { // it names one that was cut, such as a message of an export
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

// cut finds the sessions of the messages that name none.
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

// name gives the cuts that are new an id that no session has, nor a message of
// these names.
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

// open notes a cut session: what is known of it, or of those that it is made of,
// which follow one another.
func (a *arrivals) open(c reverie.Cut, near []reverie.Session) {
	s := &arrival{Session: reverie.Session{GroupID: a.groupID, ID: c.ID, Cut: true}}
	a.sessions[c.ID] = s
	for _, was := range c.Was {
		s.parts = append(s.parts, near[slices.IndexFunc(near,
			func(k reverie.Session) bool { return k.ID == was })])
	}
	switch n := len(s.parts); n {
	case 0:
	case 1:
		s.Session = s.parts[0]
	default: // nobody has worked with any of them
		s.FirstAt, s.LastAt, s.Asking = s.parts[0].FirstAt, s.parts[n-1].LastAt, s.parts[n-1].Asking
		for _, part := range s.parts {
			s.Total, s.New, s.Folded = s.Total.Plus(part.Total), s.New.Plus(part.New), s.Folded.Plus(part.Folded)
		}
	}
}

// moved says which known sessions have become part of another by a cut.
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

// move gives the messages of sessions that are no more to those that they are part
// of now.
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
	var ids, at []string
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
	if err := t.Exec(ctx, saveSessionsQuery, a.groupID, at, pg.AsJSON(list)); err != nil {
		return err
	}
	_, err := a.folded.ExecRows(ctx, t, recountSummariesQuery, a.groupID)
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
		a.folded.Add(s.ID, gap.AfterAt, turn.Turns)
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

// What a session counts is written with the messages that it counts, and is at any
// time what these queries make of the rows: see reverie.Session.Add. A turn is
// counted with the assistant's message that ends it; tools do not stand between.
const (
	// The user or assistant before a message m of its session.
	roleBefore = `(select b.role from messages b where b.group_id = $1 and b.session_id = m.session_id
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
	AddNewQuery = `update sessions s set new_messages = new_messages + $5::int * c.messages,
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
