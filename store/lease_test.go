package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

func TestLeaseHasOneHolder(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	_, err := w.AcquireLease(ctx, group, reverie.LeaseGroup, "host:2:b", time.Minute)
	var busy *reverie.BusyError
	if !errors.As(err, &busy) || busy.Holder != "host:1:a" || !busy.ExpiresAt.Equal(w.lease.ExpiresAt) {
		t.Fatalf("error %v, want busy: held by host:1:a until %v", err, w.lease.ExpiresAt)
	}
	_, err = w.AcquireLease(ctx, group, reverie.LeaseGroup, w.lease.Holder, time.Minute)
	wantErr(t, err, reverie.ErrBusy) // the name alone is no right

	expires := must(w.RenewLease(ctx, w.lease, 2*time.Minute))(t)
	if d := expires.Sub(w.lease.ExpiresAt); d < 55*time.Second || d > 65*time.Second {
		t.Errorf("renewed by %v, want about a minute", d)
	}
	check(t, w.ReleaseLease(ctx, w.lease))
	wantErr(t, second(w.RenewLease(ctx, w.lease, time.Minute)), reverie.ErrLeaseLost)
	next := must(w.AcquireLease(ctx, group, reverie.LeaseGroup, "host:2:b", time.Minute))(t)
	if next.Fence <= w.lease.Fence || next.TakenOver || w.lease.TakenOver {
		t.Errorf("%+v after %+v, which was released", next, w.lease)
	}
	wantErr(t, second(w.AcquireLease(ctx, "nowhere", reverie.LeaseGroup, "h", time.Minute)), reverie.ErrNotFound)
	wantErr(t, second(w.AcquireLease(ctx, group, "other", "", time.Minute)), reverie.ErrInvalid)
	must(w.AcquireLease(ctx, group, "other", "h", time.Minute))(t)
}

// Leases run on the database's clock, not on the holder's.
func TestLeaseExpires(t *testing.T) {
	w := newWorld(t)
	w.now = noon.AddDate(10, 0, 0)
	wantErr(t, second(w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "b", time.Minute)), reverie.ErrBusy)
	_, err := raw(t).Exec(`update leases set expires_at = statement_timestamp() - interval '1 millisecond'`)
	check(t, err)
	// Late, but nobody took it: the holder may go on.
	check(t, second(w.RenewLease(t.Context(), w.lease, time.Minute)))
	_, err = raw(t).Exec(`update leases set expires_at = statement_timestamp() - interval '1 millisecond'`)
	check(t, err)
	next := must(w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "b", time.Minute))(t)
	if next.Fence != w.lease.Fence+1 || !next.TakenOver {
		t.Errorf("%+v, want fence %d, taken over", next, w.lease.Fence+1)
	}
	wantErr(t, second(w.RenewLease(t.Context(), w.lease, time.Minute)), reverie.ErrLeaseLost)
	check(t, w.ReleaseLease(t.Context(), w.lease)) // another's by now
	check(t, w.ReleaseLease(t.Context(), next))
	if last := must(w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "c", time.Minute))(t); last.TakenOver {
		t.Errorf("%+v after one that was released", last)
	}
}

// A lease that claims more than an hour is of before the clock was set back: it is free,
// and keeps nobody from a run that its holder left.
func TestLeaseOfAFutureIsFree(t *testing.T) {
	w := newWorld(t)
	w.chunk("", 1, w.messages(1))
	_, err := raw(t).Exec(`update messages set run_id = run.run_id, outcome = 'considered' from runs run where run.group_id = messages.group_id`)
	check(t, err)
	lives := func(d string) {
		_, err := raw(t).Exec(`update leases set expires_at = statement_timestamp() + $1::interval`, d)
		check(t, err)
	}
	lives("59 minutes")
	if got := must(w.Endless(t.Context(), reverie.JobEvolve))(t); len(got) != 0 {
		t.Errorf("%q is another's", got)
	}
	wantErr(t, second(w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "b", time.Minute)), reverie.ErrBusy)
	lives("61 minutes")
	if got := must(w.Endless(t.Context(), reverie.JobEvolve))(t); len(got) != 1 {
		t.Errorf("without an end are %q", got)
	}
	next := must(w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "b", time.Minute))(t)
	if next.Fence != w.lease.Fence+1 || !next.TakenOver || time.Until(next.ExpiresAt) > 2*time.Minute {
		t.Errorf("%+v, want fence %d, taken over, for a minute", next, w.lease.Fence+1)
	}
	wantErr(t, second(w.RenewLease(t.Context(), w.lease, time.Minute)), reverie.ErrLeaseLost)
}

// A row that another transaction has locked is busy at once: nobody waits.
func TestLeaseSkipsLockedRows(t *testing.T) {
	w := newWorld(t)
	check(t, w.ReleaseLease(t.Context(), w.lease))
	tx := must(raw(t).Begin())(t)
	defer func() { _ = tx.Rollback() }()
	_, err := tx.Exec(`select 1 from leases where group_id = $1 for update`, group)
	check(t, err)
	_, err = w.AcquireLease(t.Context(), group, reverie.LeaseGroup, "b", time.Minute)
	var busy *reverie.BusyError
	if !errors.As(err, &busy) || busy.Holder != "" {
		t.Fatalf("error %v, want busy, holder not known", err) // who waits in vain has another
	}
}

func TestConcurrentAcquirersGetOneLease(t *testing.T) {
	s := pgtest.New(t)
	ctx := t.Context()
	for range 5 {
		id := reverie.NewID()
		must(s.EnsureGroup(ctx, reverie.Group{ID: id}))(t)
		var got atomic.Int32
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				_, err := s.AcquireLease(ctx, id, reverie.LeaseGroup, "h"+string(rune('a'+i)), time.Minute)
				switch {
				case err == nil:
					got.Add(1)
				case !errors.Is(err, reverie.ErrBusy):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got.Load() != 1 {
			t.Fatalf("%d acquirers got the lease, want 1", got.Load())
		}
	}
}
