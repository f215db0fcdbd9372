package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"reverie/internal/fault"
	"reverie/internal/reverie"
	"reverie/store/pg"
)

// leaseLives is true of the lease of a holder that may be alive. None is given for as
// long as an hour: one that says so is of before the database's clock was set back, and
// would keep a group from everybody until the clock is there again. If its holder lives
// after all, it makes that right the next time that it renews, or is refused by the fence.
const leaseLives = `expires_at > statement_timestamp() and expires_at <= statement_timestamp() + interval '1 hour'`

const (
	// Takes a lease that is free: one statement for all groups but new ones and
	// busy ones.
	takeFreeLeaseQuery = takeLease + `and not (` + leaseLives + `)` + taken
	takeAnyLeaseQuery  = takeLease + taken // without the guard: see fault.Lease

	takeLease = `update leases l set holder = $3, fence = l.fence + 1,
		expires_at = statement_timestamp() + make_interval(secs => $4)
		from (select holder from leases
			where group_id = $1 and lease_name = $2 `
	taken = ` for update skip locked) free
		where l.group_id = $1 and l.lease_name = $2
		returning l.fence, l.expires_at, free.holder`
	claimLeaseQuery = `insert into leases (group_id, lease_name, expires_at) values ($1, $2, 'epoch')
		on conflict (group_id, lease_name) do nothing`
	firstLeaseQuery = `insert into leases (group_id, lease_name, holder, fence, expires_at)
		values ($1, $2, $3, 1, statement_timestamp() + make_interval(secs => $4))
		on conflict (group_id, lease_name) do nothing returning fence, expires_at, '' as holder`
	waitsQuery       = `select exists (select 1 from message_changes where group_id = $1)`
	extendLeaseQuery = `update leases set expires_at = statement_timestamp() + make_interval(secs => $5)
		where group_id = $1 and lease_name = $2 and holder = $3 and fence = $4 returning expires_at`
	seeLeaseQuery = `select holder, fence, expires_at, ` + leaseLives + ` as live
		from leases where group_id = $1 and lease_name = $2`
	releaseLeaseQuery = `update leases set holder = '', expires_at = 'epoch'
		where group_id = $1 and lease_name = $2 and holder = $3 and fence = $4`

	// What has come for the group meanwhile is done first, by the holder.
	giveBackQuery = releaseLeaseQuery + ` and not exists (select 1 from message_changes c where c.group_id = $1)
		returning true`
)

type leaseRow struct {
	Holder    string
	Fence     int64
	ExpiresAt time.Time `db:"expires_at"`
	Live      bool
}

// AcquireLease takes a group's lease for ttl on the database's clock, with a
// fence higher than any before, and tells whether the holder before let it run
// out. A lease that another holds, or is taking at
// this moment, is a *reverie.BusyError; an unknown group is reverie.ErrNotFound.
func (s *Store) AcquireLease(ctx context.Context, groupID, name, holder string, ttl time.Duration) (reverie.Lease,
	error) {
	lease := reverie.Lease{GroupID: groupID, Name: name, Holder: holder}
	if holder == "" {
		return lease, fmt.Errorf("acquire the lease of group %q: holder is empty: %w", groupID, reverie.ErrInvalid)
	}
	err := s.db.Of(ctx, groupID).Run(ctx, pg.Work{
		What:  fmt.Sprintf("acquire the lease of group %q", groupID),
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			query := takeFreeLeaseQuery
			if fault.Off(fault.Lease) {
				query = takeAnyLeaseQuery
			}
			var row leaseRow
			var waits bool
			took := t.Ask(ctx, &row, query, groupID, name, holder, ttl.Seconds())
			t.Ask(ctx, &waits, waitsQuery, groupID).Then(func(err error) error { lease.Quiet = !waits; return err })
			err := took.Read()
			if errors.Is(err, sql.ErrNoRows) {
				if err = t.Get(ctx, &row, firstLeaseQuery, groupID, name, holder, ttl.Seconds()); errors.Is(err, sql.ErrNoRows) {
					return busy(ctx, t, groupID, name)
				}
			}
			if err != nil {
				return err
			}
			lease.TakenOver = row.Holder != "" // whoever releases a lease takes its name off
			lease.Fence, lease.ExpiresAt = row.Fence, row.ExpiresAt
			return nil
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			// A row that is still being inserted is waited for by inserting it.
			if err := t.Exec(ctx, claimLeaseQuery, groupID, name); err != nil {
				return false, err
			}
			err := lockLease(ctx, t, lease)
			if errors.Is(err, reverie.ErrLeaseLost) {
				return false, nil
			}
			return err == nil, err
		},
	})
	return lease, err
}

