package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/spf13/cobra"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/jobs"
)

func newRun(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Stay, and start the jobs of [schedule] when their time comes",
		Long: `Run stays resident and starts each job of [schedule] at its times, and once at the
beginning: what was missed while nothing ran is made up, night by night. Where
impressions are on, they follow each start of evolve. Sessions are extracted, and
groups dream, where [schedule] extract and dream say when. Several may run side by
side, together with CronJobs and single commands: a lease per group keeps them apart,
and no window, no turn of a session and no dream is worked on twice.

At [http] listen it answers /healthz (the process lives), /readyz (the database
answers and its schema fits) and /metrics (Prometheus). With --listen it serves the
API, the page and MCP there, too, as ` + "`reverie serve`" + ` does.

A first SIGTERM or SIGINT ends it: no group is begun, runs of the schedule ask no
further question, what is under way (answers, and what clients have asked for)
has [jobs] grace to come and be applied, and the exit code is 0. A second signal
stops it at once; what it has not committed stays pending.

The log level is info unless it is set. ` + "`reverie schedule`" + ` prints the next times.

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runDaemon(cmd.Context(), cmd.Flags().Changed("listen"))
		},
	}
	listenFlag(cmd, a)
	return cmd
}

// runDaemon starts jobs, and where it serves, answers clients, until the first signal.
func (a *app) runDaemon(ctx context.Context, serves bool) error {
	a.daemon = true
	if err := a.settings(); err != nil {
		return err
	}
	if serves {
		if err := checkListen(a.cfg); err != nil {
			return err
		}
	}
	specs, wanted, err := a.scheduled()
	if err != nil {
		return err
	}
	if w := a.cfg.ScheduleWarning(); w != "" {
		a.log.Warn(w)
	}
	if err := checkModels(a.cfg, wanted...); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	p, err := a.pipelines(wanted...)
	if err != nil {
		return err
	}
	a.turns = &jobs.Queue{}
	day := a.dayBudget()
	var tasks []jobs.Task
	var times []string
	for _, job := range wanted {
		tasks = append(tasks, jobs.Task{Name: string(job), Spec: specs[job], Run: a.task(job, p, day)})
		times = append(times, fmt.Sprintf("%s %s", job, specs[job]))
	}
	door, addr, err := a.door(ctx, day, serves)
	if err != nil {
		return err
	}
	a.log.Info("running", "version", version, "schedule", strings.Join(times, "; "), "http", addr, "holder", a.leases().Holder)
	signal.Ignore(syscall.SIGPIPE) // whoever read the log may go; the work goes on
	hurry, forget := twice()
	defer forget()
	leave, left := context.WithCancel(ctx) // at the first signal, or when the jobs have ended
	defer left()
	var leaving sync.WaitGroup
	leaving.Go(func() {
		<-leave.Done()
		door.leave(ctx, a.cfg.Jobs.Grace.Duration, hurry)
	})
	scheduler := &jobs.Scheduler{Tasks: tasks, Clock: clockwork.NewRealClock(), Grace: a.cfg.Jobs.Grace.Duration, Log: a.log, Done: a.taskDone}
	err = scheduler.Run(ctx, hurry)
	left()
	leaving.Wait()
	err = errors.Join(err, door.close(ctx))
	a.log.Info("stopped")
	return err
}

// scheduled are the jobs of [schedule] that are ever started, and when.
func (a *app) scheduled() (specs map[reverie.Job]jobs.Spec, wanted []reverie.Job, err error) {
	schedules, err := a.cfg.Schedules()
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
func (a *app) task(job reverie.Job, p pipelines, day *llm.DayBudget) func(ctx context.Context, stop <-chan struct{}) error {
	return func(ctx context.Context, stop <-chan struct{}) error {
		ctx = llm.WithBudget(ctx, a.budget(day))
		switch job {
		case reverie.JobEvolve:
			return a.evolveDue(ctx, p.with(a.remotePrompts(ctx, p.prompts)), stop)
		case reverie.JobExtract:
			return a.extractDue(ctx, p.with(a.remotePrompts(ctx, p.prompts)), stop)
		case reverie.JobDream:
			return a.dreamDue(ctx, p.with(a.remotePrompts(ctx, p.prompts)), stop)
		}
		return a.maintainAll(ctx, stop)
	}
}

// evolveDue evolves the dates that are over, and follows people where that is
// wanted.
func (a *app) evolveDue(ctx context.Context, p pipelines, stop <-chan struct{}) error {
	f := &fanOut{app: a, job: evolveJob(p.evolve, evolve.Request{}), plan: jobs.Nightly(a.store, a.Now, a.cfg.Jobs.MissedNights), showGroup: a.logGroup(reverie.JobEvolve)}
	summary, err := f.run(ctx, stop)
	_, nextErr := f.impressions(ctx, p.impression, jobs.Nightly(a.queue(), a.Now, a.cfg.Jobs.MissedNights), stop, nil, summary, err)
	return errors.Join(err, nextErr)
}

// extractDue extracts the sessions that are due.
func (a *app) extractDue(ctx context.Context, p pipelines, stop <-chan struct{}) error {
	due := a.store.Sessions(a.sessionRule())
	f := &fanOut{app: a, job: a.extractJob(p.session, session.Request{Due: true}).listed(), groups: due, plan: dueSessions(due), showGroup: a.logGroup(reverie.JobExtract)}
	_, err := f.run(ctx, stop)
	return err
}

// dreamDue dreams of the groups that are due.
func (a *app) dreamDue(ctx context.Context, p pipelines, stop <-chan struct{}) error {
	due := &dueDreams{app: a}
	f := &fanOut{app: a, job: dreamJob(p.dream, dream.Request{Due: true}), groups: a.store.Dreams(), plan: due.plan, showGroup: a.logGroup(reverie.JobDream)}
	_, err := f.run(ctx, stop)
	return err
}

// taskDone reports a job that ended before its groups could have their turn. The
// failures of groups have been reported one by one.
func (a *app) taskDone(task string, _ time.Duration, err error) {
	if partial := (*jobs.PartialError)(nil); !errors.As(err, &partial) && jobs.CountsAgainstGroup(err) {
		a.sentry.Capture(err, map[string]string{"job": task})
	}
}

// logGroup says of a group that is not done with a job why.
func (a *app) logGroup(job reverie.Job) func(jobs.GroupResult) {
	return func(r jobs.GroupResult) {
		level := slog.LevelInfo
		if r.Outcome == jobs.Failed {
			level = slog.LevelWarn
		}
		if r.Outcome != jobs.Done || r.Capped > 0 {
			a.log.Log(context.Background(), level, "group "+string(r.Outcome), "job", job, "group_id", r.GroupID,
				"reason", r.Reason, "windows_left", r.Left, "parked", r.Parked)
		}
	}
}
