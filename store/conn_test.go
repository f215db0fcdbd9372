package store_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// A transaction that could not begin with its settings leaves none open behind.
func TestSettingsThatFail(t *testing.T) {
	s := pgtest.Open(t, pg.Options{LockTimeout: 1e6 * time.Hour}) // more than PostgreSQL takes
	if err := s.AddGroup(t.Context(), reverie.Group{ID: group}); err == nil {
		t.Fatal("a transaction began without its lock timeout")
	}
	if n := count(t, raw(t), `select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`); n != 0 {
		t.Errorf("%d connections are left in a transaction", n)
	}
}

// The settings are the transaction's own.
func TestSettingsEndWithTheirTransaction(t *testing.T) {
	w := openWorld(t, pg.Options{MaxConns: 1, LockTimeout: 7 * time.Second})
	w.apply(create("likes tea"))
	// What a pooler's next client would see of that very session.
	for name, want := range map[string]string{"plan_cache_mode": "auto", "enable_seqscan": "on"} {
		if got := must(w.Setting(t.Context(), name))(t); got != want {
			t.Errorf("%s is %s after the transaction, want %s", name, got, want)
		}
	}
}

// What asks for no result waits for none: it travels with what does, also behind TLS.
func TestTrips(t *testing.T) {
	t.Run("plain", func(t *testing.T) { testTrips(t, "") })
	t.Run("TLS", func(t *testing.T) { testTrips(t, newTLSProxy(t).url("127.0.0.1", "sslmode", "require")) })
}

func testTrips(t *testing.T, url string) {
	var n network
	opts := n.options()
	opts.URL = url
	opts.MaxConns = 1
	w := openWorld(t, opts)
	ctx, run := t.Context(), w.plan(create("likes tea")).RunID
	answer := reverie.Answer{GroupID: group, RunID: run, InputSHA256: "a", Purpose: "evolve", Text: "{}"}
	for _, c := range []struct {
		what string
		want int64
		do   func() error
	}{
		{"the lease is renewed, which is asked for, and committed", 2, func() error { return second(w.RenewLease(ctx, w.lease, time.Minute)) }},
		{"the fence is asked for; the answer is written as it is committed", 2, func() error { return w.SaveAnswer(ctx, w.lease, answer) }},
		{"rows are read in a transaction, and nobody waits for the end", 2, func() error {
			return second(pg.Lookup(ctx, w.DB(), "add", func(ctx context.Context, t *pg.Tx) (int, error) {
				return pg.Get[int](ctx, t, `select 1 + $1::int`, 1)
			}))
		}},
		{"rows are read by one statement", 1, func() error { return second(w.Answers(ctx, group, run, "evolve")) }},
		{"nothing is asked", 1, func() error { return w.ReleaseLease(ctx, w.lease) }},
	} {
		for range 2 { // the second time, statements are prepared
			check(t, c.do())
		}
		before := n.trips.Load()
		check(t, c.do())
		if got := n.trips.Load() - before; got != c.want {
			t.Errorf("%s: %d requests, want %d", c.what, got, c.want)
		}
	}
}

// Plans that were made while a table was empty, and known to be, are not to read
// the whole of it when it has grown: with each group the next would take longer.
func TestNoTableIsReadWhole(t *testing.T) {
	pgtest.OnOneServer(t, "its workers read the tables")
	w := newWorld(t)
	db := raw(t)
	_, err := db.Exec(`vacuum analyze`)
	check(t, err)
	var run string
	for i := range 12 { // more than the five after which a plan may be kept
		plan := w.plan(create(reverie.NewID()))
		run = plan.RunID
		must(w.Gather(t.Context(), reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Limit: 200}))(t)
		must(w.Apply(t.Context(), w.lease, plan))(t)
		must(w.FinishRun(t.Context(), w.lease, reverie.Run{ID: run, Status: reverie.RunSucceeded}))(t)
		_, _, err := w.Resume(t.Context(), w.lease, reverie.JobEvolve, noon, noon.Add(time.Duration(i+1)*time.Hour))
		check(t, err)
		must(w.CachedEmbeddings(t.Context(), group, model, []string{"a"}))(t)
		must(w.DueGroups(t.Context(), reverie.DueQuery{Job: reverie.JobEvolve, GroupID: group}))(t)
	}
	check(t, w.ReleaseLease(t.Context(), w.lease))
	w.lease = must(w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "again", time.Minute))(t)
	check(t, w.Close()) // a session's counts are certain to be there when it is gone
	for deadline := time.Now().Add(time.Minute); count(t, db, `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the store's sessions do not end")
		}
		runtime.Gosched()
	}
	// The import of messages reads groups, of which there is one, to check its
	// foreign key.
	for _, table := range strings1(t, db, `select relname || ' ' || seq_scan from pg_stat_user_tables
		where seq_tup_read > 0 and relname not in ('goose_db_version', 'groups')`) {
		t.Errorf("read whole: %s", table)
	}
	if n := count(t, db, `select sum(idx_scan) from pg_stat_user_tables`); n == 0 {
		t.Error("no index was read, which cannot be")
	}
}