// busy says who holds a lease whose row is locked, as far as that is committed.
func busy(ctx context.Context, t *pg.Tx, groupID, name string) error {
	row, err := pg.Get[leaseRow](ctx, t, seeLeaseQuery, groupID, name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !row.Live { // being taken right now, by one that has not committed yet
		return &reverie.BusyError{GroupID: groupID}
	}
	return &reverie.BusyError{GroupID: groupID, Holder: row.Holder, ExpiresAt: row.ExpiresAt}
}

// RenewLease lets the lease live for ttl from now, and returns until when. It is
// reverie.ErrLeaseLost once another holder has taken it.
func (s *Store) RenewLease(ctx context.Context, lease reverie.Lease, ttl time.Duration) (time.Time, error) {
	w := pg.Work{What: fmt.Sprintf("renew the lease of group %q", lease.GroupID), ByKey: true}
	return pg.Run(ctx, s.db.Of(ctx, lease.GroupID), w, func(ctx context.Context, t *pg.Tx) (expires time.Time, err error) {
		err = extended(lease, askExtension(ctx, t, lease, ttl, &expires))
		return expires, err
	})
}

// ReleaseLease frees the group for the next holder at once. A lease that another
// has taken meanwhile is left alone, without an error.
func (s *Store) ReleaseLease(ctx context.Context, lease reverie.Lease) error {
	return s.db.Of(ctx, lease.GroupID).Run(ctx, pg.Work{
		What:  fmt.Sprintf("release the lease of group %q", lease.GroupID),
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			return t.Exec(ctx, releaseLeaseQuery, lease.GroupID, lease.Name, lease.Holder, lease.Fence)
		},
	})
}

// giveBack asks for the release of a lease that the transaction holds, unless anything waits for it.
func giveBack(ctx context.Context, t *pg.Tx, lease reverie.Lease, released *bool) {
	t.Ask(ctx, released, giveBackQuery, lease.GroupID, lease.Name, lease.Holder, lease.Fence).Then(func(err error) error {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
}

// Fence makes the rest of the transaction the work of the lease's holder: it
// locks the lease's row, so that nobody can take it before the commit, and
// refuses with reverie.ErrLeaseLost when somebody has.
func Fence(ctx context.Context, t *pg.Tx, lease reverie.Lease) error {
	if fault.Off(fault.Fence) {
		return nil
	}
	var expires time.Time
	return extended(lease, askExtension(ctx, t, lease, reverie.LeaseTTL, &expires))
}

func askExtension(ctx context.Context, t *pg.Tx, lease reverie.Lease, ttl time.Duration, expires *time.Time) *pg.Asked {
	return t.Ask(ctx, expires, extendLeaseQuery, lease.GroupID, lease.Name, lease.Holder, lease.Fence, ttl.Seconds())
}

func extended(lease reverie.Lease, a *pg.Asked) error {
	if err := a.Read(); !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return lost(lease)
}

// lockLease is fenced without writing: for reading the ledger after a lost
// commit, once the transaction in question is over.
func lockLease(ctx context.Context, t *pg.Tx, lease reverie.Lease) error {
	row, err := pg.Get[leaseRow](ctx, t, `select holder, fence, expires_at, true as live from leases
		where group_id = $1 and lease_name = $2 for update`, lease.GroupID, lease.Name)
	if err != nil {
		return pg.NotFoundIfEmpty(err, "the lease of group %q", lease.GroupID)
	}
	if row.Holder != lease.Holder || row.Fence != lease.Fence {
		return lost(lease)
	}
	return nil
}

func lost(lease reverie.Lease) error {
	return fmt.Errorf("%s no longer holds group %q (fence %d): %w: another run has it, or it was released; nothing was written",
		lease.Holder, lease.GroupID, lease.Fence, reverie.ErrLeaseLost)
}

// underLease runs the work of a lease's holder: nothing is written, and the error is
// reverie.ErrLeaseLost, once another holds the lease.
func (s *Store) underLease(ctx context.Context, lease reverie.Lease, w pg.Work) error {
	if do := w.Do; !fault.Off(fault.Fence) {
		w.Do = func(ctx context.Context, t *pg.Tx) error {
			fence := askExtension(ctx, t, lease, reverie.LeaseTTL, new(time.Time))
			err := do(ctx, t)
			if ended := extended(lease, fence); err == nil || errors.Is(ended, reverie.ErrLeaseLost) {
				return ended // what is not committed was not written
			}
			return err
		}
	}
	return s.db.Of(ctx, lease.GroupID).Run(ctx, w)
}

// checkLease refuses work on a group that the lease is not of.
func checkLease(lease reverie.Lease, groupID string) error {
	if groupID != lease.GroupID {
		return fmt.Errorf("the lease is group %q's: %w", lease.GroupID, reverie.ErrInvalid)
	}
	return nil
}

// CommittedUnder makes a work's committed: once the writer of the lease is done, does
// the query find anything?
func CommittedUnder(lease reverie.Lease, query string, args ...any) func(context.Context, *pg.Tx) (bool, error) {
	return func(ctx context.Context, t *pg.Tx) (bool, error) {
		// That the lease has changed hands since says nothing about the write.
		if err := lockLease(ctx, t, lease); err != nil && !errors.Is(err, reverie.ErrLeaseLost) {
			return false, err
		}
		return pg.Get[bool](ctx, t, `select exists (`+query+`)`, args...)
	}
}
