package app

import (
	"context"

	"reverie/evolve"
	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// Evolved is what came of evolve on one group, and of its impressions, which follow.
type Evolved struct {
	Run     jobs.Report      // its result is an evolve.Result
	Next    entity.Result    // the zero one where nothing waited
	NextErr error            // of what came after evolve
	Parked  *reverie.Setback // why impressions are passed over; nil: they are not
}

// Evolve takes in a window of one group under its lease, and has its impressions follow
// where they are on. evolved hears of a window that was taken in before they do.
//
// Who has waited for the group's turn already gives open: nothing is begun when it has
// ended.
func (a *App) Evolve(ctx, open context.Context, p Pipelines, g reverie.Group, req evolve.Request, evolved func(evolve.Result)) (end Evolved, err error) {
	window := reverie.Window{Since: req.Since, Until: req.Until}
	done := a.RunOne(ctx, a.EvolveJob(p.Evolve, req), jobs.Request{Group: g, Window: window, Open: open, HasTurn: open != nil,
		DryRun: req.DryRun,
		Then: func(ctx context.Context, held *jobs.Held, r jobs.Report) (err error) {
			evolved(r.Result.(evolve.Result))
			if a.Follows(g) && !req.DryRun {
				err = a.observeAfter(ctx, p.Impression, held, g, window, &end)
			}
			return err
		}})
	end.Run, end.NextErr = done.Last(), done.ThenErr
	return end, done.Err
}
