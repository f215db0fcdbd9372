package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
	"reverie/store/scratch"
)

// TestScratch writes to a scratch store, and finds the live one as it was.
func TestScratch(t *testing.T) {
	live := pgtest.New(t)
	ctx := t.Context()
	x, err := scratch.New(ctx, live)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.CheckSchema(ctx); err != nil {
		t.Error(err)
	}
	if err := x.AddGroup(ctx, reverie.Group{ID: "g1"}); err != nil {
		t.Error(err)
	}
	if _, err := x.Group(ctx, "g1"); err != nil {
		t.Error(err)
	}
	if g, err := live.Group(ctx, "g1"); err == nil {
		t.Errorf("the live store has it: %+v", g)
	}
	if err := x.Drop(ctx); err != nil {
		t.Error(err)
	}
}

// TestScratchSweepsLeftovers removes what a process left that died, and neither what is
// kept nor what somebody may work in.
func TestScratchSweepsLeftovers(t *testing.T) {
	live, db := pgtest.New(t), raw(t)
	ctx, schemas := t.Context(), map[string]string{}
	const week = 7 * 24
	for what, age := range map[string]time.Duration{"left": week + 1, "kept": week + 1, "new": week - 1} {
		schemas[what] = fmt.Sprintf("reverie_scratch_%012x7%019x", time.Now().Add(-age*time.Hour).UnixMilli(), len(schemas))
		must(db.Exec(`create schema ` + schemas[what]))(t)
	}
	must(db.Exec(`comment on schema ` + schemas["kept"] + ` is 'kept'`))(t)
	x := must(scratch.New(ctx, live))(t)
	var there []string
	for what, schema := range schemas {
		if count(t, db, `select count(*) from pg_namespace where nspname = $1`, schema) == 1 {
			there = append(there, what)
		}
	}
	slices.Sort(there)
	if !slices.Equal(there, []string{"kept", "new"}) {
		t.Errorf("there are still %q", there)
	}
	check(t, x.Drop(ctx))
}

// deaf is a connection that drops what a client says of search_path, as poolers do.
type deaf struct{ net.Conn }

func (c deaf) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(bytes.Replace(b, []byte("search_path\x00"), []byte("x.search_pa\x00"), 1))
	return n, err
}

// TestScratchBehindAPooler refuses connections that do not begin where they are to, and
// leaves nothing.
func TestScratchBehindAPooler(t *testing.T) {
	live := pgtest.Open(t, pg.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return deaf{c}, err
	}})
	db := raw(t)
	before := checksums(t, db, "public")
	_, err := scratch.New(t.Context(), live)
	wantErr(t, err, reverie.ErrConfiguration)
	if !strings.Contains(err.Error(), "pooler") {
		t.Errorf("it does not say what to do: %v", err)
	}
	if diff := cmp.Diff(before, checksums(t, db, "public")); diff != "" {
		t.Errorf("the live tables (-before +after):\n%s", diff)
	}
	if n := count(t, db, `select count(*) from pg_namespace where nspname like 'reverie\_scratch\_%'`); n != 0 {
		t.Errorf("%d schemas are left", n)
	}
}

// checksums hashes every table of a schema, by its name: rows in any order, each with
// all its columns. What it says of two instants is the same exactly where no row differs.
func checksums(t testing.TB, db *sql.DB, schema string) map[string]string {
	t.Helper()
	rows, err := db.Query(`select tablename from pg_tables where schemaname = $1`, schema)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(tables) == 0 {
		t.Fatalf("schema %q has no tables", schema)
	}
	sums := make(map[string]string, len(tables))
	for _, name := range tables {
		var sum string
		if err := db.QueryRow(`select count(*) || ' ' || coalesce(md5(string_agg(h, '' order by h)), '')
			from (select md5(x::text) as h from ` + pq.QuoteIdentifier(schema) + `.` + pq.QuoteIdentifier(name) + ` x)
				rows`).Scan(&sum); err != nil {
			t.Fatal(err)
		}
		sums[name] = sum
	}
	return sums
}
