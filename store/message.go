package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie"
)

// messageColumns are those of reverie.Message.
const messageColumns = `group_id, message_id, author_id, author, role, text, sent_at, session_id, reply_to, run_id, outcome`

// MaxImport is how many messages one ImportMessages takes.
const MaxImport = 1000

const importQuery = `
	insert into messages (group_id, message_id, author_id, author, role, text, sent_at, session_id, reply_to)
	select $1, u.id, u.author_id, u.author, u.role, u.text, u.sent_at, u.session_id, u.reply_to
	from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::text[], $9::text[])
		with ordinality as u (id, author_id, author, role, text, sent_at, session_id, reply_to, no)
	order by u.no
	on conflict (group_id, message_id) do nothing`

// ImportMessages stores messages that are not there yet, in their order of
// arrival, at most [MaxImport] at once. A message whose id is known, or comes
// twice, is left as it was first. An unknown group is reverie.ErrNotFound; a
// message that cannot be stored is reverie.ErrInvalid, and then none is. Where
// the connection broke and the import was repeated, messages of this very call
// may be counted as known.
func (s *Store) ImportMessages(ctx context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error) {
	var result reverie.ImportResult
	if len(messages) > MaxImport {
		return result, fmt.Errorf("import %d messages at once: at most %d: %w", len(messages), MaxImport, reverie.ErrInvalid)
	}
	if len(messages) == 0 {
		return result, nil
	}
	columns := make([][]string, 8)
	for i, m := range messages {
		if err := m.Normalize(); err != nil {
			return result, fmt.Errorf("message %d of the batch (id %q): %w", i+1, m.ID, err)
		}
		for c, v := range []string{m.ID, m.AuthorID, m.Author, string(m.Role), m.Text, timestamp(m.SentAt), m.SessionID, m.ReplyTo} {
			columns[c] = append(columns[c], v)
		}
	}
	args := []any{groupID}
	for _, c := range columns {
		args = append(args, pq.StringArray(c))
	}
	err := s.run(ctx, work{
		what:    fmt.Sprintf("import %d messages into group %q", len(messages), groupID),
		prepare: []string{importQuery},
		do: func(ctx context.Context, t *tx) error {
			n, err := t.exec(ctx, importQuery, args...)
			result = reverie.ImportResult{New: n, Known: len(messages) - n}
			return err
		},
	})
	return result, err
}

// MessageCounts counts a group's messages by what became of them. The four add
// up to all there are.
type MessageCounts struct {
	Pending    int `db:"pending"`
	Cited      int `db:"cited"`
	Considered int `db:"considered"`
	Filtered   int `db:"filtered"`
}

// MessageCounts counts the messages of a group by outcome.
func (s *Store) MessageCounts(ctx context.Context, groupID string) (MessageCounts, error) {
	var c MessageCounts
	err := s.run(ctx, work{what: fmt.Sprintf("count the messages of group %q", groupID), readOnly: true, do: func(ctx context.Context, t *tx) error {
		return t.get(ctx, &c, `select count(*) filter (where outcome is null) as pending,
			count(*) filter (where outcome = 'cited') as cited,
			count(*) filter (where outcome = 'considered') as considered,
			count(*) filter (where outcome = 'filtered') as filtered
			from messages where group_id = $1`, groupID)
	}})
	return c, err
}

// CountPending counts a group's pending messages sent in [since, until); zero
// times are no bound.
func (s *Store) CountPending(ctx context.Context, groupID string, since, until time.Time) (int, error) {
	var n int
	err := s.run(ctx, work{what: fmt.Sprintf("count the pending messages of group %q", groupID), readOnly: true, do: func(ctx context.Context, t *tx) error {
		return t.get(ctx, &n, `select count(*)`+pendingWhere, groupID, orMinusInfinity(since), orInfinity(until))
	}})
	return n, err
}

// utcMessages turns times that come back in the session's zone into UTC.
func utcMessages(list []reverie.Message) []reverie.Message {
	for i := range list {
		list[i].SentAt = list[i].SentAt.UTC()
	}
	return list
}
