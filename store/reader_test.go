package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// Under the reader's role the database shows the rows of its groups, whatever group a
// query asks for: in a transaction, and in a look by one statement.
func TestReaderSeesItsGroupsAlone(t *testing.T) {
	pgtest.OnOneServer(t, "the tables have no policies")
	for name, opts := range map[string]pg.Options{"prepared": {}, "unprepared": {Unprepared: true}} {
		t.Run(name, func(t *testing.T) {
			w := openWorld(t, opts)
			w.ensure("g2")
			w.apply(create("likes tea"))
			memory := w.active()["likes tea"]
			if r := must(w.Reader(t.Context()))(t); r != (store.Reader{Role: store.DefaultReaderRole, On: true}) {
				t.Fatalf("the reader: %+v", r)
			}
			found := func(ctx context.Context) string {
				_, err := w.Memory(ctx, group, memory.ID)
				r, searchErr := w.Search(ctx, reverie.SearchQuery{GroupID: group, Vector: unit(), Model: model})
				check(t, searchErr)
				_, lookErr := w.RecallState(ctx, reverie.RecallQuery{GroupID: group})
				list, countErr := w.Groups(ctx, []string{group, "g2"})
				check(t, countErr)
				return fmt.Sprint(err == nil, len(r.Hits), lookErr == nil, len(list))
			}
			for name, c := range map[string]struct {
				ctx  context.Context
				want string
			}{
				"nobody's":        {t.Context(), "true 1 true 2"},
				"its own":         {store.AsReader(t.Context(), group), "true 1 true 1"},
				"both":            {store.AsReader(t.Context(), "g2", group), "true 1 true 2"},
				"all":             {store.AsReaderOfAll(t.Context()), "true 1 true 2"},
				"another's":       {store.AsReader(t.Context(), "g2"), "false 0 false 1"},
				"none":            {store.AsReader(t.Context()), "false 0 false 0"},
				"a star":          {store.AsReader(t.Context(), "*"), "false 0 false 0"},
				"a list":          {store.AsReader(t.Context(), `g2","`+group), "false 0 false 0"},
				"a brace":         {store.AsReader(t.Context(), `{`+group+`}`), "false 0 false 0"},
				"an end of SQL":   {store.AsReader(t.Context(), `g2'; set local role none; --`), "false 0 false 0"},
				"a backslash":     {store.AsReader(t.Context(), `g2\'; set local reverie.groups = '*'; --`), "false 0 false 0"},
				"a NUL":           {store.AsReader(t.Context(), "g2\x00"), "false 0 false 0"},
				"not UTF-8":       {store.AsReader(t.Context(), "g2\xff"), "false 0 false 0"},
				"instead of it":   {store.Instead(store.AsReader(t.Context(), group), "g2"), "false 0 false 1"},
				"it instead":      {store.Instead(store.AsReader(t.Context(), "g2"), group), "true 1 true 1"},
				"instead of all":  {store.Instead(store.AsReaderOfAll(t.Context()), "g2"), "false 0 false 1"},
				"of no reader's":  {store.Instead(t.Context(), "g2"), "true 1 true 2"},
				"all, then one's": {store.AsReader(store.AsReaderOfAll(t.Context()), "g2"), "false 0 false 1"},
			} {
				if got := found(c.ctx); got != c.want {
					t.Errorf("%s: found %s, want %s", name, got, c.want)
				}
			}
		})
	}
}

