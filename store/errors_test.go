package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// A database that refuses, breaks off or has run out of something is
// unavailable; one that has answered is not.
func TestUnavailable(t *testing.T) {
	pgtest.OnOneServer(t, "its tables have no triggers")
	_, err := store.Open(t.Context(), pg.Options{URL: "postgres://u@127.0.0.1:1/db"})
	wantErr(t, err, reverie.ErrUnavailable)
	if !strings.Contains(err.Error(), "REVERIE_DATABASE_URL") {
		t.Errorf("does not say what to look at: %v", err)
	}
	_, err = store.Open(t.Context(), pg.Options{URL: "postgres://u@/db?host=" + t.TempDir()})
	wantErr(t, err, reverie.ErrUnavailable)
	_, err = store.Migrate(t.Context(), pg.Options{URL: "postgres://u@127.0.0.1:1/db"})
	wantErr(t, err, reverie.ErrUnavailable)

	w := newWorld(t)
	db := raw(t)
	_, err = db.Exec(`create function answer() returns trigger language plpgsql as
		$$ begin raise exception 'as asked' using errcode = new.name; end $$`)
	check(t, err)
	_, err = db.Exec(`create trigger answer before insert on groups for each row execute function answer()`)
	check(t, err)
	for code, want := range map[string]error{
		"08006": reverie.ErrUnavailable, "08001": reverie.ErrUnavailable, "53100": reverie.ErrUnavailable, "53200": reverie.ErrUnavailable,
		"53300": reverie.ErrUnavailable, "57P01": reverie.ErrUnavailable, "57P02": reverie.ErrUnavailable, "57P03": reverie.ErrUnavailable,
		"57014": nil, "P0001": nil, "XX000": nil, "22001": reverie.ErrInvalid, "42501": reverie.ErrConfiguration, "55P03": reverie.ErrConflict,
	} {
		err := w.AddGroup(t.Context(), reverie.Group{ID: "new", Name: code})
		switch {
		case err == nil || !strings.Contains(err.Error(), "as asked"):
			t.Errorf("%s: %v", code, err)
		case want != nil && !errors.Is(err, want):
			t.Errorf("%s: %v, want one that is %q", code, err, want)
		case want != reverie.ErrUnavailable && errors.Is(err, reverie.ErrUnavailable):
			t.Errorf("%s: %v", code, err)
		}
	}
}

// The server ends the session in the middle of a transaction.
func TestTerminated(t *testing.T) {
	pgtest.OnOneServer(t, "its tables have no triggers")
	w := newWorld(t)
	db := raw(t)
	_, err := db.Exec(`create function stop() returns trigger language plpgsql as
		$$ begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(60); return new; end $$`)
	check(t, err)
	_, err = db.Exec(`create trigger stop before insert on messages for each row execute function stop()`)
	check(t, err)
	_, err = w.ImportMessages(t.Context(), group, []reverie.Message{{ID: "1", Author: "a", SentAt: noon}})
	wantErr(t, err, reverie.ErrUnavailable)
	_, err = db.Exec(`drop trigger stop on messages`)
	check(t, err)
	w.messages(1) // on a connection of its own
}

// A link that breaks each time ends as unavailable, at the commit, too: nobody
// could tell what became of it.
func TestBrokenLink(t *testing.T) {
	for _, f := range []fault{lostReply, lostSend} {
		for _, request := range []string{"BEGIN", "insert into setbacks", "COMMIT"} {
			t.Run(fmt.Sprintf("%d %s", f, request), func(t *testing.T) {
				var n network
				s := pgtest.Open(t, n.options())
				check(t, s.AddGroup(t.Context(), reverie.Group{ID: group}))
				n.always(request, "BEGIN", f)
				_, err := s.NoteFailure(t.Context(), group, reverie.JobEvolve, "why", rule)
				wantErr(t, err, reverie.ErrUnavailable)
				n.heal()
				got := must(s.NoteFailure(t.Context(), group, reverie.JobEvolve, "why", rule))(t)
				if want := 1; request != "BEGIN" && f == lostReply { // what is written travels with the commit
					if got.Failures != want+1 { // the first had come through
						t.Errorf("counted %d", got.Failures)
					}
				} else if got.Failures != want {
					t.Errorf("counted %d", got.Failures)
				}
			})
		}
	}
}
