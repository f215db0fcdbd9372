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
	folded   struct {          // where turns of what a rolling summary covers have changed, and by how much
		ids, at pq.StringArray
		turns   pq.Int64Array
	}
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
	var ids pq.StringArray
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
		a.sessions[row.ID].Session = utcSession(row)
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
		var ids pq.StringArray
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
		s.parts = append(s.parts, utcSession(near[slices.IndexFunc(near,
			func(k reverie.Session) bool { return k.ID == was })]))
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
	var ids pq.StringArray
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
	var from, to pq.StringArray
	for _, old := range slices.Sorted(maps.Keys(a.moved)) {
		from, to = append(from, old), append(to, a.moved[old])
	}
	if _, err := t.Exec(ctx, moveMessagesQuery, a.groupID, from, to); err != nil {
		return err
	}
	if _, err := t.Exec(ctx, moveUsesQuery, a.groupID, from, to); err != nil {
		return err
	}
	_, err := t.Exec(ctx, dropSessionsQuery, a.groupID, from)
	return err
}
