package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/events"
	"reverie/store/pg"
)

// MessageColumns are the columns of reverie.Message.
const MessageColumns = `group_id, message_id, author_id, author, role, text, sent_at, session_id, reply_to, run_id,
	outcome, filter`

// MaxImport is the most messages of one ImportMessages.
const MaxImport = 1000

const (
	// One lookup by key for each id. With a list of ids, a plan made while the table was empty would read the whole
	// group. Of an erased message only the hash of its id is known. A program's answer to it was erased, too.
	knownMessagesQuery = `select k.id, w.text_sha256 is null as erased, coalesce(w.text_sha256, '') as text_sha256,
			w.edited_at, w.reactions
		from unnest($2::text[], $4::text[]) as k (id, answered) left join lateral (select case when m.pruned_at is null
			then encode(sha256(convert_to(m.text, 'UTF8')), 'hex') else '' end as text_sha256, m.edited_at,
				m.reactions from messages m where m.group_id = $1 and m.message_id = k.id limit 1) w on true
		where w.text_sha256 is not null or not $3::bool and (select true from unnest(array[k.id, k.answered]) as k (id)
			cross join lateral (select 1 from erased_messages e where e.group_id = $1
				and e.message_sha256 = ` + ErasedMessageHash + ` limit 1) e limit 1)`

	// The messages m of a group whose ids are in $3, each looked up by its key.
	messagesByID = `unnest($3::text[]) as k (id)
		cross join lateral (select x.* from messages x where x.group_id = $1 and x.message_id = k.id limit 1) m`

	// Every message is queued for the extraction of its session, unless it is filtered. An answer to an erased message
	// loses its reference.
	importQuery = `with m as (
			insert into messages (group_id, seq, message_id, author_id, author, role, text, sent_at, session_id, reply_to, filter,
				outcome, tokens, edited_at, reactions)
			select $1, ` + events.Number + ` + u.no, u.id, u.author_id, u.author, u.role, u.text, u.sent_at, u.session_id,
				case when exists (select 1 from erased_messages e cross join (select u.reply_to as id) k
					where e.group_id = $1 and e.message_sha256 = ` + ErasedMessageHash + `) then '' else u.reply_to end,
				u.filter, case when u.filter <> '' then 'filtered' end, u.tokens, u.edited_at, u.reactions
			from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::text[], $9::text[],
				$10::text[], $11::int[], $12::timestamptz[], $13::jsonb[])
				with ordinality as u (id, author_id, author, role, text, sent_at, session_id, reply_to, filter, tokens,
					edited_at, reactions, no)
			returning message_id, sent_at, session_id, filter),
		waiting as (
			insert into message_uses (group_id, job, message_id, sent_at, session_id)
			select $1, 'extract', message_id, sent_at, session_id from m where filter = '')
		select 1`
)

// ImportMessages stores new messages in their order of arrival, at most [MaxImport] at once. A message whose id is
// known, or comes twice, is not changed, because memories quote it. If its text differs now, it is counted as changed,
// too.
//
// Each new message belongs to the session that it names, or else to one cut by silence (see reverie.CutBySilence). It
// is counted there and queued for extraction. A message with a Filter is in no session, in no count and in no queue. An
// erased message is not stored again, but counted as erased: see [Store.ReimportMessages]. An unknown group is
// reverie.ErrNotFound. If a message cannot be stored, the error is reverie.ErrInvalid, and none is stored.
func (s *Store) ImportMessages(ctx context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult,
	error) {
	return s.importMessages(ctx, groupID, messages, false, nil)
}

// ReimportMessages is [Store.ImportMessages] that also stores erased messages again, because a person has asked for it.
func (s *Store) ReimportMessages(ctx context.Context, groupID string,
	messages []reverie.Message) (reverie.ImportResult, error) {
	return s.importMessages(ctx, groupID, messages, true, nil)
}

// importMessages stores messages, and calls note in the same transaction with the number of new ones.
func (s *Store) importMessages(ctx context.Context, groupID string, messages []reverie.Message, erased bool,
	note func(ctx context.Context, t *pg.Tx, fresh int) error) (reverie.ImportResult, error) {
	if len(messages) > MaxImport {
		return reverie.ImportResult{}, fmt.Errorf("import %d messages at once: at most %d: %w", len(messages), MaxImport,
			reverie.ErrInvalid)
	}
	if err := reverie.CheckChat(groupID); err != nil {
		return reverie.ImportResult{}, err
	}
	if len(messages) == 0 {
		return reverie.ImportResult{}, nil
	}
	var result reverie.ImportResult
	list, seen := make([]reverie.Message, 0, len(messages)), map[string]bool{}
	for i, m := range messages {
		if err := m.Normalize(); err != nil {
			return result, fmt.Errorf("message %d of the batch (id %q): %w", i+1, m.ID, err)
		}
		if !seen[m.ID] {
			seen[m.ID] = true
			list = append(list, m)
		}
	}
	err := s.db.Of(ctx, groupID).Run(ctx, pg.Work{
		What:  fmt.Sprintf("import %d messages into group %q", len(messages), groupID),
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) (err error) {
			result, err = s.arrive(ctx, t, groupID, list, erased)
			result.Known = len(messages) - result.New - result.Erased
			if err == nil && note != nil {
				err = note(ctx, t, result.New)
			}
			return err
		},
	}.Once(groupID))
	return result, err
}

