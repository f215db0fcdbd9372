package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/evolve"
	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/entity"
	"reverie/internal/reverie"
)

// maxDays bounds the days that are looked back, so that dates stay dates.
const maxDays = 3650

// evolveFlags are what `reverie evolve` was asked for.
type evolveFlags struct {
	selection
	days int
}

func newEvolve(a *app) *cobra.Command {
	var f evolveFlags
	cmd := &cobra.Command{
		Use:   "evolve --group G | --due | --all",
		Short: "Take in new messages: keep, update, create and delete memories",
		Long: `Evolve takes a group's old memories and its pending messages, asks the model,
checks the answer and applies it as new versions.

--group G    one group: everything pending up to now, or the window that --since
             and --until name
--due        every group, the dates that are over: a run for each date of the
             group's own time zone that has pending messages, the oldest first.
             What was missed is made up; a second call does nothing. This is
             what a CronJob runs.
--all        every group, everything pending, whether its date is over or not

A date (2026-01-15) means its beginning in the group's own calendar: midnight in
its time zone, or its day boundary. An instant is written as RFC 3339. The window
includes --since and excludes --until.

With --due and --all, [jobs] concurrency groups are worked on at a time. A group
that fails stops no other; it is left alone for a while (--due), and parked after
[jobs] park_after failures in a row until ` + "`reverie groups resume`" + `. Busy groups are
skipped. A first signal lets what is under way finish within [jobs] grace. What
[budget] does not allow any more is left for the next run, which begins with it.

Where impressions are on ([impression] enabled, or groups set GROUP --impressions
on), the impression job follows on what has been taken in, with runs, failures and
lines of its own. Under --json, --group answers with it in the field impression; with
--due and --all its lines and summary come after evolve's and say "job":"impression".

--dry-run asks the model and prints what would be done; it writes nothing but
the calls it made and cached embeddings. Impressions do not follow it.

` + exitHelp,
		Example: `  reverie evolve --group g1
  reverie evolve --group g1 --since 2026-01-15 --until 2026-01-16
  reverie evolve --due                # hourly, from cron
  reverie evolve --due --shard 0/4    # of 4 workers, the first`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(f.check(cmd), f.checkDays()); err != nil {
				return usageError(err)
			}
			return a.evolve(cmd.Context(), f)
		},
	}
	selectionFlags(cmd, &f.selection, "evolve")
	cmd.Flags().IntVar(&f.days, "days", 0, "also show the model this many days of earlier messages, as context")
	return cmd
}

func (f evolveFlags) checkDays() error {
	if f.days < 0 || f.days > maxDays {
		return fmt.Errorf("--days %d: it is 0 to %d", f.days, maxDays)
	}
	return nil
}

func (a *app) evolve(ctx context.Context, f evolveFlags) error {
	ctx, p, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	if f.group == "" {
		batch := a.EvolveDue(p.Evolve, f.days, f.plan(a, a.Store))
		if f.dryRun {
			return a.dryRuns(ctx, batch, f.selection, f.nothing, func(g reverie.Group, window selection) error {
				return a.evolveOne(ctx, p, g, evolveFlags{window, f.days})
			})
		}
		return a.evolveMany(ctx, batch, p, f)
	}
	g, err := a.Store.Group(ctx, f.group)
	if err != nil {
		return fmt.Errorf("%w; `reverie import FILE --group %s` makes it", err, f.group)
	}
	return invalidIsUsage(a.evolveOne(ctx, p, g, f))
}

// evolveMany works on every group that has something to do, and then on the
// impressions of those that follow people.
func (a *app) evolveMany(ctx context.Context, batch *application.FanOut, p application.Pipelines, f evolveFlags) (err error) {
	if batch.Shard, err = parseShard(f.shard); err != nil {
		return usageError(err)
	}
	batch.IgnoreRetry = f.all
	work, end := a.Drained(ctx, a.Config.Jobs.Grace.Duration)
	defer end()
	done := a.runMany(ctx, work, batch, f.json, f.nothing)
	return a.impressionsAfter(ctx, work, batch, done, p.Impression, f.plan(a, a.Queue()), f.json)
}

