package app

import (
	"context"
	"errors"
	"fmt"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/config"
	"reverie/internal/entity"
	"reverie/internal/maintain"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/jobs"
)

// Job is a kind of run, whoever asks for it.
type Job struct {
	Name reverie.Job
	Use  string // what its model is asked for
	Run  jobs.Work
	// Failed notes a window that failed; nil: failures are the group's, since its
	// windows build on each other.
	Failed func(ctx context.Context, groupID string, w reverie.Window, err error) error
	// none is the result where there is none to report but an error.
	none func(groupID string, w reverie.Window, err error) any
}

// jobOf is a job by its pipeline: run works on a window, and outcome is what of its
// result is the same for all jobs.
func jobOf[R any](name reverie.Job, use string, run func(context.Context, pipeline.LeaseHolder, string, reverie.Window) (R, error),
	outcome func(R) jobs.RunOutcome, none func(groupID string, w reverie.Window, err error) R) Job {
	return Job{Name: name, Use: use,
		Run: func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
			var hold pipeline.LeaseHolder // nil for a dry run
			if held != nil {
				hold = held
			}
			r, err := run(ctx, hold, g.ID, w)
			done := outcome(r)
			done.Result = r
			return done, err
		},
		none: func(groupID string, w reverie.Window, err error) any { return none(groupID, w, err) },
	}
}

// EvolveJob is evolve, as a request says.
func (a *App) EvolveJob(p *evolve.Pipeline, req evolve.Request) Job {
	return EvolveJobBy(func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, w reverie.Window) (evolve.Result, error) {
		req := req
		req.GroupID, req.Since, req.Until = groupID, w.Since, w.Until
		return p.Run(ctx, hold, req)
	})
}

// EvolveJobBy is a job whose runs are evolve's.
func EvolveJobBy(run func(context.Context, pipeline.LeaseHolder, string, reverie.Window) (evolve.Result, error)) Job {
	return jobOf(reverie.JobEvolve, config.UseEvolve, run, func(r evolve.Result) jobs.RunOutcome {
		return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.NoNew, Stats: r.Stats, Held: r.Held}
	}, func(groupID string, _ reverie.Window, err error) evolve.Result {
		return evolve.Result{Result: pipeline.Result{GroupID: groupID, Err: err}}
	})
}

// ImpressionJob is impression, as a request says.
func (a *App) ImpressionJob(p *entity.Pipeline, req entity.Request) Job {
	return jobOf(reverie.JobImpression, config.UseObserve,
		func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, w reverie.Window) (entity.Result, error) {
			req := req
			req.GroupID, req.Since, req.Until = groupID, w.Since, w.Until
			return p.Run(ctx, hold, req)
		}, func(r entity.Result) jobs.RunOutcome {
			return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.NoNew, Stats: r.Stats}
		}, func(groupID string, _ reverie.Window, err error) entity.Result {
			return entity.Result{Result: pipeline.Result{GroupID: groupID, Err: err}}
		})
}

// ImpressionOnDemand is [App.ImpressionJob] for a person who asks: it takes all messages
// that evolve has taken in, also those that nobody has asked it to take before.
func (a *App) ImpressionOnDemand(p *entity.Pipeline, req entity.Request) Job {
	j := a.ImpressionJob(p, req)
	run := j.Run
	j.Run = func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
		if !req.DryRun {
			if _, err := a.Store.QueueMessages(ctx, g.ID, j.Name, w.Since, w.Until); err != nil {
				return jobs.RunOutcome{}, err
			}
		}
		return run(ctx, held, g, w)
	}
	return j
}

// ExtractJob is extraction of sessions, as a request says.
func (a *App) ExtractJob(p *session.Pipeline, req session.Request) Job {
	j := jobOf(reverie.JobExtract, config.UseExtract,
		func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, w reverie.Window) (session.Result, error) {
			req := req
			req.GroupID, req.SessionID = groupID, w.SessionID
			return p.Run(ctx, hold, req)
		}, func(r session.Result) jobs.RunOutcome {
			return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.NoNew, Stats: r.Stats, Held: r.Held}
		}, func(groupID string, w reverie.Window, err error) session.Result {
			return session.Result{Result: pipeline.Result{GroupID: groupID, Err: err}, SessionID: w.SessionID}
		})
	j.Failed = a.noteSession
	return j
}

// DreamJob is dreaming, as a request says.
func (a *App) DreamJob(p *dream.Pipeline, req dream.Request) Job {
	return jobOf(reverie.JobDream, config.UseDream,
		func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, _ reverie.Window) (dream.Result, error) {
			req := req
			req.GroupID = groupID
			return p.Run(ctx, hold, req)
		}, func(r dream.Result) jobs.RunOutcome {
			return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.None != "", Stats: r.Stats, Held: r.Held, Through: r.SessionID}
		}, func(groupID string, _ reverie.Window, err error) dream.Result {
			return dream.Result{Result: pipeline.Result{GroupID: groupID, Err: err}}
		})
}

// MaintainJob is maintenance, as a request says.
func (a *App) MaintainJob(k *maintain.Keeper, req maintain.Request) Job {
	return jobOf(reverie.JobMaintain, "",
		func(ctx context.Context, hold pipeline.LeaseHolder, groupID string, _ reverie.Window) (maintain.Result, error) {
			req := req
			req.GroupID = groupID
			return k.Run(ctx, hold, req)
		}, func(r maintain.Result) jobs.RunOutcome {
			return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.Nothing, Stats: r.Stats}
		}, func(groupID string, _ reverie.Window, err error) maintain.Result {
			return maintain.Result{GroupID: groupID, Err: err}
		})
}

// runner does a job, told to whoever watches.
func (a *App) runner(j Job) *jobs.Runner {
	return &jobs.Runner{Job: j.Name, Store: a.Store, Leases: a.Leases(), Work: j.Run, WindowFailed: j.Failed, Rule: a.parkRule(),
		Instrument: a.instrument(j.Name), Now: a.Clock, Log: a.Log}
}

// RunOne does a job on what a person or a client asks for, and says where the group is
// parked for it now. The last window always has a result of the job's.
func (a *App) RunOne(ctx context.Context, j Job, req jobs.Request) jobs.GroupResult {
	res := a.runner(j).RunOne(ctx, req)
	if res.Parked {
		a.tell("reverie: ", fmt.Sprintf("group %q is parked: --due and --all pass it over until `reverie groups resume %s`", res.GroupID, res.GroupID))
	}
	last := res.Last()
	// What this process began where it has lost the group is another's to report.
	if last.Result == nil || errors.Is(res.Err, reverie.ErrBusy) || errors.Is(res.Err, reverie.ErrLeaseLost) {
		last.RunOutcome = jobs.RunOutcome{Result: j.none(res.GroupID, req.Window, res.Err)}
		res.Windows = []jobs.Report{last}
	}
	return res
}

// tell tells a person something; a process that stays has it in its log.
func (a *App) tell(prefix, text string) {
	if a.Resident {
		a.Log.Warn(text)
		return
	}
	a.Notify(prefix + text)
}
