package store_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pgtest"
)

// besideImport imports batches of messages into one group by the store, and the same into a
// group like it in bare SQL: all into one session, or each batch into a new one of its own,
// or into sessions that silence cuts, of 40 messages each. At the end both have written as
// much to each table.
func besideImport(b *testing.B, w *world, town pgtest.Town, size int, session string) {
	ours, theirs := w.plot(town, 1), w.plot(town, 2)
	bare := newBareImport(b, pgtest.Bare(b))
	batch := func(p *plot) []reverie.Message {
		name := map[string]string{"one": "all", "new": fmt.Sprint("batch ", p.sent)}[session]
		from := p.sent
		list := p.lines(size, name)
		for i := range list {
			list[i].SentAt = list[i].SentAt.Add(time.Duration((from+i)/40) * time.Hour * cutHours[session])
		}
		return list
	}
	var laps pgtest.Beside
	for b.Loop() {
		list, same := batch(ours), bare.prepare(theirs.id, batch(theirs), session == "cut")
		laps.Time(func() { must(w.ImportMessages(b.Context(), ours.id, list))(b) }, func() { bare.insert(b, same) })
	}
	laps.Report(b)
	b.ReportMetric(float64(size)/laps.Ours.At(0.5).Seconds(), "messages/s")
	if diff := cmp.Diff(written(b, bare.db, theirs.id), written(b, bare.db, ours.id)); diff != "" {
		b.Fatalf("not the same has been written (-bare +ours):\n%s", diff)
	}
}

// cutHours is how long the silence after each 40 messages is.
var cutHours = map[string]time.Duration{"cut": 1}

// bareImport writes messages, what waits to be extracted, and the counts of sessions, as
// one would write it in an afternoon and well: in one transaction, by two prepared
// statements with arrays that are unnested, messages that are known being left alone. The
// rows, columns and indexes are the store's. It is told beforehand what the store finds out:
// the tokens of each text, the session of each message, and what each session gains. Left
// out is what the store does besides: it locks the group, so that imports of one group
// follow each other; refuses messages that cannot be stored; looks for those that are
// known, or erased; and counts turns that messages come between.
type bareImport struct {
	db                 *sql.DB
	messages, sessions *sql.Stmt
	open               map[string]*reverie.Session // cut by silence, and the last of it
	last               *reverie.Session
}

func newBareImport(b *testing.B, db *sql.DB) *bareImport {
	return &bareImport{db: db,
		messages: pgtest.Prepare(b, db, `with m as (
				insert into messages (group_id, message_id, author_id, author, role, text, sent_at, session_id, reply_to, filter, tokens)
				select $1, u.* from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::text[], $9::text[], $10::text[], $11::int[]) u
				on conflict (group_id, message_id) do nothing
				returning message_id, sent_at, session_id)
			insert into message_uses (group_id, job, message_id, sent_at, session_id) select $1, 'extract', message_id, sent_at, session_id from m`),
		sessions: pgtest.Prepare(b, db, `insert into sessions as s (group_id, session_id, cut, first_at, last_at, asking, messages, tokens, tool_calls, turns,
				new_messages, new_tokens, new_tool_calls, new_turns, created_at, updated_at)
			select $1, u.id, u.cut, u.first_at, u.last_at, u.asking, u.messages, u.tokens, u.calls, u.turns, u.messages, u.tokens, u.calls, u.turns, $2, $2
			from unnest($3::text[], $4::bool[], $5::timestamptz[], $6::timestamptz[], $7::bool[], $8::int[], $9::bigint[], $10::int[], $11::int[])
				as u (id, cut, first_at, last_at, asking, messages, tokens, calls, turns)
			on conflict (group_id, session_id) do update set last_at = excluded.last_at, asking = excluded.asking,
				messages = s.messages + excluded.messages, tokens = s.tokens + excluded.tokens, tool_calls = s.tool_calls + excluded.tool_calls, turns = s.turns + excluded.turns,
				new_messages = s.new_messages + excluded.new_messages, new_tokens = s.new_tokens + excluded.new_tokens,
				new_tool_calls = s.new_tool_calls + excluded.new_tool_calls, new_turns = s.new_turns + excluded.new_turns, updated_at = excluded.updated_at`),
	}
}

// bareBatch is what one import writes.
type bareBatch struct {
	group    string
	messages []reverie.Message
	tokens   pq.Int64Array
	sessions []*reverie.Session
}

// prepare finds out what the bare import is told.
func (i *bareImport) prepare(group string, list []reverie.Message, cut bool) bareBatch {
	batch := bareBatch{group: group, messages: list}
	gains := map[string]*reverie.Session{}
	for n := range list {
		m := &list[n]
		if cut && (i.last == nil || m.SentAt.Sub(i.last.LastAt) > reverie.DefaultSessionSilence) {
			i.last = &reverie.Session{ID: "cut " + m.ID, Cut: true}
		}
		if cut {
			m.SessionID = i.last.ID
		}
		if i.open == nil {
			i.open = map[string]*reverie.Session{}
		}
		whole := i.open[m.SessionID]
		if whole == nil {
			whole = &reverie.Session{ID: m.SessionID, Cut: cut}
			i.open[m.SessionID] = whole
		}
		gain := gains[m.SessionID]
		if gain == nil {
			gain = &reverie.Session{ID: m.SessionID, Cut: cut, Asking: whole.Asking}
			gains[m.SessionID] = gain
			batch.sessions = append(batch.sessions, gain)
		}
		tokens := text.EstimateTokens(m.Text)
		batch.tokens = append(batch.tokens, int64(tokens))
		whole.Add(*m, tokens)
		gain.Add(*m, tokens)
		if cut {
			i.last.LastAt = m.SentAt
		}
	}
	slices.SortFunc(batch.sessions, func(a, b *reverie.Session) int { return a.FirstAt.Compare(b.FirstAt) })
	return batch
}

func (i *bareImport) insert(b *testing.B, batch bareBatch) {
	tx := must(i.db.Begin())(b)
	var columns [9]pq.StringArray
	for _, m := range batch.messages {
		for c, v := range []string{m.ID, m.AuthorID, m.Author, string(m.Role), m.Text, m.SentAt.Format(rfc3339), m.SessionID, m.ReplyTo, string(m.Filter)} {
			columns[c] = append(columns[c], v)
		}
	}
	c := columns
	check(b, second(tx.Stmt(i.messages).Exec(batch.group, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], batch.tokens)))
	var ids, first, last pq.StringArray
	var cut, asking pq.BoolArray
	var messages, tokens, calls, turns pq.Int64Array
	for _, s := range batch.sessions {
		ids, first, last = append(ids, s.ID), append(first, s.FirstAt.Format(rfc3339)), append(last, s.LastAt.Format(rfc3339))
		cut, asking, messages = append(cut, s.Cut), append(asking, s.Asking), append(messages, int64(s.New.Messages))
		tokens, calls, turns = append(tokens, int64(s.New.Tokens)), append(calls, int64(s.New.ToolCalls)), append(turns, int64(s.New.Turns))
	}
	check(b, second(tx.Stmt(i.sessions).Exec(batch.group, noon, ids, cut, first, last, asking, messages, tokens, calls, turns)))
	check(b, tx.Commit())
}