// What writes, and what is about all groups by purpose, does not go by the reader.
func TestReaderLeavesOtherWorkAlone(t *testing.T) {
	pgtest.OnOneServer(t, "the tables have no policies")
	w := openWorld(t, pg.Options{MaxConns: 1})
	ctx := store.AsReader(t.Context(), "g2")
	check(t, w.AddToken(ctx, reverie.Token{GroupID: group, ID: "t1", Scope: reverie.ScopeRead, SHA256: make([]byte, 32), CreatedAt: noon}))
	must(w.Token(ctx, "t1"))(t)
	check(t, w.RecordCall(ctx, reverie.Call{GroupID: group, ID: reverie.NewID(), Purpose: "p", Outcome: "ok", CreatedAt: noon}))
	if spend := must(w.SpendSince(ctx, noon.AddDate(0, 0, -1)))(t); spend.Calls != 1 {
		t.Errorf("a budget sees %d calls, want that of the other group", spend.Calls)
	}
	must(w.Memory(store.AsReaderOfAll(t.Context()), group, reverie.NewID()))
	for name, want := range map[string]string{"role": "none", "reverie.groups": ""} { // what a pooler's next client would see
		if got := must(w.Setting(t.Context(), name))(t); got != want {
			t.Errorf("%s is %q after a reader's transaction, want %q", name, got, want)
		}
	}
}

// The role can do nothing but select, and knows of no token or login. Every table with a
// group is confined. A table that a later migration makes gets its policies from
// `select reverie_reader('reverie_reader')` at that migration's end.
func TestReaderMaySelectOnly(t *testing.T) {
	pgtest.OnOneServer(t, "the tables have no policies")
	w := newWorld(t)
	db := raw(t)
	for _, bare := range strings1(t, db, `select c.relname || ': ' || array_to_string(array[
				case when not c.relrowsecurity then 'no row-level security' end,
				case when not exists (select 1 from pg_policy p where p.polrelid = c.oid and p.polname = 'everyone') then 'closed to other roles' end,
				case when c.relname <> 'deployments' and not exists (select 1 from pg_policy p where p.polrelid = c.oid and p.polname = 'reverie_reader')
					then 'open to the reader' end,
				case when has_table_privilege('reverie_reader', c.oid, 'insert, update, delete, truncate, references, trigger') then 'it may write' end,
				case when (c.relname in ('api_tokens', 'page_sessions')) = has_any_column_privilege('reverie_reader', c.oid, 'select') then 'it may read' end], ', ')
			from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relname <> 'goose_db_version'`) {
		if _, what, _ := strings.Cut(bare, ": "); what != "" {
			t.Error(bare)
		}
	}
	for _, query := range []string{`select count(*) from api_tokens`, `select sha256 from page_sessions`, `select version_id from goose_db_version`,
		`insert into groups (group_id) values ('g3')`, `update groups set name = ''`, `delete from groups`, `create table mine (x int)`} {
		tx := must(db.BeginTx(t.Context(), nil))(t)
		_, err := tx.Exec(`set local role reverie_reader; set local reverie.groups = '*'`)
		check(t, err)
		if _, err := tx.Exec(query); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", query, err)
		}
		check(t, tx.Rollback())
	}
	check(t, w.CheckSchema(t.Context()))
}

// The group's index is used for the reader as for others.
func TestReaderUsesIndexes(t *testing.T) {
	pgtest.OnOneServer(t, "the tables have no policies")
	pgtest.New(t)
	db := raw(t)
	_, err := db.Exec(`insert into groups (group_id) select 'g' || n from generate_series(1, 40) n;
		insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, created_at, updated_at, last_supported_at)
			select 'g' || n % 40 + 1, gen_random_uuid(), gen_random_uuid(), 'group', 'x', 1, 'active', 0.3, n::text, now(), now(), now() from generate_series(1, 2000) n;
		analyze memories`)
	check(t, err)
	tx := must(db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true}))(t)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.Exec(`set local role reverie_reader; set local reverie.groups = '{g7}'`)
	check(t, err)
	for query, wants := range map[string][]string{
		`select * from memories where group_id = 'g7' and status = 'active' and kind = any ('{group}')`: {"Index", "Cond: ((group_id = 'g7'::text)"},
		`select * from memories where memory_id = '00000000-0000-7000-8000-000000000000'`:               {"memories_id", "Index Cond: (memory_id ="},
	} {
		rows := must(tx.Query(`explain ` + query))(t)
		var plan []string
		for rows.Next() {
			var line string
			check(t, rows.Scan(&line))
			plan = append(plan, line)
		}
		check(t, rows.Err())
		text := strings.Join(plan, "\n")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", query, want, text)
			}
		}
		if strings.Contains(text, "Seq Scan") || strings.Contains(text, "SubPlan") {
			t.Errorf("%s: read whole, or asked row by row:\n%s", query, text)
		}
	}
}

