package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/entity"
	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/jobs"
)

func newImpression(a *app) *cobra.Command {
	var f selection
	cmd := &cobra.Command{
		Use:   "impression --group G | --due | --all",
		Short: "Observe people and things: who is who, and what is said of them",
		Long: `Impression reads messages that evolve has taken in, asks the model what they say of
people and things, checks the answer, and keeps it under identities that the model
cannot choose. ` + "`reverie entity list`" + ` shows them.

It needs no schedule of its own: where impressions are on ([impression] enabled, or
groups set GROUP --impressions on), evolve, backfill and the daemon do it after
evolve, for the messages that wait for it. This command makes up for what is left.

--group G    one group, whether its impressions are on or off: all messages, or those
             of the window that --since and --until name, which evolve has taken in
             and impressions have not used
--due        every group whose impressions are on, the dates that are over: a run for
             each date of which messages wait
--all        every such group, everything that waits

Each message is used once. Dates, shards, budgets, failures and signals are as with
evolve; a group is parked for this job alone.

--dry-run asks the model and prints what would be done with what waits, up to
[impression] max_messages; it writes nothing but the calls it made.

` + exitHelp,
		Example: `  reverie impression --group g1
  reverie impression --group g1 --since 2026-01-15 --until 2026-01-16
  reverie impression --due`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return usageError(err)
			}
			return a.observePeople(cmd.Context(), f)
		},
	}
	selectionFlags(cmd, &f, "observe")
	return cmd
}

func (a *app) observePeople(ctx context.Context, f selection) error {
	all, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	p := all.impression
	ctx = llm.WithBudget(ctx, a.budget(a.dayBudget()))
	switch {
	case f.group == "" && f.dryRun:
		return a.dryRuns(ctx, a.store, reverie.JobImpression, a.followed(f.plan(a, a.queue())), f, nothingWaits, func(g reverie.Group, window selection) error {
			return a.observeOne(ctx, p, g, window)
		})
	case f.group == "":
		return a.observeMany(ctx, p, f)
	}
	g, err := a.store.Group(ctx, f.group)
	if err != nil {
		return unknownGroup(err)
	}
	if !a.follows(g) {
		fmt.Fprintf(a.Stderr, "warning: impressions of group %q are off, and are made this once; `reverie groups set %s --impressions on` has them follow evolve\n", g.ID, cli.Operand(g.ID))
	}
	return invalidIsUsage(a.observeOne(ctx, p, g, f))
}

// nothingWaits is what to say where there was nothing to do.
const nothingWaits = "nothing to do: no messages wait for impressions"

// observeMany works on every group of which messages wait.
func (a *app) observeMany(ctx context.Context, p *entity.Pipeline, f selection) error {
	shard, err := parseShard(f.shard)
	if err != nil {
		return usageError(err)
	}
	work, end := a.drained(ctx, a.cfg.Jobs.Grace.Duration)
	defer end()
	out := show{a, reverie.JobImpression, f.json}
	batch := &fanOut{app: a, job: impressionJob(p, entity.Request{}), plan: a.followed(f.plan(a, a.queue())), shard: shard, ignoreRetry: f.all,
		show: out.window, showGroup: out.group}
	summary, err := batch.run(work, ctx.Done())
	return errors.Join(out.summary(summary, err, nothingWaits), fanOutError(ctx, summary, err))
}

// observeOne queues what a person asks for, runs one group and prints what came of
// it, also when it failed.
func (a *app) observeOne(ctx context.Context, p *entity.Pipeline, g reverie.Group, f selection) error {
	req := entity.Request{GroupID: g.ID, DryRun: f.dryRun}
	var err error
	if req.Since, req.Until, err = f.window(g); err != nil {
		return err
	}
	if err := f.inOrder(req.Since, req.Until, a.Now()); err != nil {
		return err
	}
	stop := func() {}
	if !f.json {
		stop = a.WatchObserving(p)
		defer stop()
	}
	var done jobs.GroupResult
	began := time.Now()
	j, w := impressionJob(p, req), reverie.Window{Since: req.Since, Until: req.Until}
	if f.dryRun {
		done = a.dryRun(ctx, j, g, w)
	} else {
		done = a.runOne(ctx, a.queued(j), jobs.Request{Group: g, Window: w})
	}
	stop()
	err = done.Err
	res, known := done.Last().Result.(entity.Result)
	if !known || notOurs(err) {
		res = entity.Result{Result: pipeline.Result{GroupID: g.ID, Err: err}}
	}
	if f.json {
		write := cli.PrintJSON
		if f.group == "" {
			write = cli.PrintJSONLine
		}
		return errors.Join(err, write(a.Stdout, a.impressionReply(ctx, res)))
	}
	if err == nil || res.RunID != "" {
		a.PrintImpression(res, a.subjects(ctx, res.GroupID, res.Changes), time.Since(began), f.date)
	}
	return err
}

// impressionJob is impression, as a request says.
func impressionJob(p *entity.Pipeline, req entity.Request) job {
	return job{name: reverie.JobImpression, use: config.UseObserve,
		run: func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
			req := req
			req.GroupID, req.Since, req.Until = g.ID, w.Since, w.Until
			r, err := p.Run(ctx, leaseOf(held), req)
			return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.NoNew, Stats: r.Stats, Result: r}, err
		}}
}

// queued is a job that a person asks for: it takes all messages that evolve has taken in,
// also those that nobody has asked it to take before.
func (a *app) queued(j job) job {
	run := j.run
	j.run = func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
		if _, err := a.store.QueueMessages(ctx, g.ID, j.name, w.Since, w.Until); err != nil {
			return jobs.RunOutcome{}, err
		}
		return run(ctx, held, g, w)
	}
	return j
}
