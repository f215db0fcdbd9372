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

// leaseLives is true of a lease whose holder may be alive. No lease is given for an hour or more. A longer one was
// written before the database's clock was set back, and would block its group until then. If its holder is alive, the
// next renewal corrects the time, or the fence refuses the holder.
const leaseLives = `expires_at > statement_timestamp() and expires_at <= statement_timestamp() + interval '1 hour'`

const (
	// Takes a free lease with one statement, unless the group is new or busy.
	takeFreeLeaseQuery = takeLease + `and not (` + leaseLives + `)` + taken
	takeAnyLeaseQuery  = takeLease + taken // without the condition: see fault.Lease

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

	// The holder first applies changes of messages that have arrived meanwhile.
	giveBackQuery = releaseLeaseQuery + ` and not exists (select 1 from message_changes c where c.group_id = $1)
		returning true`
)

type leaseRow struct {
	Holder    string
	Fence     int64
	ExpiresAt time.Time `db:"expires_at"`
	Live      bool
}

// AcquireLease takes a group's lease for ttl, timed by the database's clock. Its fence is higher than any before. It
// reports whether the holder before did not release it. A lease that another holds, or is taking at this moment, is a
// *reverie.BusyError; an unknown group is reverie.ErrNotFound.
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
			lease.TakenOver = row.Holder != "" // a release clears the holder
			lease.Fence, lease.ExpiresAt = row.Fence, row.ExpiresAt
			return nil
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			// If another transaction is inserting the row, this insert waits for it.
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

// busy returns who holds a lease whose row is locked, as far as that is committed.
func busy(ctx context.Context, t *pg.Tx, groupID, name string) error {
	row, err := pg.Get[leaseRow](ctx, t, seeLeaseQuery, groupID, name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !row.Live { // another transaction is taking it and has not committed
		return &reverie.BusyError{GroupID: groupID}
	}
	return &reverie.BusyError{GroupID: groupID, Holder: row.Holder, ExpiresAt: row.ExpiresAt}
}

// RenewLease extends the lease to ttl from now, and returns its end. It returns reverie.ErrLeaseLost once another
// holder has taken it.
func (s *Store) RenewLease(ctx context.Context, lease reverie.Lease, ttl time.Duration) (time.Time, error) {
	w := pg.Work{What: fmt.Sprintf("renew the lease of group %q", lease.GroupID), ByKey: true}
	return pg.Run(ctx, s.db.Of(ctx, lease.GroupID), w, func(ctx context.Context, t *pg.Tx) (expires time.Time, err error) {
		err = extended(lease, askExtension(ctx, t, lease, ttl, &expires))
		return expires, err
	})
}

// ReleaseLease frees the group for the next holder. If another holder has the lease, it does nothing and returns no
// error.
func (s *Store) ReleaseLease(ctx context.Context, lease reverie.Lease) error {
	return s.db.Of(ctx, lease.GroupID).Run(ctx, pg.Work{
		What:  fmt.Sprintf("release the lease of group %q", lease.GroupID),
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			return t.Exec(ctx, releaseLeaseQuery, lease.GroupID, lease.Name, lease.Holder, lease.Fence)
		},
	})
}

// giveBack queues the release of the transaction's lease, unless changes of messages are waiting.
func giveBack(ctx context.Context, t *pg.Tx, lease reverie.Lease, released *bool) {
	t.Ask(ctx, released, giveBackQuery, lease.GroupID, lease.Name, lease.Holder, lease.Fence).Then(func(err error) error {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
}

// Fence locks the row of the lease until the commit, so that no other process can take it. If another holder has taken
// it already, it returns reverie.ErrLeaseLost.
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

// lockLease is Fence without a write. It serves to read the ledger after a lost commit, once the transaction in
// question is over.
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

// underLease runs work under a lease. Once another process holds it, nothing is written and the error is
// reverie.ErrLeaseLost.
func (s *Store) underLease(ctx context.Context, lease reverie.Lease, w pg.Work) error {
	if do := w.Do; !fault.Off(fault.Fence) {
		w.Do = func(ctx context.Context, t *pg.Tx) error {
			fence := askExtension(ctx, t, lease, reverie.LeaseTTL, new(time.Time))
			err := do(ctx, t)
			if ended := extended(lease, fence); err == nil || errors.Is(ended, reverie.ErrLeaseLost) {
				return ended // an uncommitted transaction has written nothing
			}
			return err
		}
	}
	return s.db.Of(ctx, lease.GroupID).Run(ctx, w)
}

// checkLease refuses work on another group than that of the lease.
func checkLease(lease reverie.Lease, groupID string) error {
	if groupID != lease.GroupID {
		return fmt.Errorf("the lease is group %q's: %w", lease.GroupID, reverie.ErrInvalid)
	}
	return nil
}

// CommittedUnder makes the Committed function of a work. It waits for the transaction that writes under the lease, and
// then reports whether the query finds a row.
func CommittedUnder(lease reverie.Lease, query string, args ...any) func(context.Context, *pg.Tx) (bool, error) {
	return func(ctx context.Context, t *pg.Tx) (bool, error) {
		// A new holder of the lease proves nothing about the write.
		if err := lockLease(ctx, t, lease); err != nil && !errors.Is(err, reverie.ErrLeaseLost) {
			return false, err
		}
		return pg.Get[bool](ctx, t, `select exists (`+query+`)`, args...)
	}
}