// Where the role is not there or cannot be used, reading goes on without it, and what to
// do is said. A writer that owns nothing works as ever.
func TestReaderThatCannotBe(t *testing.T) {
	pgtest.OnOneServer(t, "the tables have no policies")
	url := pgtest.URL(t)
	db := raw(t)
	unique := strings.ReplaceAll(reverie.NewID(), "-", "")
	writer, reader := "writer_"+unique, "reader_"+unique
	exec := func(format string, args ...any) {
		t.Helper()
		for i, a := range args {
			args[i] = pq.QuoteIdentifier(a.(string))
		}
		_, err := db.Exec(fmt.Sprintf(format, args...))
		check(t, err)
	}
	exec(`create role %s login`, writer)
	t.Cleanup(func() {
		_, err := db.Exec(`drop owned by ` + writer + `; drop role ` + writer)
		check(t, err)
	})
	exec(`grant select, insert, update, delete on all tables in schema public to %s`, writer)
	exec(`insert into groups (group_id) values ('g1')`)
	login := url + map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")] + "options=" + "-crole%3D" + writer
	look := func(role, want string) {
		t.Helper()
		s := must(store.Open(t.Context(), pg.Options{URL: login, ReaderRole: role}))(t)
		defer func() { _ = s.Close() }()
		r := must(s.Reader(t.Context()))(t)
		if r.On != (want == "") || !strings.Contains(r.Why, want) {
			t.Errorf("role %q: %+v, want it to say %q", role, r, want)
		}
		must(s.Group(store.AsReader(t.Context(), "g1"), "g1"))(t)
		if _, err := s.Group(store.AsReader(t.Context(), "g2"), "g1"); r.On == (err == nil) {
			t.Errorf("role %q: another's group: %v", role, err)
		}
		must(s.EnsureGroup(t.Context(), reverie.Group{ID: "g-" + role}))(t) // writes
		must(s.Group(t.Context(), "g-"+role))(t)                            // and reads what it wrote
	}
	look(reader, "create role \""+reader+"\" nologin; grant \""+reader+"\" to \""+writer+"\"")
	exec(`create role %s nologin`, reader)
	t.Cleanup(func() {
		_, err := db.Exec(`drop owned by ` + reader + `; drop role ` + reader)
		check(t, err)
	})
	look(reader, "may not become")
	exec(`grant %s to %s`, reader, writer)
	look(reader, "reverie migrate up")
	must(store.Migrate(t.Context(), pg.Options{URL: url, ReaderRole: reader}))(t)
	look(reader, "")
	exec(`alter role %s bypassrls`, reader)
	look(reader, "bypasses")
	exec(`alter role %s nobypassrls; alter table pulls owner to %[1]s`, reader)
	look(reader, "of pulls")
	exec(`alter table pulls owner to current_user; grant select (sha256) on api_tokens to %s`, reader)
	look(reader, "of api_tokens")
}

// One statement by itself is confined, too: sent as it is, as it is prepared, and prepared.
func TestReaderOfOneStatement(t *testing.T) {
	pgtest.OnOneServer(t, "the tables have no policies")
	s := pgtest.Open(t, pg.Options{MaxConns: 1})
	for _, id := range []string{"g1", "g2"} {
		check(t, s.AddGroup(t.Context(), reverie.Group{ID: id}))
	}
	for range 4 {
		for _, c := range []struct {
			ctx  context.Context
			want error
		}{
			{store.AsReader(t.Context(), "g1"), reverie.ErrNotFound}, {t.Context(), nil},
			{store.AsReader(t.Context(), "g2"), nil}, {store.AsReader(t.Context()), reverie.ErrNotFound},
		} {
			if _, err := s.PlanSeal(c.ctx, "g2", "text"); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		}
	}
}
