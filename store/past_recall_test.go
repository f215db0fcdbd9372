package store_test

import (
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestPastOfPeople: those that there were, with the names and claims of then, and merged
// where they were.
func TestPastOfPeople(t *testing.T) {
	w, db := newWorld(t), raw(t)
	ids := w.people("Lin", "Linda")
	lin := w.whole(ids[0])[0]
	w.now = noon.Add(time.Hour)
	w.applyEntities(func(p *reverie.EntityPlan) {
		p.Heads[lin.ID] = lin.Version
		p.Names = []reverie.EntityName{{ID: reverie.NewID(), EntityID: lin.ID, Kind: reverie.NameAlias, Name: "Lily"}}
		p.Claims = []reverie.ClaimStep{replace(lin.Claims[0], "Rome")}
	})
	w.now = noon.Add(2 * time.Hour)
	_, _, err := w.MergeEntities(t.Context(), group, ids[0], ids[1], "one person")
	check(t, err)
	check(t, second(db.ExecContext(t.Context(), `update entity_names set ended_at = $1 where name = 'Lily'`, noon.Add(3*time.Hour))))
	was := []string{"city where Lin lives v1", "id account of Lin", "subject Lin"}
	then := []string{"alias Lily", "city Rome v2", "id account of Lin", "subject Lin"}
	linda := []string{"city where Linda lives v1", "id account of Linda", "subject Linda"}
	for _, c := range []struct {
		after time.Duration
		named string // found by Lily?
		want  [][]string
	}{
		{-time.Microsecond, "", nil},
		{0, "", [][]string{was, linda}},
		{time.Hour - time.Microsecond, "", [][]string{was, linda}},
		{time.Hour, "Lily", [][]string{then, linda}},
		{2 * time.Hour, "Lily", [][]string{slices.Concat(then, linda)}},
		{3 * time.Hour, "", [][]string{slices.Concat(then[1:], linda)}},
	} {
		at := noon.Add(c.after)
		list := must(w.EntitiesAt(t.Context(), group, append([]string{"nonsense"}, ids...), at))(t)
		if len(list) != len(c.want) {
			t.Errorf("after %s: %d, want %d", c.after, len(list), len(c.want))
			continue
		}
		slices.SortFunc(list, func(a, b reverie.Entity) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
		for i, e := range list {
			wantSaid(t, e, c.want[i]...)
		}
		named := ""
		for _, n := range must(w.RecallState(t.Context(), reverie.RecallQuery{GroupID: group, Text: "where does lily live?", At: at}))(t).Named {
			named += n.Name
		}
		if named != c.named {
			t.Errorf("after %s the query names %q, want %q", c.after, named, c.named)
		}
	}
}

// TestPastOfASession: what had been said by then, counted as it was, and the rolling
// summary unless it has been renewed since.
func TestPastOfASession(t *testing.T) {
	w, db := newWorld(t), raw(t)
	w.say("talk", "uataua")
	minute := func(i int) time.Time { return noon.Add(time.Duration(i-1000) * time.Minute) }
	run := must(w.StartRun(t.Context(), w.lease, reverie.Run{Job: "summarize", SessionID: "talk", WindowSince: noon, WindowUntil: noon}))(t).ID
	for _, statement := range []string{
		`insert into session_summaries (group_id, session_id, summary, messages, turns, tokens, first_message_id, last_message_id, covers_since, covers_until, run_id, created_at, updated_at)
			values ($1, 'talk', 'They said hello.', 2, 1, 4, 'talk-00', 'talk-01', $3, $3, $2, $3, $3)`,
		`insert into message_uses (group_id, job, message_id, sent_at, session_id, run_id)
			select group_id, 'summarize', message_id, sent_at, session_id, $2::uuid from messages where group_id = $1 and message_id < 'talk-02' and $3::timestamptz is not null`,
	} {
		check(t, second(db.ExecContext(t.Context(), statement, group, run, minute(4))))
	}
	for _, c := range []struct {
		at              time.Time
		messages        string
		turns           int
		known, summedUp bool
	}{
		{minute(0).Add(-time.Second), "", 0, false, false},
		{minute(0), "00", 0, true, false},
		{minute(3), "00 01 03", 1, true, false},
		{minute(4), "03 04", 1, true, true},
		{minute(5), "03 04 05", 2, true, true},
		{noon.AddDate(1, 0, 0), "03 04 05", 2, true, true},
	} {
		state := must(w.RecallState(t.Context(), reverie.RecallQuery{GroupID: group, SessionID: "talk", Turns: 5, At: c.at}))(t)
		if got := recalled(state.Messages); got != c.messages || (state.Session != nil) != c.known || (state.Summary != nil) != c.summedUp {
			t.Errorf("at %s: messages %q, session %+v, summary %+v", c.at, got, state.Session, state.Summary)
		}
		if state.Session != nil && (state.Session.Total.Turns != c.turns || state.Session.ID != "talk") {
			t.Errorf("at %s: %+v, want %d turns", c.at, state.Session, c.turns)
		}
	}
}
