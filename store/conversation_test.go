package store_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// oddGroup is a group's id that must be escaped in many places.
const oddGroup = "组/a%2F b"

func idsOf(list []reverie.ConversationMessage) []string {
	ids := []string{}
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

// talk fills a group with messages of every state, several of one instant, in three
// sessions, and another group with messages of the same ids.
func talk(t *testing.T, w *world, db *sql.DB) {
	t.Helper()
	w.ensure(oddGroup)
	w.ensure("other")
	for _, id := range []string{oddGroup, "other"} {
		mustExec(t, db, `insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at)
			values ($1, $2, 'evolve', now(), now(), 'running', 1, now())`, id, reverie.NewID())
		mustExec(t, db, `insert into messages (group_id, message_id, author, role, text, sent_at, session_id, run_id, outcome, filter, pruned_at)
			select $1, 'm' || i, 'Lin', 'user', case when i = 5 then '' else 'line ' || i end, timestamptz '2026-01-15 12:00Z' + i / 3 * interval '1 minute', 's' || i % 3,
				case when i % 4 in (1, 2) then (select run_id from runs where group_id = $1) end,
				case i % 4 when 1 then 'cited' when 2 then 'considered' when 3 then 'filtered' end, case when i % 4 = 3 then 'bot' else '' end,
				case when i = 5 then now() end
			from generate_series(1, 24) i order by i * 7 % 25`, id)
	}
}

func mustExec(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// TestConversation reads messages in the order in which they were said, from anywhere
// and in pages of any size.
func TestConversation(t *testing.T) {
	w := newWorld(t)
	ctx, db := t.Context(), raw(t)
	talk(t, w, db)
	for _, session := range []string{"", "s1"} {
		all := pgtest.Rows(t, db, `select message_id from messages where group_id = $1 and ($2 = '' or session_id = $2) order by sent_at, seq`, oddGroup, session)
		page := func(q reverie.MessageQuery) reverie.MessagesReply {
			q.GroupID, q.SessionID = oddGroup, session
			reply := must(w.Conversation(ctx, q))(t)
			if !reply.Success || reply.GroupID != oddGroup {
				t.Errorf("reply %+v", reply)
			}
			return reply
		}
		for _, limit := range []int{1, 2, 5, len(all), 100} {
			var back, on []string
			for reply, before := page(reverie.MessageQuery{Limit: limit}), ""; ; reply = page(reverie.MessageQuery{Before: before, Limit: limit}) {
				if reply.Newer != (before != "") || len(reply.Messages) > limit {
					t.Fatalf("before %q: %+v", before, reply)
				}
				back = append(idsOf(reply.Messages), back...)
				if !reply.Older {
					break
				}
				before = back[0]
			}
			for reply := page(reverie.MessageQuery{After: all[0], Limit: limit}); ; reply = page(reverie.MessageQuery{After: on[len(on)-1], Limit: limit}) {
				on = append(on, idsOf(reply.Messages)...)
				if !reply.Newer {
					break
				}
			}
			if !slices.Equal(back, all) || !slices.Equal(on, all[1:]) {
				t.Errorf("in pages of %d, backwards:\n%v\nforwards:\n%v\nwant\n%v", limit, back, on, all)
			}
			for i := range all {
				reply := page(reverie.MessageQuery{Around: all[i], Limit: limit})
				from, to := max(0, i-(limit-1)+(limit-1)/2), min(len(all), i+1+(limit-1)/2)
				if diff := cmp.Diff(all[from:to], idsOf(reply.Messages)); diff != "" || reply.Older != (from > 0) || reply.Newer != (to < len(all)) {
					t.Errorf("%d around %s, older %v, newer %v (-want +got):\n%s", limit, all[i], reply.Older, reply.Newer, diff)
				}
			}
		}
	}
}

// TestConversationStates says of each message what became of it, and finds none that is
// another group's, or another session's.
func TestConversationStates(t *testing.T) {
	w := newWorld(t)
	ctx, db := t.Context(), raw(t)
	talk(t, w, db)
	run := pgtest.Rows(t, db, `select run_id from runs where group_id = $1`, oddGroup)[0]
	var got []string
	for _, m := range must(w.Conversation(ctx, reverie.MessageQuery{GroupID: oddGroup, SessionID: "s2", Limit: 4, After: "m2"}))(t).Messages {
		of := "none"
		if m.RunID != nil {
			of = strings.ReplaceAll(*m.RunID, run, "the run")
		}
		got = append(got, fmt.Sprintf("%s %q %s %s %v %s %s", m.ID, m.Text, m.State, m.Filter, m.Pruned, of, m.SentAt))
	}
	if diff := cmp.Diff([]string{
		`m5 "" cited  true the run 2026-01-15 12:01:00 +0000 UTC`,
		`m8 "line 8" pending  false none 2026-01-15 12:02:00 +0000 UTC`,
		`m11 "line 11" filtered bot false none 2026-01-15 12:03:00 +0000 UTC`,
		`m14 "line 14" considered  false the run 2026-01-15 12:04:00 +0000 UTC`}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	mustExec(t, db, `insert into messages (group_id, message_id, role, text, sent_at) values ('other', 'theirs', 'user', 'x', now())`)
	for _, q := range []reverie.MessageQuery{{GroupID: "nowhere"}, {GroupID: "nowhere", Before: "m1"}, {GroupID: oddGroup, Around: "theirs"},
		{GroupID: oddGroup, Before: "m1", SessionID: "s2"}, {GroupID: oddGroup, SessionID: "s9"}, {GroupID: oddGroup, After: strings.Repeat("m", 10_000)}} {
		q.Limit = 5
		wantErr(t, second(w.Conversation(ctx, q)), reverie.ErrNotFound)
	}
	wantErr(t, second(w.Conversation(ctx, reverie.MessageQuery{GroupID: oddGroup, Around: "\x00", Limit: 5})), reverie.ErrInvalid)
	wantErr(t, second(w.Conversation(ctx, reverie.MessageQuery{GroupID: "\xff", Limit: 5})), reverie.ErrInvalid)
	if reply := must(w.Conversation(ctx, reverie.MessageQuery{GroupID: group, Limit: 5}))(t); len(reply.Messages) != 0 || reply.Messages == nil || reply.Older {
		t.Errorf("of a group where nothing was said: %+v", reply)
	}
}

// TestConversationOfLongTexts gives no more text than a page may have, and says that
// there is more.
func TestConversationOfLongTexts(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	mustExec(t, raw(t), `insert into messages (group_id, message_id, role, text, sent_at)
		select $1, 'm' || i, 'user', repeat('长', 349525), timestamptz '2026-01-15Z' + i * interval '1 minute' from generate_series(1, 9) i`, group)
	for name, c := range map[string]struct {
		q            reverie.MessageQuery
		want         string
		older, newer bool
	}{
		"newest": {reverie.MessageQuery{}, "m6 m7 m8 m9", true, false},
		"before": {reverie.MessageQuery{Before: "m3"}, "m1 m2", false, true},
		"after":  {reverie.MessageQuery{After: "m2"}, "m3 m4 m5 m6", true, true},
		"around": {reverie.MessageQuery{Around: "m5"}, "m4 m5 m6 m7", true, true},
	} {
		c.q.GroupID, c.q.Limit = group, 100
		reply := must(w.Conversation(ctx, c.q))(t)
		if got := strings.Join(idsOf(reply.Messages), " "); got != c.want || reply.Older != c.older || reply.Newer != c.newer {
			t.Errorf("%s: %s, older %v, newer %v; want %+v", name, got, reply.Older, reply.Newer, c)
		}
	}
}
