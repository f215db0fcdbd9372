package app

import (
	"context"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// instrument tells whoever watches a job's runs: metrics, traces, the tracker of errors,
// and where nobody watches the output, the log.
func (a *App) instrument(job reverie.Job) func(context.Context, string, reverie.Window) (context.Context, func(jobs.Report)) {
	return func(ctx context.Context, groupID string, w reverie.Window) (context.Context, func(jobs.Report)) {
		ctx, end := a.tracer.Run(ctx, job, groupID, w)
		return ctx, func(r jobs.Report) {
			end(r.RunID, r.Status, r.Err)
			a.metrics.RunDone(job, r.Status, r.NoNew, r.Stats, r.Took)
			if r.Err != nil && !reverie.Passing(r.Err) {
				a.sentry.Capture(r.Err, map[string]string{"job": string(job), "group_id": groupID, "run_id": r.RunID})
			}
			if !r.NoNew && a.Resident {
				a.logRun(job, r)
			}
		}
	}
}

func (a *App) logRun(job reverie.Job, r jobs.Report) {
	log := a.Log.Info
	if r.Err != nil {
		log = a.Log.Warn
	}
	what := []any{"job", job, "group_id", r.GroupID}
	if r.Window.SessionID != "" {
		what = append(what, "session_id", r.Window.SessionID)
	}
	log("run ended", append(what, "run_id", r.RunID, "status", r.Status, "took", r.Took,
		"messages", r.Stats.Cited+r.Stats.Considered+r.Stats.Filtered, "error", errText(r.Err))...)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
