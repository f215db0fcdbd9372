package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/config"
	"reverie/internal/entity"
	"reverie/internal/llm"
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
		fmt.Fprintf(a.stderr, "warning: impressions of group %q are off, and are made this once; `reverie groups set %s --impressions on` has them follow evolve\n", g.ID, operand(g.ID))
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
	batch := &fanOut{app: a, job: a.impressionJob(p), plan: a.followed(f.plan(a, a.queue())), shard: shard, ignoreRetry: f.all,
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
	if err := f.inOrder(req.Since, req.Until, a.now()); err != nil {
		return err
	}
	stop := func() {}
	if !f.json {
		stop = a.watchObserving(p)
		defer stop()
	}
	var res entity.Result
	began := time.Now()
	if f.dryRun {
		res, err = a.observeWindow(ctx, p, nil, req)
	} else {
		err = a.leases().With(ctx, g.ID, func(ctx context.Context, held *jobs.Held) error {
			if _, err := a.store.QueueMessages(ctx, g.ID, reverie.JobImpression, req.Since, req.Until); err != nil {
				return err
			}
			res, err = a.observeWindow(ctx, p, held, req)
			return err
		})
		err = errors.Join(err, a.noteEnd(ctx, reverie.JobImpression, g.ID, res.NoNew, err))
	}
	stop()
	if errors.Is(err, reverie.ErrBusy) || errors.Is(err, reverie.ErrLeaseLost) || res.GroupID == "" {
		res = entity.Result{GroupID: g.ID, Err: err} // what this process began is another's to report
	}
	if f.json {
		write := printJSON
		if f.group == "" {
			write = printJSONLine
		}
		return errors.Join(err, write(a.stdout, a.impressionReply(ctx, res)))
	}
	if err == nil || res.RunID != "" {
		a.printImpression(ctx, res, time.Since(began), f.date)
	}
	return err
}

// observeWindow runs one window under the eyes of whoever watches; hold is nil for
// a dry run.
func (a *app) observeWindow(ctx context.Context, p *entity.Pipeline, hold entity.Hold, req entity.Request) (res entity.Result, err error) {
	_, err = a.watched(ctx, reverie.JobImpression, req.GroupID, reverie.Window{Since: req.Since, Until: req.Until}, func(ctx context.Context) (ended, error) {
		res, err = p.Run(ctx, hold, req)
		return a.endOfImpression(ctx, res), err
	})
	return res, err
}

// impressionJob is impression as fan-outs see it.
func (a *app) impressionJob(p *entity.Pipeline) job {
	return job{name: reverie.JobImpression, use: config.UseObserve, run: func(ctx context.Context, held *jobs.Held, g reverie.Group, w reverie.Window) (ended, error) {
		res, err := p.Run(ctx, held, entity.Request{GroupID: g.ID, Since: w.Since, Until: w.Until})
		return a.endOfImpression(ctx, res), err
	}}
}

func (a *app) endOfImpression(ctx context.Context, r entity.Result) ended {
	return ended{runID: r.RunID, status: r.Status, noNew: r.NoNew, stats: r.Stats, line: func(w *reverie.Window) any {
		return struct {
			reverie.ImpressionsReply
			Window *reverie.Window `json:"window,omitempty"`
		}{a.impressionReply(ctx, r), w}
	}}
}