// arrive stores the new ones of the messages. It counts them, the erased ones, and those whose text has changed; with
// erased it stores erased ones, too. Imports of a group run one after another, so that each sees the sessions of those
// before.
func (s *Store) arrive(ctx context.Context, t *pg.Tx, groupID string, messages []reverie.Message,
	erased bool) (res reverie.ImportResult, err error) {
	group, err := LockGroup(ctx, t, groupID)
	if err != nil {
		return res, err
	}
	silence, err := group.Silence(s.SessionSilence)
	if err != nil {
		return res, err
	}
	var ids, answered []string
	for _, m := range messages {
		ids, answered = append(ids, m.ID), append(answered, "")
		if m.Role != reverie.RoleUser {
			answered[len(ids)-1] = m.ReplyTo
		}
	}
	known, err := pg.Select[struct {
		ID         string
		Erased     bool
		TextSHA256 string     `db:"text_sha256"`
		EditedAt   *time.Time `db:"edited_at"`
		Reactions  pg.JSON[[]reverie.Reaction]
	}](ctx, t, knownMessagesQuery, groupID, ids, erased, answered)
	if err != nil {
		return res, err
	}
	there := map[string]int{}
	for i, k := range known {
		there[k.ID] = i
	}
	a := &arrivals{groupID: groupID, silence: silence}
	for _, m := range messages {
		switch i, found := there[m.ID]; {
		case found && known[i].Erased:
			if !m.Deleted { // a deletion has no text to keep away
				res.Erased++
			}
		case found:
			stored := known[i]
			same := stored.TextSHA256 == fmt.Sprintf("%x", sha256.Sum256([]byte(m.Text)))
			if slices.ContainsFunc(stored.Reactions.V, func(r reverie.Reaction) bool { return r.AuthorID == text.Erased }) {
				m.Reactions = nil // they would name the erased person
			}
			c := m.Since(stored.EditedAt, stored.Reactions.V, same)
			if stored.TextSHA256 == "" { // its text was pruned
				c.Text = nil
			} else if !same && c.Text == nil && !c.Deleted {
				res.Changed++
			}
			if !c.Nothing() {
				res.Changes = append(res.Changes, c)
			}
		case m.Deleted: // noted, so that an older export cannot bring it back
			res.Changes = append(res.Changes, reverie.MessageChange{ID: m.ID, Deleted: true})
		case m.Filter != reverie.FilterNone:
			m.SessionID = ""
			a.filtered = append(a.filtered, m)
		default:
			a.messages, a.tokens = append(a.messages, m), append(a.tokens, text.EstimateTokens(m.Text))
		}
	}
	res.New = len(a.messages) + len(a.filtered)
	switch {
	case res.New == 0:
		return res, nil
	case len(a.messages) == 0:
		return res, a.insert(ctx, t)
	}
	if err := a.divide(ctx, t); err != nil {
		return res, err
	}
	if err := a.insert(ctx, t); err != nil {
		return res, err
	}
	return res, a.count(ctx, t, s.db.Now())
}

func (a *arrivals) insert(ctx context.Context, t *pg.Tx) error {
	var rows pg.Columns
	for i, m := range slices.Concat(a.messages, a.filtered) {
		tokens := 0 // no count includes filtered messages
		if i < len(a.messages) {
			tokens = a.tokens[i]
		}
		rows.Add(m.ID, m.AuthorID, m.Author, m.Role, m.Text, m.SentAt, m.SessionID, m.ReplyTo, m.Filter, tokens, m.EditedAt,
			pg.JSON[[]reverie.Reaction]{V: append([]reverie.Reaction{}, m.Reactions...)})
	}
	return rows.Exec(ctx, t, importQuery, a.groupID)
}

// CountPending counts a group's pending messages sent in [since, until); zero times are no bound.
func (s *Store) CountPending(ctx context.Context, groupID string, since, until time.Time) (int, error) {
	var n int
	err := s.db.Of(ctx, groupID).QueryRow(ctx, fmt.Sprintf("count the pending messages of group %q", groupID), &n,
		`select count(*)`+pendingWhere, groupID, pg.OrMinusInfinity(since), pg.OrInfinity(until))
	return n, err
}

// maxPageText is the most bytes of text in a page of messages. A page around a message has half of it on each side. The
// longest message is shorter than that half.
const maxPageText = 4 << 20

// messagePlaceQuery reads the place of a message in its group, or in its session.
const messagePlaceQuery = `select sent_at, seq from messages where group_id = $1 and message_id = $2 and ($3 = ''
	or session_id = $3)`

// A group's messages are in three indexes, by what became of them. The messages of a session are in one.
var (
	ofGroup   = []string{`run_id is null and outcome is null`, `run_id is not null`, `filter <> ''`}
	ofSession = []string{`session_id = $6 and session_id <> ''`}
)

