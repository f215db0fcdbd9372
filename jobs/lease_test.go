package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// ledger is a lease store in memory. It tells of each call.
type ledger struct {
	mu       sync.Mutex
	holder   string
	fence    int64
	renewed  chan struct{} // one for each renewal, after it
	renewErr error         // nil: the renewal succeeds
	freeErr  error
	taken    bool          // the holder before did not release it
	released []string      // holders that gave it back, and whether their context was alive
	inRenew  chan struct{} // not nil: a renewal says that it has begun, and waits
}

func (l *ledger) AcquireLease(_ context.Context, groupID, name, holder string, ttl time.Duration) (reverie.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != "" {
		return reverie.Lease{}, &reverie.BusyError{GroupID: groupID, Holder: l.holder, ExpiresAt: time.Unix(9, 0)}
	}
	if ttl != reverie.LeaseTTL || name != reverie.LeaseGroup {
		return reverie.Lease{}, fmt.Errorf("lease %q for %s", name, ttl)
	}
	l.holder = holder
	l.fence++
	return reverie.Lease{GroupID: groupID, Name: name, Holder: holder, Fence: l.fence, TakenOver: l.taken}, nil
}

func (l *ledger) RenewLease(ctx context.Context, lease reverie.Lease, _ time.Duration) (time.Time, error) {
	if l.inRenew != nil {
		l.inRenew <- struct{}{}
		<-l.inRenew
	}
	defer func() { l.renewed <- struct{}{} }()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, bounded := ctx.Deadline(); !bounded {
		return time.Time{}, errors.New("a renewal without a deadline")
	}
	return time.Unix(9, 0), l.renewErr
}

func (l *ledger) ReleaseLease(ctx context.Context, lease reverie.Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, bounded := ctx.Deadline()
	l.released = append(l.released, fmt.Sprintf("%s fence %d alive %v bounded %v", lease.Holder, lease.Fence, ctx.Err() == nil, bounded))
	l.holder = ""
	return l.freeErr
}

func (l *ledger) fails(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewErr = err
}

// beat is a heart that a test makes beat.
type beat struct {
	ticks   chan time.Time
	every   time.Duration
	stopped bool
}

func (b *beat) start(every time.Duration) (<-chan time.Time, func()) {
	b.every = every
	return b.ticks, func() { b.stopped = true }
}

func setUp() (*ledger, *beat, *jobs.Leases) {
	l, b := &ledger{renewed: make(chan struct{}, 1)}, &beat{ticks: make(chan time.Time)}
	return l, b, &jobs.Leases{Store: l, Holder: "host:1", Beat: b.start}
}

func TestWith(t *testing.T) {
	l, b, leases := setUp()
	err := leases.With(t.Context(), "g1", func(ctx context.Context, held *jobs.Held) error {
		if lease := held.Lease(); lease.GroupID != "g1" || lease.Holder != "host:1" || lease.Fence != 1 {
			t.Errorf("lease %+v", lease)
		}
		for range 3 {
			b.ticks <- time.Time{}
			<-l.renewed
		}
		var busy *reverie.BusyError
		err := leases.With(ctx, "g1", func(context.Context, *jobs.Held) error {
			t.Error("two hold one group")
			return nil
		})
		if !errors.As(err, &busy) || busy.Holder != "host:1" || !strings.Contains(err.Error(), `"g1"`) {
			t.Errorf("the second: %v", err)
		}
		return ctx.Err()
	})
	if err != nil || b.every != reverie.LeaseRenew || !b.stopped {
		t.Errorf("%v; renewed every %s, stopped %v", err, b.every, b.stopped)
	}
	if len(l.released) != 1 || l.released[0] != "host:1 fence 1 alive true bounded true" {
		t.Errorf("released: %q", l.released)
	}
}

