package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pgtest"
)

// quotes are the messages that a context would be given for a question, by id.
func (w *world) quotes(ctx context.Context, groupID, session, asked string) string {
	w.t.Helper()
	return w.quotesUntil(ctx, groupID, session, asked, later)
}

func (w *world) quotesUntil(ctx context.Context, groupID, session, asked string, until time.Time) string {
	w.t.Helper()
	state := must(w.RecallState(ctx, reverie.RecallQuery{GroupID: groupID, SessionID: session, Quotes: 9, Asked: text.Scripts(asked),
		Until: until, Share: 0.25}))(w.t)
	var ids []string
	for _, q := range state.Quotes {
		ids = append(ids, q.MessageID)
	}
	return strings.Join(ids, " ")
}

// said imports messages, a minute apart and the last one a minute before noon, by their texts and ids from 0 on.
func (w *world) said(groupID, session string, texts ...string) {
	w.t.Helper()
	var list []reverie.Message
	for i, s := range texts {
		list = append(list, reverie.Message{ID: fmt.Sprintf("%s%d", session, i), AuthorID: "u1", Author: "Lin", Role: reverie.RoleUser, Text: s,
			SessionID: session, SentAt: noon.Add(time.Duration(i-len(texts)) * time.Minute)})
	}
	for some := range slices.Chunk(list, 1000) {
		must(w.ImportMessages(w.t.Context(), groupID, some))(w.t)
	}
}

// TestQuotes: messages are found by the words that they share with a question, in any form of them, and those that share little,
// or belong to the session itself, to a tool, to the future or to nobody any more, are not.
func TestQuotes(t *testing.T) {
	w := newWorld(t)
	w.ensure("g2")
	w.said(group, "a", "The ferry to Oslo leaves at seven.", "Who feeds the cats?", "林晓对花生过敏，很严重", "We took two ferries", "老师说下周考试", "it's a\\b 'quoted' thing")
	w.said("g2", "a", "Ferries and cats of other people")
	w.say("talk", "tu")
	ctx := t.Context()
	must(raw(t).Exec(`update messages set text = 'a ferry of the tool' where message_id = 'talk-00'`))(t)
	must(raw(t).Exec(`update messages set text = 'a ferry of this session' where message_id = 'talk-01'`))(t)
	for _, c := range []struct{ session, asked, want string }{
		{"", "when does the FERRY leave?", "a0 talk-01 a3"},
		{"talk", "when does the ferry leave?", "a0 a3"},
		{"a", "when does the ferry leave?", "talk-01"},
		{"", "林曉對什麼過敏？", "a2"},
		{"", "老師考試", "a4"},
		{"", "feeding a cat", "a1"},
		{"", `a\b 'quoted'`, "a5"},
		{"", "penguins, glaciers, icebergs and one ferry", ""},
		{"", "?!", ""},
		{"", "the", ""},
		{"", "", ""},
	} {
		if got := w.quotes(ctx, group, c.session, c.asked); got != c.want {
			t.Errorf("%q beside %q: %q, want %q", c.asked, c.session, got, c.want)
		}
	}
	if got := w.quotesUntil(ctx, group, "a", "ferry", noon.Add(-1000*time.Minute)); got != "" {
		t.Errorf("before anything was said of them: %q", got)
	}
	if got := w.quotesUntil(ctx, group, "", "ferry", noon.Add(-6*time.Minute)); got != "talk-01 a0" {
		t.Errorf("up to the first: %q", got)
	}
	past := must(w.RecallState(ctx, reverie.RecallQuery{GroupID: group, At: noon.Add(-6 * time.Minute), Quotes: 9, Asked: []string{"ferry"},
		Until: noon.Add(-6 * time.Minute)}))(t)
	if len(past.Quotes) != 2 || past.Quotes[1].Author != "Lin" || !past.Quotes[1].SentAt.Equal(noon.Add(-6*time.Minute)) || past.Quotes[1].Text != "The ferry to Oslo leaves at seven." {
		t.Errorf("of an instant: %+v", past.Quotes)
	}
	for _, gone := range []string{`outcome = 'filtered', filter = 'bot', run_id = null`, `text = '', pruned_at = now()`} {
		must(raw(t).Exec(`update messages set ` + gone + ` where message_id = 'a0'`))(t)
		if got := w.quotes(ctx, group, "talk", "ferry"); got != "a3" {
			t.Errorf("%s: %q", gone, got)
		}
	}
}