// invalidIsUsage makes what was asked of one group and cannot be done a mistake in
// the command line.
func invalidIsUsage(err error) error {
	var coded *codeError
	if err != nil && !errors.As(err, &coded) && errors.Is(err, reverie.ErrInvalid) && !errors.Is(err, reverie.ErrConfiguration) {
		return usageError(err)
	}
	return err
}

// evolveOne runs one group, and then its impressions where they are on, and prints
// what came of it, also when it failed.
func (a *app) evolveOne(ctx context.Context, p application.Pipelines, g reverie.Group, f evolveFlags) error {
	w, err := f.span(g, a.Now())
	if err != nil {
		return err
	}
	stop := func() {}
	if !f.json {
		if stop, err = a.watch(ctx, p.Evolve, g.ID, w); err != nil {
			return err
		}
	}
	defer func() { stop() }()
	began := time.Now()
	req := evolve.Request{GroupID: g.ID, Since: w.Since, Until: w.Until, Days: f.days, DryRun: f.dryRun}
	end, err := a.Evolve(ctx, nil, p, g, req, func(evolve.Result) {
		if stop(); !f.json && a.Follows(g) {
			stop = a.WatchObserving(p.Impression)
		}
	})
	stop()
	if s := end.Parked; s != nil {
		fmt.Fprintf(a.Stderr, "warning: impressions of group %q are passed over: %s; %s\n", g.ID, cli.SetbackText(*s), cli.Remedy(*s, g.ID))
	}
	res, _ := end.Run.Result.(evolve.Result)
	if f.json {
		return errors.Join(err, end.NextErr, a.writeEvolved(ctx, res, end.Next, f))
	}
	took := time.Since(began)
	if err == nil {
		took = end.Run.Took
	}
	if err == nil || res.RunID != "" || res.DryRun && len(res.Changes) > 0 {
		a.printRun(ctx, res, took, f.date)
	}
	if end.Next.RunID != "" {
		a.printRun(ctx, end.Next, time.Since(began)-took, f.date)
	}
	return errors.Join(err, end.NextErr)
}

// writeEvolved answers in JSON. What came of impressions is a field of the same
// document.
func (a *app) writeEvolved(ctx context.Context, res evolve.Result, next entity.Result, f evolveFlags) error {
	if !f.dryRun {
		for _, why := range res.Held {
			fmt.Fprintf(a.Stderr, "warning: run %s of group %q is held: %s\n", res.RunID, res.GroupID, why)
		}
	}
	reply := struct {
		reverie.EvolveReply
		Impression *reverie.ImpressionsReply `json:"impression,omitempty"`
	}{EvolveReply: res.Reply()}
	if next.RunID != "" {
		follow := cli.ImpressionReply(next, a.Subjects(ctx, next.GroupID, next.Changes))
		reply.Impression = &follow
	}
	return a.writeJSON(reply, f.lines())
}

// nothing is what to say where there was nothing to do.
func (f evolveFlags) nothing() string {
	if f.due {
		return "nothing is due: no date that is over has pending messages"
	}
	return "nothing is pending"
}

// watch shows a run's progress on a terminal, and returns what ends the show.
func (a *app) watch(ctx context.Context, p *evolve.Pipeline, groupID string, w reverie.Window) (stop func(), err error) {
	if !cli.Terminal(a.Stderr) {
		return func() {}, nil
	}
	until := w.Until
	if until.IsZero() {
		until = time.Now()
	}
	total, err := a.Store.CountPending(ctx, groupID, w.Since, until)
	if err != nil || total == 0 {
		return func() {}, err
	}
	return a.WatchEvolving(p, total), nil
}
