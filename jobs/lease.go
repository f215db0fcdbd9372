// Package jobs says when and how often work is done, and by whom: it holds the
// leases that keep two runs off one group. The work itself is functions that it
// is handed.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"reverie/internal/reverie"
)

// LeaseStore keeps leases, on the database's clock.
type LeaseStore interface {
	AcquireLease(ctx context.Context, groupID, name, holder string, ttl time.Duration) (reverie.Lease, error)
	RenewLease(ctx context.Context, lease reverie.Lease, ttl time.Duration) (time.Time, error)
	ReleaseLease(ctx context.Context, lease reverie.Lease) error
}

// Leases hands out the right to write a group.
type Leases struct {
	Store  LeaseStore
	Holder string // names this process to people: host:pid
	// Beat returns a channel that fires every d, and its stop; nil is a ticker.
	Beat func(d time.Duration) (<-chan time.Time, func())
	// Takeover hears of each lease that the holder before did not give back: its
	// process died or stood still. nil is nobody.
	Takeover func(groupID string)
	// Settler does what waits to be done under a lease, whenever one is taken. nil: nothing waits.
	Settler Settler
	// Queue has those who ask in this process wait for each other; nil: they do not.
	Queue *Queue
}

// Settler does what has come for a group while somebody had its lease.
type Settler interface {
	Waits(ctx context.Context, groupID string) bool
	Settle(ctx context.Context, lease reverie.Lease)
}

// Held is a lease that this process has, renewed in the background.
type Held struct {
	lease reverie.Lease
	mu    sync.Mutex // held while the lease is being renewed, or must not be
}

// Lease returns the lease; its fence goes with every write.
func (h *Held) Lease() reverie.Lease { return h.lease }

// Exclusive runs fn while nothing renews the lease, so that fn may lock its row.
func (h *Held) Exclusive(fn func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fn()
}

// last says that nothing is done under the lease behind what is done next, which may give it back.
func (h *Held) last() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lease.GiveBack = new(bool)
}

// givenBack tells whether that was done. The caller has mu, or is the one who writes.
func (h *Held) givenBack() bool { return h.lease.GiveBack != nil && *h.lease.GiveBack }

// With runs fn while it holds the group's lease, and releases it after. The
// context of fn ends, with a cause that is [reverie.ErrLeaseLost], when the lease
// could not be kept. A group that somebody else holds is a [reverie.BusyError].
func (l *Leases) With(ctx context.Context, groupID string, fn func(ctx context.Context, held *Held) error) error {
	giveBack, err := l.Turn(ctx, groupID)
	if err != nil {
		return err
	}
	defer giveBack()
	return l.begin(ctx, ctx, groupID, fn)
}

// Turn waits until no other of the process works on the group, or ctx ends, for one who has to
// wait for more before the lease is taken. What it returns gives the group back.
func (l *Leases) Turn(ctx context.Context, groupID string) (giveBack func(), err error) {
	if giveBack, err = l.Queue.take(ctx, groupID); err != nil {
		return nil, waitError(groupID, err)
	}
	return giveBack, nil
}

// begin is [Leases.With] for one whose turn it is already. Nothing is begun when open has
// ended: what is under way by then goes on while ctx lasts.
func (l *Leases) begin(open, ctx context.Context, groupID string, fn func(ctx context.Context, held *Held) error) error {
	if err := cmp.Or(ctx.Err(), open.Err()); err != nil { // also where the group came free just now
		return waitError(groupID, err)
	}
	err := l.hold(ctx, groupID, fn)
	for range maxSettle { // what has come since found the lease taken
		if l.Settler == nil || ctx.Err() != nil || errors.Is(err, reverie.ErrBusy) || !l.Settler.Waits(ctx, groupID) {
			break
		}
		if l.hold(ctx, groupID, func(context.Context, *Held) error { return nil }) != nil {
			break // who has it does it
		}
	}
	return err
}

// maxSettle is how often what comes is waited for behind the work.
const maxSettle = 3

func waitError(groupID string, err error) error {
	return fmt.Errorf("wait for other work on group %q: %w", groupID, err)
}

