package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// maxPageText is how many bytes of text a page of messages has, half of it on each side
// of the one that it is around. The longest message has less than that half.
const maxPageText = 4 << 20

// messagePlaceQuery looks up where a message stands in its group, or in its session.
const messagePlaceQuery = `select sent_at, seq from messages where group_id = $1 and message_id = $2 and ($3 = ''
	or session_id = $3)`

// A group's messages are in three indexes, by what became of them; those of a session
// are in one.
var (
	ofGroup   = []string{`run_id is null and outcome is null`, `run_id is not null`, `filter <> ''`}
	ofSession = []string{`session_id = $6 and session_id <> ''`}
)

// readOn is a way to read on from a place in a group, or in one of its sessions.
type readOn struct{ group, session string }

func newReadOn(side, order string) readOn {
	return readOn{conversationQuery(ofGroup, side, order), conversationQuery(ofSession, side, order)}
}

var (
	readOlder = newReadOn("<", "desc")
	readUpTo  = newReadOn("<=", "desc")
	readNewer = newReadOn(">", "asc")
)

// conversationQuery reads messages on one side of a place, the nearest first: so many,
// and so many bytes of text, the first one whatever its length. Lengths are summed up
// before any text is read.
func conversationQuery(parts []string, side, order string) string {
	var near string
	for i, where := range parts {
		if i > 0 {
			near += ` union all `
		}
		near += `(select ` + messageColumns + `, pruned_at, seq from messages where group_id = $1 and ` + where + `
			and (sent_at, seq) ` + side + ` ($2::timestamptz, $3::bigint) order by sent_at ` + order + `, seq ` + order + `
				limit $4::int)`
	}
	return `select ` + messageColumns + `, pruned_at is not null as pruned, found from (
			select m.*, row_number() over near as no, sum(octet_length(text)) over near as bytes, count(*) over () as found
			from (select * from (` + near + `) u order by sent_at ` + order + `, seq ` + order + ` limit $4::int) m
			window near as (order by sent_at ` + order + `, seq ` + order + ` rows unbounded preceding)) n
		where no = 1 or bytes <= $5::bigint order by no`
}

// Conversation returns a page of a group's messages, or of a session's, oldest first, by
// when they were sent and then by when they came in. It has fewer than the limit where
// they are long. A group, session or message that is not there is reverie.ErrNotFound, and
// so is a message of another session.
func (s *Store) Conversation(ctx context.Context, q reverie.MessageQuery) (reverie.MessagesReply, error) {
	var reply reverie.MessagesReply
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("read messages of group %q", q.GroupID), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			reply = reverie.MessagesReply{Success: true, GroupID: q.GroupID, Messages: []reverie.ConversationMessage{}}
			c := conversation{t: t, q: q}
			var err error
			switch {
			case q.Before != "":
				reply.Newer = true
				reply.Messages, reply.Older, err = c.beside(ctx, q.Before, readOlder)
			case q.After != "":
				reply.Older = true
				reply.Messages, reply.Newer, err = c.beside(ctx, q.After, readNewer)
			case q.Around != "":
				err = c.around(ctx, &reply)
			default:
				reply.Messages, reply.Older, err = c.read(ctx, readUpTo, messagePlace{}, q.Limit, maxPageText)
			}
			if err != nil || len(reply.Messages) > 0 {
				return err
			}
			return c.exists(ctx)
		}})
	return reply, err
}

// conversation reads parts of a page.
type conversation struct {
	t *pg.Tx
	q reverie.MessageQuery
}

// messagePlace is where a message stands. Behind all of them is one without a time.
type messagePlace struct {
	SentAt time.Time `db:"sent_at"`
	Seq    int64     `db:"seq"`
}

func (c conversation) find(ctx context.Context, messageID string) (at messagePlace, err error) {
	err = c.t.Get(ctx, &at, messagePlaceQuery, c.q.GroupID, messageID, c.q.SessionID)
	return at, pg.NotFoundIfEmpty(err, "message %q", messageID)
}

// beside reads what is on one side of a message.
func (c conversation) beside(ctx context.Context, messageID string, on readOn) ([]reverie.ConversationMessage, bool,
	error) {
	at, err := c.find(ctx, messageID)
	if err != nil {
		return nil, false, err
	}
	return c.read(ctx, on, at, c.q.Limit, maxPageText)
}

// around reads a message and what is on both sides of it.
func (c conversation) around(ctx context.Context, reply *reverie.MessagesReply) error {
	at, err := c.find(ctx, c.q.Around)
	if err != nil {
		return err
	}
	after := (c.q.Limit - 1) / 2
	if reply.Messages, reply.Older, err = c.read(ctx, readUpTo, at, c.q.Limit-after, maxPageText/2); err != nil {
		return err
	}
	later, more, err := c.read(ctx, readNewer, at, after, maxPageText/2)
	reply.Messages, reply.Newer = append(reply.Messages, later...), more
	return err
}

// read returns messages on one side of a place, oldest first, and whether there are
// more on it.
func (c conversation) read(ctx context.Context, on readOn, at messagePlace, limit,
	text int) (list []reverie.ConversationMessage, more bool, err error) {
	query, args := on.group, []any{c.q.GroupID, pg.OrInfinity(at.SentAt), at.Seq, limit + 1,
		text} // one more, to see whether there are more
	if c.q.SessionID != "" {
		query, args = on.session, append(args, c.q.SessionID)
	}
	var rows []struct {
		reverie.Message
		Pruned bool `db:"pruned"`
		Found  int  `db:"found"`
	}
	if err := c.t.Select(ctx, &rows, query, args...); err != nil {
		return nil, false, err
	}
	list = []reverie.ConversationMessage{}
	for _, r := range rows[:min(limit, len(rows))] {
		r.SentAt = r.SentAt.UTC()
		list = append(list, reverie.ConversationMessage{Message: r.Message, State: r.State(), RunID: r.RunID,
			Pruned: r.Pruned})
	}
	if on != readNewer {
		slices.Reverse(list)
	}
	return list, len(rows) > 0 && rows[0].Found > len(list), nil
}

// exists tells why there are no messages: there is no such group, or session.
func (c conversation) exists(ctx context.Context) error {
	if _, err := GetGroup(ctx, c.t, c.q.GroupID); err != nil || c.q.SessionID == "" || c.q.Before+c.q.After != "" {
		return err
	}
	return fmt.Errorf("session %q: %w", c.q.SessionID, reverie.ErrNotFound)
}