// The side of a place to read.
const (
	older = "<"
	upTo  = "<="
	newer = ">"
)

// conversationQuery reads messages on one side of a place, nearest first, up to a number of messages and a number of
// bytes. The first one comes whatever its length. The lengths are summed up before any text is read.
func conversationQuery(parts []string, side string) string {
	order := "sent_at desc, seq desc"
	if side == newer {
		order = "sent_at, seq"
	}
	near := make([]string, len(parts))
	for i, where := range parts {
		near[i] = `(select ` + MessageColumns + `, edited_at, reactions, pruned_at, seq from messages
			where group_id = $1 and ` + where + ` and (sent_at, seq) ` + side + ` ($2::timestamptz, $3::bigint) order by ` + order + ` limit $4::int)`
	}
	return `select ` + MessageColumns + `, edited_at, reactions, pruned_at is not null as pruned, found from (
			select m.*, row_number() over near as no, sum(octet_length(text)) over near as bytes, count(*) over () as found
			from (select * from (` + strings.Join(near, ` union all `) + `) u order by ` + order + ` limit $4::int) m
			window near as (order by ` + order + ` rows unbounded preceding)) n
		where no = 1 or bytes <= $5::bigint order by no`
}

// Conversation returns a page of a group's or a session's messages, ordered by the time of sending, then of arrival.
// Long messages make the page shorter than the limit. A group, session or message that does not exist is
// reverie.ErrNotFound. So is a message of another session.
func (s *Store) Conversation(ctx context.Context, q reverie.MessageQuery) (reverie.MessagesReply, error) {
	what := fmt.Sprintf("read messages of group %q", q.GroupID)
	return read(ctx, s, q.GroupID, what, func(ctx context.Context, t *pg.Tx) (reply reverie.MessagesReply, err error) {
		reply = reverie.MessagesReply{Success: true, GroupID: q.GroupID, Messages: []reverie.ConversationMessage{}}
		c := conversation{t: t, q: q}
		if id := cmp.Or(q.Before, q.After, q.Around); id != "" {
			err = t.Get(ctx, &c.at, messagePlaceQuery, q.GroupID, id, q.SessionID)
			if err != nil {
				return reply, pg.NotFoundIfEmpty(err, "message %q", id)
			}
		}
		switch {
		case q.Before != "":
			reply.Newer = true
			reply.Messages, reply.Older, err = c.read(ctx, older, q.Limit, maxPageText)
		case q.After != "":
			reply.Older = true
			reply.Messages, reply.Newer, err = c.read(ctx, newer, q.Limit, maxPageText)
		case q.Around != "":
			after := (q.Limit - 1) / 2
			reply.Messages, reply.Older, err = c.read(ctx, upTo, q.Limit-after, maxPageText/2)
			if err == nil {
				var later []reverie.ConversationMessage
				later, reply.Newer, err = c.read(ctx, newer, after, maxPageText/2)
				reply.Messages = append(reply.Messages, later...)
			}
		default:
			reply.Messages, reply.Older, err = c.read(ctx, upTo, q.Limit, maxPageText)
		}
		if err != nil || len(reply.Messages) > 0 {
			return reply, err
		}
		err = c.exists(ctx)
		return reply, err
	})
}

// conversation reads parts of a page on the sides of a place. A place without a time is after all messages.
type conversation struct {
	t  *pg.Tx
	q  reverie.MessageQuery
	at struct {
		SentAt time.Time `db:"sent_at"`
		Seq    int64
	}
}

// read returns messages on one side of the place, oldest first, and whether there are more.
func (c conversation) read(ctx context.Context, side string, limit, text int) (list []reverie.ConversationMessage,
	more bool, err error) {
	parts, args := ofGroup, []any{c.q.GroupID, pg.OrInfinity(c.at.SentAt), c.at.Seq, limit + 1,
		text} // one more, to see whether there are more
	if c.q.SessionID != "" {
		parts, args = ofSession, append(args, c.q.SessionID)
	}
	var rows []struct {
		reverie.Message
		Reactions pg.JSON[[]reverie.Reaction]
		Pruned    bool
		Found     int
	}
	if err := c.t.Select(ctx, &rows, conversationQuery(parts, side), args...); err != nil {
		return nil, false, err
	}
	list = []reverie.ConversationMessage{}
	for _, r := range rows[:min(limit, len(rows))] {
		list = append(list, reverie.ConversationMessage{Message: r.Message, State: r.State(), RunID: r.RunID,
			Pruned: r.Pruned, Reactions: reverie.CountReactions(r.Reactions.V)})
	}
	if side != newer {
		slices.Reverse(list)
	}
	return list, len(rows) > 0 && rows[0].Found > len(list), nil
}

// exists returns why there are no messages: an error if the group or the session does not exist.
func (c conversation) exists(ctx context.Context) error {
	if _, err := GetGroup(ctx, c.t, c.q.GroupID); err != nil || c.q.SessionID == "" || c.q.Before+c.q.After != "" {
		return err
	}
	return fmt.Errorf("session %q: %w", c.q.SessionID, reverie.ErrNotFound)
}
