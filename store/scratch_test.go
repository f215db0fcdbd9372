package store_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// TestScratch writes to a scratch store, and finds the live one as it was.
func TestScratch(t *testing.T) {
	live := pgtest.New(t)
	ctx := t.Context()
	x, err := live.Scratch(ctx)
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
// kept nor what somebody works in, or has just made.
func TestScratchSweepsLeftovers(t *testing.T) {
	live, db := pgtest.New(t), raw(t)
	ctx, schemas := t.Context(), map[string]string{}
	for what, age := range map[string]time.Duration{"left": 25, "kept": 25, "used": 25, "unused": 25, "new": 23} {
		schemas[what] = fmt.Sprintf("reverie_scratch_%012x7%019x", time.Now().Add(-age*time.Hour).UnixMilli(), len(schemas))
		must(db.Exec(`create schema ` + schemas[what]))(t)
	}
	must(db.Exec(`comment on schema ` + schemas["kept"] + ` is 'kept'`))(t)
	for what, expires := range map[string]string{"used": time.Now().Add(time.Minute).UTC().Format(time.RFC3339), "unused": "-infinity"} {
		must(db.Exec(`create table ` + schemas[what] + `.leases as select 'g1' as group_id, timestamptz '` + expires + `' as expires_at`))(t)
	}
	x := must(live.Scratch(ctx))(t)
	var there []string
	for what, schema := range schemas {
		if count(t, db, `select count(*) from pg_namespace where nspname = $1`, schema) == 1 {
			there = append(there, what)
		}
	}
	slices.Sort(there)
	if !slices.Equal(there, []string{"kept", "new", "used"}) {
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
	before := pgtest.Checksums(t, db, "public")
	_, err := live.Scratch(t.Context())
	wantErr(t, err, reverie.ErrConfiguration)
	if !strings.Contains(err.Error(), "pooler") {
		t.Errorf("it does not say what to do: %v", err)
	}
	if diff := cmp.Diff(before, pgtest.Checksums(t, db, "public")); diff != "" {
		t.Errorf("the live tables (-before +after):\n%s", diff)
	}
	if n := count(t, db, `select count(*) from pg_namespace where nspname like 'reverie\_scratch\_%'`); n != 0 {
		t.Errorf("%d schemas are left", n)
	}
}
