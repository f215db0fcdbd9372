package app

import (
	"context"
	"errors"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// settle ends the runs that a process left behind which died when all was done
// but their last line. No window of theirs is due, so that nobody else would
// come by. No group is waited for, and none begun, when stop is closed.
func (f *FanOut) settle(ctx context.Context, stop <-chan struct{}) {
	open, end := openUntil(ctx, stop)
	defer end()
	groups, err := f.Store.Endless(ctx, f.Job.Name)
	for _, id := range groups {
		if err != nil {
			break
		}
		if !f.Shard.Has(id) || f.GroupID != "" && f.GroupID != id {
			continue
		}
		err = f.Leases().Within(open, ctx, id, func(ctx context.Context, held *jobs.Held) error {
			return f.settleGroup(ctx, held, f.Job.Name)
		})
		if errors.Is(err, reverie.ErrBusy) {
			err = nil // who has it settles it
		}
	}
	if err != nil {
		f.Log.Warn("runs that were interrupted are still called running; the next run ends them", "error", err)
	}
}

// openUntil is ctx, and ends when stop is closed, too.
func openUntil(ctx context.Context, stop <-chan struct{}) (open context.Context, end func()) {
	open, end = context.WithCancel(ctx)
	select {
	case <-stop: // at once
		end()
	default:
		go func() {
			select {
			case <-stop:
				end()
			case <-open.Done():
			}
		}()
	}
	return open, end
}

// settleGroup is settle for one group, whose lease is held.
func (a *App) settleGroup(ctx context.Context, held *jobs.Held, job reverie.Job) error {
	return held.Exclusive(func() error { return a.Store.Settle(ctx, held.Lease(), job) })
}
