package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/migrations"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestSessionsAreListed(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.ensure("g2")
	ids := w.turns("s", 0, 3)
	w.turns("later", 100, 1)
	w.bring("g2", line("m", "s", "user", 50))
	run := w.extraction("later", []string{"later-u100", "later-v100"})
	must(w.Apply(ctx, w.lease, takes(run, 1, "later", []string{"later-u100", "later-v100"})))(t)
	for name, tt := range map[string]struct {
		f     reverie.SessionFilter
		want  []string
		total int
	}{
		"of a group": {reverie.SessionFilter{GroupID: group}, []string{"later", "s"}, 2},
		"of all":     {reverie.SessionFilter{}, []string{"later", "s", "s"}, 3},
		"waiting":    {reverie.SessionFilter{GroupID: group, Waiting: true}, []string{"s"}, 1},
		"by id":      {reverie.SessionFilter{SessionID: "s"}, []string{"s", "s"}, 2},
		"a page":     {reverie.SessionFilter{GroupID: group, Limit: 1, Offset: 1}, []string{"s"}, 2},
	} {
		list, total, err := w.ListSessions(ctx, tt.f)
		if diff := cmp.Diff(tt.want, sessionIDs(list)); diff != "" || total != tt.total || err != nil {
			t.Errorf("%s: %d in all, %v (-want +got):\n%s", name, total, err, diff)
		}
	}
	_, _, err := w.ListSessions(ctx, reverie.SessionFilter{GroupID: "nowhere"})
	wantErr(t, err, reverie.ErrNotFound)
	found := must(w.FindSession(ctx, "s"))(t)
	if len(found) != 2 || found[0].GroupID != group || found[1].GroupID != "g2" || !found[1].LastAt.Equal(noon.Add(50*time.Minute)) {
		t.Errorf("found %+v", found)
	}
	wantErr(t, second(w.FindSession(ctx, "nowhere")), reverie.ErrNotFound)
	wantErr(t, second(w.Session(ctx, "g2", "later")), reverie.ErrNotFound)

	run = w.extraction("s", ids[:2])
	must(w.Apply(ctx, w.lease, takes(run, 1, "s", ids[:2])))(t)
	if diff := cmp.Diff(ids[2:], strings1(t, raw(t), waitingQuery)); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
}

const waitingQuery = `select message_id from message_uses where group_id = 'g1' and job = 'extract' and session_id = 's' and run_id is null
	order by sent_at`

// Messages from before sessions were kept are of the sessions that they name, wait
// for nothing, and what comes later is counted with them.
func TestMigrateSessions(t *testing.T) {
	opts := pg.Options{URL: pgtest.NewEmpty(t)}
	ctx := t.Context()
	db := must(openRaw(opts.URL))(t)
	defer func() { _ = db.Close() }()
	steps := must(goose.NewProvider(goose.DialectPostgres, db, migrations.Files(), goose.WithDisableGlobalRegistry(true)))(t)
	must(steps.UpTo(ctx, 4))(t)
	_, err := db.ExecContext(ctx, `with g as (insert into groups (group_id) values ('g1'))
		insert into messages (group_id, message_id, role, text, sent_at, session_id)
		select 'g1', 'old' || no, role, 'words', timestamptz '2026-01-15 12:00+00' + no * interval '1 minute', session
		from unnest(array['user', 'tool', 'assistant', 'user', 'user'], array['s', 's', 's', 's', '']) with ordinality as u (role, session, no)`)
	check(t, err)
	must(store.Migrate(ctx, opts))(t)
	s := must(store.Open(ctx, opts))(t)
	defer func() { _ = s.Close() }()
	want := reverie.Session{GroupID: "g1", ID: "s", FirstAt: noon.Add(time.Minute), LastAt: noon.Add(4 * time.Minute), Asking: true,
		Total: reverie.Tally{Messages: 4, ToolCalls: 1, Turns: 1}}
	if list, _, err := s.ListSessions(ctx, reverie.SessionFilter{}); err != nil || cmp.Diff([]reverie.Session{want}, list) != "" {
		t.Errorf("sessions from before: %+v, %v", list, err)
	}
	answer, unnamed := line("new", "s", "assistant", 5), line("unnamed", "", "user", 6)
	must(s.ImportMessages(ctx, "g1", []reverie.Message{answer, unnamed}))(t)
	want.Add(answer, text.EstimateTokens(answer.Text))
	if got := must(s.Session(ctx, "g1", "s"))(t); got != want {
		t.Errorf("with an answer it is %+v, want %+v", got, want)
	}
	if list := strings1(t, db, waitingQuery); !slices.Equal(list, []string{"new"}) {
		t.Errorf("waiting are %v", list)
	}
}