// TestQuotesOfALongChat: beyond the newest messages, which are looked through, a rare word is found by the index, and so are those
// that have all of the common words asked for.
func TestQuotesOfALongChat(t *testing.T) {
	w := newWorld(t)
	lines := make([]string, 3000)
	for i := range lines {
		lines[i] = [...]string{"apples for breakfast", "pears for dinner", "plums at noon", "nothing much"}[i%4]
	}
	lines[3], lines[7] = "apples and pears in one cake", "the zeppelin is late, apples"
	w.said(group, "s", lines...)
	for asked, want := range map[string]string{"zeppelin": "s7", "a zeppelin of plums": "s7", "apples pears": "s3"} {
		if got := w.quotes(t.Context(), group, "", asked); !strings.HasPrefix(got+" ", want+" ") {
			t.Errorf("%q: %q, want %s first", asked, got, want)
		}
	}
	if got := w.quotes(t.Context(), group, "", "apples"); !strings.HasPrefix(got, "s2996 s2992 ") {
		t.Errorf("the newest of many: %q", got)
	}
}

// TestQuotesAreConfined: who may not read a group, or not messages at all, is given no quotes of it, also by calling
// the function itself.
func TestQuotesAreConfined(t *testing.T) {
	pgtest.OnOneServer(t, "the tables have no policies")
	w := newWorld(t)
	w.ensure("g2")
	w.said(group, "a", "the ferry leaves at seven")
	for name, c := range map[string]struct {
		ctx  context.Context
		want string
	}{"itself": {t.Context(), "a0"}, "its reader": {store.AsReader(t.Context(), "g2", group), "a0"}, "who reads all": {store.AsReaderOfAll(t.Context()), "a0"}} {
		if got := w.quotes(c.ctx, group, "", "ferry"); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	_, err := w.RecallState(store.AsReader(t.Context(), "g2"), reverie.RecallQuery{GroupID: group, Quotes: 9, Asked: []string{"ferry"}, Until: noon})
	wantErr(t, err, reverie.ErrNotFound)

	db := raw(t)
	must(db.Exec(`do $$ begin
		if not exists (select from pg_roles where rolname = 'reverie_stranger') then create role reverie_stranger nologin; end if;
	exception when duplicate_object or unique_violation then null; end $$`))(t)
	must(db.Exec(`grant usage on schema public to reverie_stranger`))(t)
	for settings, want := range map[string]int{
		``: 1,
		`set local role reverie_reader; set local reverie.groups = '*'`:                                             1,
		`set local role reverie_reader; set local reverie.groups = '{g2,g1}'`:                                       1,
		`set local role reverie_reader; set local reverie.groups = '{g2}'`:                                          0,
		`set local role reverie_reader; set local reverie.groups = '{}'`:                                            0,
		`set local role reverie_reader; set local reverie.groups = 'g1'`:                                            0,
		`set local role reverie_reader`:                                                                             0,
		`set local role reverie_stranger; set local reverie.groups = '*'`:                                           0,
		`set local role reverie_stranger; set local search_path = pg_temp, public`:                                  0,
		`set local reverie.groups = '{g2}'`:                                                                         1, // a role without a policy reads all, as its tables say
		`set local role reverie_reader; set local reverie.groups = '{g2}'; set local search_path = pg_temp, public`: 0,
		`set local role reverie_reader; set local reverie.groups = '{g1}'; create temp view messages as select message_id, group_id, author, role, ''::text as text,
			sent_at, seq, run_id, outcome, pruned_at, session_id, ''::tsvector as words from public.messages where false`: 1, // a caller's own table of that name counts for nothing
	} {
		tx := must(db.BeginTx(t.Context(), nil))(t)
		if settings != "" {
			must(tx.Exec(settings))(t)
		}
		var n int
		check(t, tx.QueryRow(`select count(*) from reverie_quotes('g1', array['ferry'], '', now() + interval '99 years', 0, 9)`).Scan(&n))
		if n != want {
			t.Errorf("%q: %d messages, want %d", settings, n, want)
		}
		check(t, tx.Rollback())
	}
}
