package main

import (
	"context"

	"reverie/evolve"
	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// groupEnd is what came of one group, and of its impressions, which follow.
type groupEnd struct {
	run     jobs.Report
	res     evolve.Result
	next    entity.Result // the zero one where nothing waited
	nextErr error         // of what came after evolve
}

// evolveGroup takes in a window of one group under its lease, and has its impressions
// follow where they are on. evolved hears of a window that was taken in before they do.
// Nothing is begun when open has ended, which who has waited for the group already gives.
func (a *app) evolveGroup(ctx, open context.Context, p pipelines, g reverie.Group, req evolve.Request, evolved func(evolve.Result)) (end groupEnd, err error) {
	done := a.runOne(ctx, evolveJob(p.evolve, req), jobs.Request{Group: g, Window: reverie.Window{Since: req.Since, Until: req.Until}, Open: open, HasTurn: open != nil,
		Then: func(ctx context.Context, held *jobs.Held, r jobs.Report) (err error) {
			evolved(r.Result.(evolve.Result))
			if a.follows(g) {
				end.next, err = a.observeAfter(ctx, p.impression, held, g, req)
			}
			return err
		}})
	end.run, end.nextErr = done.Last(), done.ThenErr
	end.res, _ = end.run.Result.(evolve.Result)
	return end, done.Err
}
