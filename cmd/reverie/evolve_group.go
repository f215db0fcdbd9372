package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reverie/evolve"
	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// groupEnd is what came of one group, and of its impressions, which follow.
type groupEnd struct {
	res     evolve.Result
	took    time.Duration // without impressions; 0 where it failed
	next    entity.Result // the zero one where nothing waited
	nextErr error         // of what came after evolve
}

// evolveGroup takes in a window of one group under its lease, notes how that ended, and
// has its impressions follow where they are on. evolved hears of a window that was taken
// in before they do. Nothing is begun when open has ended.
func (a *app) evolveGroup(ctx, open context.Context, leases *jobs.Leases, p pipelines, g reverie.Group, req evolve.Request, show bool, evolved func(evolve.Result)) (end groupEnd, err error) {
	began, done := time.Now(), false
	var noted error
	err = leases.Within(open, ctx, g.ID, func(ctx context.Context, held *jobs.Held) error {
		end.res, err = a.evolveWindow(ctx, p.evolve, held, req)
		if err != nil {
			return err
		}
		end.took, done = time.Since(began), true
		noted = a.noteEnd(ctx, reverie.JobEvolve, g.ID, end.res.NoNew, nil)
		evolved(end.res)
		if a.follows(g) {
			end.next, err = a.observeAfter(ctx, p.impression, held, req, show)
		}
		return err
	})
	if !done {
		return end, errors.Join(err, a.noteEnd(ctx, reverie.JobEvolve, g.ID, end.res.NoNew, err))
	}
	if end.nextErr = err; errors.Is(err, reverie.ErrLeaseLost) {
		end.next = entity.Result{}
	}
	return end, noted
}

// evolveWindow runs one window under the eyes of whoever watches; hold is nil for a
// dry run.
func (a *app) evolveWindow(ctx context.Context, p *evolve.Pipeline, hold evolve.Hold, req evolve.Request) (res evolve.Result, err error) {
	_, err = a.watched(ctx, reverie.JobEvolve, req.GroupID, reverie.Window{Since: req.Since, Until: req.Until}, func(ctx context.Context) (ended, error) {
		res, err = p.Run(ctx, hold, req)
		return endOfEvolve(res), err
	})
	return res, err
}

// noteEnd counts a failure of a job against its group, or forgets those before.
func (a *app) noteEnd(ctx context.Context, job reverie.Job, groupID string, noNew bool, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	switch {
	case err == nil && !noNew: // to have had nothing to do proves nothing
		return a.store.ClearSetback(ctx, groupID, job)
	case !blames(err):
		return nil
	}
	setback, nerr := a.store.NoteFailure(ctx, groupID, job, err.Error(), a.parkRule())
	if nerr == nil && setback.ParkedAt != nil {
		a.tell("reverie: ", fmt.Sprintf("group %q is parked: --due and --all pass it over until `reverie groups resume %s`", groupID, groupID))
	}
	return nerr
}

// tell tells a person something, a daemon's in its log.
func (a *app) tell(prefix, text string) {
	if a.daemon {
		a.log.Warn(text)
		return
	}
	fmt.Fprintln(a.stderr, prefix+text)
}
