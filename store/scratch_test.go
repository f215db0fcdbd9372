package store_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie"
	"reverie/store"
	"reverie/store/storetest"
)

// TestScratch writes to a scratch store, and finds the live one as it was.
func TestScratch(t *testing.T) {
	live := storetest.New(t)
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
// kept nor what somebody works in.
func TestScratchSweepsLeftovers(t *testing.T) {
	now := time.Now()
	live := storetest.Open(t, store.Options{Now: func() time.Time { return now }})
	ctx, made := t.Context(), map[string]*store.Scratch{}
	for _, what := range []string{"left", "kept", "used"} {
		made[what] = must(live.Scratch(ctx))(t)
	}
	check(t, made["kept"].Keep(ctx))
	check(t, made["used"].AddGroup(ctx, reverie.Group{ID: "g1"}))
	must(made["used"].AcquireLease(ctx, "g1", reverie.LeaseGroup, "host:1:a", time.Hour))(t)
	db := raw(t)
	there := func() (list []string) {
		for _, what := range []string{"left", "kept", "used"} {
			if count(t, db, `select count(*) from pg_namespace where nspname = $1`, made[what].Schema) == 1 {
				list = append(list, what)
			}
		}
		return list
	}
	now = now.Add(23 * time.Hour)
	check(t, must(live.Scratch(ctx))(t).Drop(ctx))
	if got := there(); len(got) != 3 {
		t.Errorf("after 23 hours: %q", got)
	}
	now = now.Add(2 * time.Hour)
	check(t, must(live.Scratch(ctx))(t).Drop(ctx))
	if got := there(); !slices.Equal(got, []string{"kept", "used"}) {
		t.Errorf("after 25 hours: %q", got)
	}
	for _, x := range made {
		check(t, x.Drop(ctx))
	}
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
	live := storetest.Open(t, store.WithDial(store.Options{}, func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return deaf{c}, err
	}))
	db := raw(t)
	before := storetest.Checksums(t, db, "public")
	_, err := live.Scratch(t.Context())
	wantErr(t, err, reverie.ErrConfiguration)
	if !strings.Contains(err.Error(), "pooler") {
		t.Errorf("it does not say what to do: %v", err)
	}
	if diff := cmp.Diff(before, storetest.Checksums(t, db, "public")); diff != "" {
		t.Errorf("the live tables (-before +after):\n%s", diff)
	}
	if n := count(t, db, `select count(*) from pg_namespace where nspname like 'reverie\_scratch\_%'`); n != 0 {
		t.Errorf("%d schemas are left", n)
	}
}