// TestLost ends the work, with the reason, when another has taken the lease; a
// renewal that only failed does not.
func TestLost(t *testing.T) {
	l, b, leases := setUp()
	err := leases.With(t.Context(), "g1", func(ctx context.Context, held *jobs.Held) error {
		l.fails(errors.New("the database does not answer"))
		b.ticks <- time.Time{}
		<-l.renewed
		l.fails(nil)
		b.ticks <- time.Time{} // taken only if the heart has survived the failure
		<-l.renewed
		if ctx.Err() != nil {
			t.Errorf("one failed renewal has ended the work: %v", context.Cause(ctx))
		}
		l.fails(fmt.Errorf("fence 2: %w", reverie.ErrLeaseLost))
		b.ticks <- time.Time{}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, reverie.ErrLeaseLost) || !strings.Contains(cause.Error(), `"g1"`) {
			t.Errorf("cause %v", cause)
		}
		return fmt.Errorf("ask the model: %w", ctx.Err())
	})
	if !errors.Is(err, reverie.ErrLeaseLost) || strings.Contains(err.Error(), "ask the model") {
		t.Errorf("error %v", err)
	}
}

// TestExclusive pauses renewal, and waits for one that is under way.
func TestExclusive(t *testing.T) {
	l, b, leases := setUp()
	l.inRenew = make(chan struct{})
	failed := errors.New("not applied")
	err := leases.With(t.Context(), "g1", func(ctx context.Context, held *jobs.Held) error {
		b.ticks <- time.Time{}
		<-l.inRenew // a renewal is under way
		entered := make(chan error)
		go func() {
			entered <- held.Exclusive(func() error {
				select {
				case <-l.renewed: // it has ended
				default:
					t.Error("the write began while the lease was being renewed")
				}
				b.ticks <- time.Time{} // the heart beats, and must wait
				select {
				case <-l.inRenew:
					t.Error("the lease was renewed during the write")
				default:
				}
				return failed
			})
		}()
		l.inRenew <- struct{}{}
		err := <-entered
		<-l.inRenew // now it may
		l.inRenew <- struct{}{}
		<-l.renewed
		return err
	})
	if !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
}

// TestCallerGivesUp releases the lease with a context of its own.
func TestCallerGivesUp(t *testing.T) {
	l, _, leases := setUp()
	ctx, cancel := context.WithCancel(t.Context())
	err := leases.With(ctx, "g1", func(ctx context.Context, _ *jobs.Held) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, reverie.ErrLeaseLost) {
		t.Errorf("error %v", err)
	}
	if len(l.released) != 1 || l.released[0] != "host:1 fence 1 alive true bounded true" {
		t.Errorf("released: %q", l.released)
	}
}

func TestRelease(t *testing.T) {
	failed, stuck := errors.New("the work failed"), errors.New("the database is gone")
	for _, c := range []struct {
		work, release error
		want          string
	}{
		{nil, nil, ""},
		{failed, nil, "the work failed"},
		{nil, stuck, `release the lease of group "g1" (it ends by itself within 15s): the database is gone`},
		{failed, stuck, "the work failed"},
		{nil, reverie.ErrLeaseLost, ""}, // somebody else has it: nothing to give back
	} {
		l, _, leases := setUp()
		l.freeErr = c.release
		err := leases.With(t.Context(), "g1", func(context.Context, *jobs.Held) error { return c.work })
		if got := fmt.Sprint(err); got != c.want && !(err == nil && c.want == "") {
			t.Errorf("work %v, release %v: %v", c.work, c.release, err)
		}
	}
}

// TestTakeover tells of a lease that the holder before lost, and of no other.
func TestTakeover(t *testing.T) {
	for _, taken := range []bool{false, true} {
		l, _, leases := setUp()
		l.taken = taken
		var told []string
		leases.Takeover = func(groupID string) { told = append(told, groupID) }
		err := leases.With(t.Context(), "g1", func(context.Context, *jobs.Held) error {
			if len(told) == 1 != taken {
				t.Errorf("taken over %v: told of %q", taken, told)
			}
			return nil
		})
		if err != nil || taken && told[0] != "g1" {
			t.Errorf("%v, told of %q", err, told)
		}
		leases.Takeover = nil
		if err := leases.With(t.Context(), "g1", func(context.Context, *jobs.Held) error { return nil }); err != nil {
			t.Errorf("nobody listens: %v", err)
		}
	}
}

