package store_test

import (
	"testing"
	"time"

	"reverie"
	"reverie/store"
	"reverie/store/storetest"
)

// A transaction that could not begin with its settings leaves none open behind.
func TestSettingsThatFail(t *testing.T) {
	s := storetest.Open(t, store.Options{LockTimeout: 1e6 * time.Hour}) // more than PostgreSQL takes
	if err := s.AddGroup(t.Context(), reverie.Group{ID: group}); err == nil {
		t.Fatal("a transaction began without its lock timeout")
	}
	if n := count(t, raw(t), `select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`); n != 0 {
		t.Errorf("%d connections are left in a transaction", n)
	}
}

// The settings are the transaction's own.
func TestSettingsEndWithTheirTransaction(t *testing.T) {
	w := openWorld(t, store.Options{MaxConns: 1, LockTimeout: 7 * time.Second})
	w.apply(create("likes tea"))
	// What a pooler's next client would see of that very session.
	for name, want := range map[string]string{"lock_timeout": "0", "statement_timeout": "0", "plan_cache_mode": "auto"} {
		if got := must(w.Setting(t.Context(), name))(t); got != want {
			t.Errorf("%s is %s after the transaction, want %s", name, got, want)
		}
	}
}
