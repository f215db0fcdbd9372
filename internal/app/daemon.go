package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// RunDaemon starts jobs, and where it serves, answers clients, until ctx ends. hurried
// watches for the word to stop at once.
func (a *App) RunDaemon(ctx context.Context, serves bool, hurried func() (hurry <-chan struct{}, end func())) error {
	specs, wanted, err := a.scheduled()
	if err != nil {
		return err
	}
	if w := a.Config.ScheduleWarning(); w != "" {
		a.Log.Warn(w)
	}
	if err := CheckModels(a.Config, wanted...); err != nil {
		return err
	}
	if err := a.Open(ctx); err != nil {
		return err
	}
	p, err := a.pipelines(wanted...)
	if err != nil {
		return err
	}
	a.queue = &jobs.Queue{}
	day := a.DayBudget()
	var tasks []jobs.Task
	var times []string
	for _, job := range wanted {
		tasks = append(tasks, jobs.Task{Name: string(job), Spec: specs[job], Run: a.task(job, p, day)})
		times = append(times, fmt.Sprintf("%s %s", job, specs[job]))
	}
	listener, addr, err := a.listen(ctx, day, serves)
	if err != nil {
		return err
	}
	a.Log.Info("running", "version", a.Version, "schedule", strings.Join(times, "; "), "http", addr, "holder", a.Leases().Holder)
	hurry, forget := hurried()
	defer forget()
	leave, left := context.WithCancel(ctx) // at the first signal, or when the jobs have ended
	defer left()
	var leaving sync.WaitGroup
	leaving.Go(func() {
		<-leave.Done()
		listener.leave(ctx, a.Config.Jobs.Grace.Duration, hurry)
	})
	scheduler := &jobs.Scheduler{Tasks: tasks, Clock: clockwork.NewRealClock(), Grace: a.Config.Jobs.Grace.Duration, Log: a.Log, Done: a.taskDone}
	err = scheduler.Run(ctx, hurry)
	left()
	leaving.Wait()
	err = errors.Join(err, listener.close(ctx))
	a.Log.Info("stopped")
	return err
}

// scheduled are the jobs of [schedule] that are ever started, and when.
func (a *App) scheduled() (specs map[reverie.Job]jobs.Spec, wanted []reverie.Job, err error) {
	schedules, err := a.Config.Schedules()
	if err != nil {
		return nil, nil, err
	}
	specs = map[reverie.Job]jobs.Spec{}
	for _, j := range schedules {
		if j.Spec.String() != "" {
			specs[j.Job] = j.Spec
			wanted = append(wanted, j.Job)
		}
	}
	if len(wanted) == 0 {
		return nil, nil, fmt.Errorf("there is nothing to do: %w: every job of [schedule] is empty or never: set one to when it shall start, evolve to 17 * * * * for instance", reverie.ErrConfiguration)
	}
	return specs, wanted, nil
}

// task is one start of a job, which may spend what one start may.
func (a *App) task(job reverie.Job, p Pipelines, day *llm.DayBudget) func(ctx context.Context, stop <-chan struct{}) error {
	return func(ctx context.Context, stop <-chan struct{}) error {
		ctx = llm.WithBudget(ctx, a.Budget(day))
		if job == reverie.JobMaintain {
			_, err := a.MaintainDue(a.Keeper()).Run(ctx, stop)
			return err
		}
		p := p.with(a.RemotePrompts(ctx, p.Prompts))
		switch job {
		case reverie.JobExtract:
			_, err := a.ExtractDue(p.Session, a.Sessions(false), true).Run(ctx, stop)
			return err
		case reverie.JobDream:
			_, err := a.DreamDue(p.Dream, a.DueDreams(false)).Run(ctx, stop)
			return err
		}
		return a.nightly(ctx, p, stop)
	}
}

// nightly evolves the dates that are over, and follows people where that is wanted.
func (a *App) nightly(ctx context.Context, p Pipelines, stop <-chan struct{}) error {
	evolves := a.EvolveDue(p.Evolve, 0, jobs.Nightly(a.Store, a.Clock, a.Config.Jobs.MissedNights))
	summary, err := evolves.Run(ctx, stop)
	next := evolves.Impressions(p.Impression, jobs.Nightly(a.Queue(), a.Clock, a.Config.Jobs.MissedNights), summary, err)
	if next == nil {
		return err
	}
	_, nextErr := next.Run(ctx, stop)
	return errors.Join(err, nextErr)
}

// taskDone reports a job that ended before its groups could have their turn. The
// failures of groups have been reported one by one.
func (a *App) taskDone(task string, _ time.Duration, err error) {
	if partial := (*jobs.PartialError)(nil); !errors.As(err, &partial) && jobs.CountsAgainstGroup(err) {
		a.sentry.Capture(err, map[string]string{"job": task})
	}
}
