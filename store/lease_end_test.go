package store_test

import (
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestLeaseEndsWithItsLastRun: what ends the last run under a lease gives the lease back, in the same transaction,
// unless a change of the group's messages waits for the holder.
func TestLeaseEndsWithItsLastRun(t *testing.T) {
	for _, c := range []struct {
		name             string
		last, waits, own bool
	}{
		{"more is done", false, false, false},
		{"nothing is", true, false, true},
		{"a change waits", true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			plan := w.plan(create("likes tea"))
			if c.waits {
				_, err := raw(t).Exec(`insert into message_changes (group_id, message_id, deleted, created_at)
					values ($1, 'gone', true, $2)`, group, noon)
				check(t, err)
			}
			lease := w.lease
			if c.last {
				lease.GiveBack = new(bool)
			}
			plan.End = &reverie.Run{GroupID: group, ID: plan.RunID, Status: reverie.RunSucceeded, WindowUntil: noon}
			must(w.Apply(t.Context(), lease, plan))(t)
			_, err := w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "another", time.Minute)
			if given := lease.GiveBack != nil && *lease.GiveBack; given != c.own || (err == nil) != c.own {
				t.Errorf("given back: %v, and another gets it: %v; want %v", given, err, c.own)
			}
		})
	}
}