// TestTicker is the heart that nobody injects.
func TestTicker(t *testing.T) {
	l, _, leases := setUp()
	leases.Beat = nil
	if err := leases.With(t.Context(), "g1", func(context.Context, *jobs.Held) error { return nil }); err != nil || len(l.released) != 1 {
		t.Errorf("%v, released %q", err, l.released)
	}
}

// TestPanicUnderALease gives the lease back: whoever recovers lives on, and would renew it.
func TestPanicUnderALease(t *testing.T) {
	l, b, leases := setUp()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is swallowed")
			}
		}()
		_ = leases.With(t.Context(), "g1", func(context.Context, *jobs.Held) error { panic("of a server's making") })
	}()
	if len(l.released) != 1 || !b.stopped {
		t.Errorf("released %q, its heart stopped: %v", l.released, b.stopped)
	}
}

// TestLostIsNotAll: what ends the work for all groups is not hidden by a lease that is
// lost as well.
func TestLostIsNotAll(t *testing.T) {
	w := newWorld([]string{"a", "b"}, 1)
	ticks := make(chan time.Time)
	refused := errors.New("the key is refused")
	r, _ := w.runner(func(ctx context.Context, _ *jobs.Held, g reverie.DueGroup, _ reverie.Window) error {
		if g.ID != "a" {
			t.Errorf("group %s is asked about", g.ID)
			return nil
		}
		ticks <- time.Time{}
		<-ctx.Done()
		return jobs.Abort(refused)
	})
	r.Leases.Beat = func(time.Duration) (<-chan time.Time, func()) { return ticks, func() {} }
	if s, err := r.Run(t.Context(), nil); !errors.Is(err, refused) || s.Stopped != refused.Error() {
		t.Errorf("%+v, %v", s, err)
	}
}

// deaf is a database that answers everybody but those who renew.
type deaf struct{ jobs.LeaseStore }

func (deaf) AcquireLease(_ context.Context, groupID, name, holder string, _ time.Duration) (reverie.Lease, error) {
	return reverie.Lease{GroupID: groupID, Name: name, Holder: holder}, nil
}

func (deaf) RenewLease(ctx context.Context, _ reverie.Lease, _ time.Duration) (time.Time, error) {
	<-ctx.Done()
	return time.Time{}, errors.Join(reverie.ErrUnavailable, ctx.Err())
}

func (deaf) ReleaseLease(context.Context, reverie.Lease) error { return nil }

// TestLeaseThatCannotBeKept ends its work when it has run out: another may have it by then.
func TestLeaseThatCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases, began := &jobs.Leases{Store: deaf{}, Holder: "me"}, time.Now()
		err := leases.With(t.Context(), "g1", func(ctx context.Context, _ *jobs.Held) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began); !errors.Is(err, reverie.ErrLeaseLost) || took < reverie.LeaseTTL || took > 2*reverie.LeaseTTL {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// TestNotBegunBehindOthers: who waits for other work of the process begins nothing when
// that is over after the end of what was open.
func TestNotBegunBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := &jobs.Leases{Store: deaf{}, Holder: "me", Queue: new(jobs.Queue)}
		open, shut := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			err := leases.With(t.Context(), "g1", func(context.Context, *jobs.Held) error {
				all.Go(func() {
					err := leases.With(open, "g1", func(context.Context, *jobs.Held) error {
						t.Error("it was begun")
						return nil
					})
					if !errors.Is(err, context.Canceled) {
						t.Errorf("it waited until %v", err)
					}
				})
				synctest.Wait()
				shut()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		all.Wait()
	})
}
