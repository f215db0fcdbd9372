// Package jobs decides when each job runs, how often, and in which process. It holds the leases that keep two runs from
// working on one group. The callers pass the work itself as functions.
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

// LeaseStore stores leases. They are timed by the database's clock.
type LeaseStore interface {
	AcquireLease(ctx context.Context, groupID, name, holder string, ttl time.Duration) (reverie.Lease, error)
	RenewLease(ctx context.Context, lease reverie.Lease, ttl time.Duration) (time.Time, error)
	ReleaseLease(ctx context.Context, lease reverie.Lease) error
}

// Leases takes the lease of a group, under which one process may write the group.
type Leases struct {
	Store  LeaseStore
	Holder string // names this process to people: host:pid
	// Beat returns a channel that fires every d, and a function that stops it. nil: a ticker.
	Beat func(d time.Duration) (<-chan time.Time, func())
	// Takeover is called for each lease that the holder before did not release, because its process died or was
	// stalled. It may be nil.
	Takeover func(groupID string)
	// Settler does deferred work of a group whenever its lease is taken. nil: there is none.
	Settler Settler
	// Queue makes the jobs of this process wait for each other. nil: they do not wait.
	Queue *Queue
}

// Settler does the work that arrived for a group while its lease was held.
type Settler interface {
	Waits(ctx context.Context, groupID string) bool
	Settle(ctx context.Context, lease reverie.Lease)
}

// Held is a lease that this process holds. A goroutine renews it.
type Held struct {
	lease reverie.Lease
	mu    sync.Mutex // held during a renewal, and while none may happen
}

// Lease returns the lease. Every write checks its fence.
func (h *Held) Lease() reverie.Lease { return h.lease }

// Exclusive runs fn while nothing renews the lease, so that fn may lock the row of the lease.
func (h *Held) Exclusive(fn func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fn()
}

// allowRelease marks the next write as the last one under the lease. That write may release the lease itself.
func (h *Held) allowRelease() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lease.GiveBack = new(bool)
}

// isReleased reports whether a write has released the lease. The caller holds mu, or is the writer itself.
func (h *Held) isReleased() bool { return h.lease.GiveBack != nil && *h.lease.GiveBack }

// With runs fn while it holds the group's lease, and releases the lease afterwards. If the lease cannot be kept, the
// context of fn ends with a cause that is [reverie.ErrLeaseLost]. If another holder has it, the error is a
// [reverie.BusyError].
func (l *Leases) With(ctx context.Context, groupID string, fn func(ctx context.Context, held *Held) error) error {
	giveBack, err := l.Turn(ctx, groupID)
	if err != nil {
		return err
	}
	defer giveBack()
	return l.begin(ctx, ctx, groupID, fn)
}

// Turn waits until no other job of the process works on the group, or until ctx ends. It is for callers that must wait
// for more before they take the lease. The caller must call giveBack.
func (l *Leases) Turn(ctx context.Context, groupID string) (giveBack func(), err error) {
	if giveBack, err = l.Queue.take(ctx, groupID); err != nil {
		return nil, waitError(groupID, err)
	}
	return giveBack, nil
}

// begin is [Leases.With] for a caller that has the group's turn already. It begins nothing once open has ended. Work in
// progress goes on while ctx lasts.
func (l *Leases) begin(open, ctx context.Context, groupID string, fn func(ctx context.Context, held *Held) error) error {
	if err := cmp.Or(ctx.Err(), open.Err()); err != nil { // the group may have become free just now
		return waitError(groupID, err)
	}
	err := l.hold(ctx, groupID, fn)
	for range maxSettle { // work that arrived meanwhile found the lease held
		if l.Settler == nil || ctx.Err() != nil || errors.Is(err, reverie.ErrBusy) || !l.Settler.Waits(ctx, groupID) {
			break
		}
		if l.hold(ctx, groupID, func(context.Context, *Held) error { return nil }) != nil {
			break // the new holder does it
		}
	}
	return err
}

// maxSettle is how often begin takes the lease again for deferred work.
const maxSettle = 3

func waitError(groupID string, err error) error {
	return fmt.Errorf("wait for other work on group %q: %w", groupID, err)
}

// hold is [Leases.With] without waiting.
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
		l.renewLoop(inner, held, cancel)
	}()
	defer func() { // also when fn panics, or the renewals would never end
		cancel(nil)
		<-done
		if held.isReleased() {
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
	if l.Settler != nil && ctx.Err() == nil && !held.isReleased() && l.Settler.Waits(ctx, held.lease.GroupID) {
		_ = held.Exclusive(func() error { l.Settler.Settle(ctx, held.lease); return nil })
	}
}

// IfFree is [Leases.With] for work that can be skipped: it returns a [reverie.BusyError] instead of waiting.
func (l *Leases) IfFree(ctx context.Context, groupID string, fn func(ctx context.Context, held *Held) error) error {
	giveBack, taken := l.Queue.try(groupID)
	if taken != nil {
		return &reverie.BusyError{GroupID: groupID}
	}
	defer giveBack()
	return l.begin(ctx, ctx, groupID, fn)
}

// explainLoss adds to an error that the work failed because its lease was lost.
func explainLoss(ctx context.Context, err error) error {
	lost := context.Cause(ctx)
	if err != nil && aborted(err) == nil && errors.Is(lost, reverie.ErrLeaseLost) {
		return fmt.Errorf("the work stopped, and another process may go on with it: %w", lost)
	}
	return err
}

// renewLoop renews the lease until ctx ends. A renewal may fail if a later one succeeds. A lost lease ends the work. So
// does a lease that was not renewed for its whole lifetime: another process may hold it by then and ask the model the
// same.
func (l *Leases) renewLoop(ctx context.Context, held *Held, cancel context.CancelCauseFunc) {
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
			if held.isReleased() {
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

// Queue makes the jobs of one process take turns on a group. Without it, a job would find the group busy and skip it.
// The zero Queue is ready. With a nil Queue nobody waits, and the lease alone decides.
type Queue struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // closed when the group is free again
}

// take waits until no other job of the process works on the group. The caller must call giveBack.
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

// try is take without waiting. If another job of the process works on the group, it returns a channel that is closed
// when the group is free.
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