// hold is [Leases.With] without a wait.
func (l *Leases) hold(ctx context.Context, groupID string, fn func(ctx context.Context, held *Held) error) (err error) {
	lease, err := l.Store.AcquireLease(ctx, groupID, reverie.LeaseGroup, l.Holder, reverie.LeaseTTL)
	if err != nil {
		return fmt.Errorf("lease group %q: %w", groupID, err)
	}
	if lease.TakenOver && l.Takeover != nil {
		l.Takeover(groupID)
	}
	held := &Held{lease: lease}
	inner, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.keep(inner, held, cancel)
	}()
	defer func() { // also when fn panics: it would be renewed for as long as the process lives
		cancel(nil)
		<-done
		if held.givenBack() {
			return
		}
		release, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		if rerr := l.Store.ReleaseLease(release, lease); rerr != nil && !errors.Is(rerr, reverie.ErrLeaseLost) && err == nil {
			err = fmt.Errorf("release the lease of group %q (it ends by itself within %s): %w", groupID, reverie.LeaseTTL, rerr)
		}
	}()
	if !lease.Quiet {
		l.settle(inner, held)
	}
	if err = fn(inner, held); ctx.Err() == nil {
		err = explainLoss(inner, err)
	}
	l.settle(inner, held)
	return err
}

func (l *Leases) settle(ctx context.Context, held *Held) {
	if l.Settler != nil && ctx.Err() == nil && !held.givenBack() && l.Settler.Waits(ctx, held.lease.GroupID) {
		_ = held.Exclusive(func() error { l.Settler.Settle(ctx, held.lease); return nil })
	}
}

// IfFree is [Leases.With] for what can wait: it waits for nobody.
func (l *Leases) IfFree(ctx context.Context, groupID string, fn func(ctx context.Context, held *Held) error) error {
	giveBack, taken := l.Queue.try(groupID)
	if taken != nil {
		return &reverie.BusyError{GroupID: groupID}
	}
	defer giveBack()
	return l.begin(ctx, ctx, groupID, fn)
}

// explainLoss says of work that failed because its lease was lost that it did.
func explainLoss(ctx context.Context, err error) error {
	lost := context.Cause(ctx)
	if err != nil && aborted(err) == nil && errors.Is(lost, reverie.ErrLeaseLost) {
		return fmt.Errorf("the work stopped, and another process may go on with it: %w", lost)
	}
	return err
}

// keep renews the lease until ctx ends. One renewal may fail and the next
// succeed; a lease that is lost ends the work, and so does one that could not be
// renewed for as long as it lives: another may have it, and ask the model the same.
func (l *Leases) keep(ctx context.Context, held *Held, cancel context.CancelCauseFunc) {
	beat := l.Beat
	if beat == nil {
		beat = ticker
	}
	tick, stop := beat(reverie.LeaseRenew)
	defer stop()
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		err := held.Exclusive(func() error {
			if held.givenBack() {
				return nil
			}
			renew, stop := context.WithTimeout(ctx, reverie.LeaseRenew)
			defer stop()
			_, err := l.Store.RenewLease(renew, held.lease, reverie.LeaseTTL)
			return err
		})
		switch {
		case err == nil:
			renewed = time.Now()
		case errors.Is(err, reverie.ErrLeaseLost):
			cancel(fmt.Errorf("group %q: %w", held.lease.GroupID, err))
			return
		case ctx.Err() == nil && time.Since(renewed) > reverie.LeaseTTL:
			cancel(fmt.Errorf("group %q: it could not be renewed for %s: %w: %w", held.lease.GroupID, reverie.LeaseTTL, reverie.ErrLeaseLost, err))
			return
		}
	}
}

func ticker(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// Queue has several jobs of one process take turns on a group, where each would
// find it busy else and pass it over. The zero Queue is ready; a nil one lets
// everybody through, and the lease decides.
type Queue struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // closed when the group is free again
}

// take waits until no other of the process works on the group. What it returns
// gives the group back.
func (q *Queue) take(ctx context.Context, groupID string) (giveBack func(), err error) {
	for {
		giveBack, free := q.try(groupID)
		if free == nil {
			return giveBack, nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try is take without waiting: where another of the process works on the group it returns
// what is closed when the group is free again.
func (q *Queue) try(groupID string) (giveBack func(), free <-chan struct{}) {
	if q == nil {
		return func() {}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if until, taken := q.taken[groupID]; taken {
		return nil, until
	}
	if q.taken == nil {
		q.taken = map[string]chan struct{}{}
	}
	until := make(chan struct{})
	q.taken[groupID] = until
	return func() { q.give(groupID, until) }, nil
}

func (q *Queue) give(groupID string, free chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.taken, groupID)
	close(free)
}
