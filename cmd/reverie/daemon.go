package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/spf13/cobra"

	"reverie"
	"reverie/jobs"
	"reverie/llm"
	"reverie/telemetry"
)

func newRun(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Stay, and start the jobs of [schedule] when their time comes",
		Long: `Run stays resident and starts each job of [schedule] at its times, and once at the
beginning: what was missed while nothing ran is made up, night by night. Where
impressions are on, they follow each start of evolve. Several
may run side by side, together with CronJobs and single commands: a lease per
group keeps them apart, and no window is worked on twice.

At [http] listen it answers /healthz (the process lives), /readyz (the database
answers and its schema fits) and /metrics (Prometheus).

A first SIGTERM or SIGINT ends it: no group is begun any more, those under way
have [jobs] grace to finish, and the exit code is 0. A second signal stops them
at once; what they have not committed stays pending.

The log level is info unless it is set. ` + "`reverie schedule`" + ` prints the next times.

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDaemon(cmd.Context()) },
	}
}

func (a *app) runDaemon(ctx context.Context) error {
	a.daemon = true
	if err := a.settings(); err != nil {
		return err
	}
	if a.cfg.Schedule.Evolve == "" {
		return fmt.Errorf("there is nothing to do: %w: [schedule] evolve is empty: set it to when it shall start, such as 17 * * * *", reverie.ErrConfiguration)
	}
	spec, err := jobs.ParseSpec(a.cfg.Schedule.Evolve)
	if err != nil {
		return fmt.Errorf("[schedule] evolve: %w: %w", reverie.ErrConfiguration, err)
	}
	if err := a.cfg.checkModels(); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	p, err := a.pipelines()
	if err != nil {
		return err
	}
	day := a.dayBudget()
	task := jobs.Task{Name: string(reverie.JobEvolve), Spec: spec, Run: func(ctx context.Context, stop <-chan struct{}) error {
		fresh := p.with(a.remotePrompts(ctx, p.evolve.Prompts))
		f := &fanOut{app: a, job: evolveJob(fresh.evolve, 0), plan: jobs.Nightly(a.store, a.now, a.cfg.Jobs.MissedNights), showGroup: a.logGroup(reverie.JobEvolve)}
		ctx = llm.WithBudget(ctx, a.budget(day))
		summary, err := f.run(ctx, stop)
		_, nextErr := f.impressions(ctx, fresh.impression, jobs.Nightly(a.queue(), a.now, a.cfg.Jobs.MissedNights), stop, nil, summary, err)
		return errors.Join(err, nextErr)
	}}
	server := &telemetry.Server{Listen: a.cfg.HTTP.Listen, Metrics: a.metrics, Log: a.log, Ready: a.store.Ready}
	addr, err := server.Start(ctx)
	if err != nil {
		return err
	}
	a.log.Info("running", "version", version, "schedule", spec.String(), "http", addr, "holder", a.leases().Holder)
	signal.Ignore(syscall.SIGPIPE) // whoever read the log may go; the work goes on
	hurry, forget := twice()
	defer forget()
	context.AfterFunc(ctx, server.Stopping)
	scheduler := &jobs.Scheduler{Tasks: []jobs.Task{task}, Clock: clockwork.NewRealClock(), Grace: a.cfg.Jobs.Grace.Duration, Log: a.log, Done: a.taskDone}
	err = scheduler.Run(ctx, hurry)
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = errors.Join(err, server.Stop(bye))
	a.log.Info("stopped")
	return err
}

// taskDone reports a job that ended before its groups could have their turn. The
// failures of groups have been reported one by one.
func (a *app) taskDone(task string, _ time.Duration, err error) {
	if partial := (*jobs.PartialError)(nil); !errors.As(err, &partial) && blames(err) {
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
