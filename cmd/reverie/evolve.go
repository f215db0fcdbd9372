package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/evolve"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/entity"
	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/jobs"
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
	all, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	ctx = llm.WithBudget(ctx, a.budget(a.dayBudget()))
	switch {
	case f.group == "" && f.dryRun:
		return a.dryRuns(ctx, a.store, reverie.JobEvolve, f.plan(a, a.store), f.selection, f.nothing(), func(g reverie.Group, window selection) error {
			return a.evolveOne(ctx, all, g, evolveFlags{window, f.days})
		})
	case f.group == "":
		return a.evolveMany(ctx, all, f)
	}
	g, err := a.store.Group(ctx, f.group)
	if err != nil {
		return fmt.Errorf("%w; `reverie import FILE --group %s` makes it", err, f.group)
	}
	return invalidIsUsage(a.evolveOne(ctx, all, g, f))
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
func (a *app) evolveOne(ctx context.Context, p pipelines, g reverie.Group, f evolveFlags) error {
	req := evolve.Request{GroupID: g.ID, Days: f.days, DryRun: f.dryRun}
	var err error
	if req.Since, req.Until, err = f.window(g); err != nil {
		return err
	}
	if err := f.inOrder(req.Since, req.Until, a.Now()); err != nil {
		return err
	}
	stop := func() {}
	if !f.json {
		if stop, err = a.watch(ctx, p.evolve, req); err != nil {
			return err
		}
		defer stop()
	}
	var end groupEnd
	began := time.Now()
	if f.dryRun {
		end.res, err = a.evolveDry(ctx, p.evolve, g, req)
	} else {
		end, err = a.evolveGroup(ctx, nil, p, g, req, func(evolve.Result) {
			if stop(); !f.json && a.follows(g) {
				stop = a.WatchObserving(p.impression)
			}
		})
	}
	stop()
	res, next, nextErr, took := end.res, end.next, end.nextErr, time.Duration(0)
	if err == nil {
		took = end.run.Took
	}
	if res.GroupID == "" || notOurs(err) {
		res = evolve.Result{Result: pipeline.Result{GroupID: g.ID, Err: err}}
	}
	if f.json {
		return errors.Join(err, nextErr, a.writeEvolved(ctx, res, next, f))
	}
	if err == nil || res.RunID != "" || res.DryRun && len(res.Changes) > 0 {
		a.PrintResult(res, cmp.Or(took, time.Since(began)), f.date, cli.Counts(reverie.JobEvolve, res.Stats))
	}
	if next.RunID != "" {
		a.PrintImpression(next, a.subjects(ctx, next.GroupID, next.Changes), time.Since(began)-took, f.date)
	}
	return errors.Join(err, nextErr)
}

// evolveDry runs a window and writes nothing.
func (a *app) evolveDry(ctx context.Context, p *evolve.Pipeline, g reverie.Group, req evolve.Request) (evolve.Result, error) {
	done := a.dryRun(ctx, evolveJob(p, req), g, reverie.Window{Since: req.Since, Until: req.Until})
	res, _ := done.Last().Result.(evolve.Result)
	return res, done.Err
}

// notOurs tells whether what this process has begun is another's to report.
func notOurs(err error) bool {
	return errors.Is(err, reverie.ErrBusy) || errors.Is(err, reverie.ErrLeaseLost)
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
		follow := a.impressionReply(ctx, next)
		reply.Impression = &follow
	}
	if f.group == "" {
		return cli.PrintJSONLine(a.Stdout, reply)
	}
	return cli.PrintJSON(a.Stdout, reply)
}

// evolveJob is evolve, as a request says.
func evolveJob(p *evolve.Pipeline, req evolve.Request) job {
	return job{name: reverie.JobEvolve, use: config.UseEvolve,
		run: func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, w reverie.Window) (jobs.RunOutcome, error) {
			req := req
			req.GroupID, req.Since, req.Until = g.ID, w.Since, w.Until
			r, err := p.Run(ctx, leaseOf(held), req)
			return endOfEvolve(r), err
		}}
}

func endOfEvolve(r evolve.Result) jobs.RunOutcome {
	return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.NoNew, Stats: r.Stats, Held: r.Held, Result: r}
}

// evolveMany works on every group that has something to do, and then on the
// impressions of those that follow people.
func (a *app) evolveMany(ctx context.Context, p pipelines, f evolveFlags) error {
	shard, err := parseShard(f.shard)
	if err != nil {
		return usageError(err)
	}
	work, end := a.drained(ctx, a.cfg.Jobs.Grace.Duration)
	defer end()
	out := show{a, reverie.JobEvolve, f.json}
	batch := &fanOut{app: a, job: evolveJob(p.evolve, evolve.Request{Days: f.days}), plan: f.plan(a, a.store), shard: shard, ignoreRetry: f.all,
		show: out.window, showGroup: out.group}
	summary, err := batch.run(work, ctx.Done())
	said := out.summary(summary, err, f.nothing())
	next, nextErr := batch.impressions(work, p.impression, f.plan(a, a.queue()), ctx.Done(), &out, summary, err)
	return errors.Join(said, gravest(fanOutError(ctx, summary, err), fanOutError(ctx, next, nextErr)))
}

// nothing is what to say where there was nothing to do.
func (f evolveFlags) nothing() string {
	if f.due {
		return "nothing is due: no date that is over has pending messages"
	}
	return "nothing is pending"
}

// watch shows a run's progress on a terminal, and returns what ends the show.
func (a *app) watch(ctx context.Context, p *evolve.Pipeline, req evolve.Request) (stop func(), err error) {
	if !cli.Terminal(a.Stderr) {
		return func() {}, nil
	}
	until := req.Until
	if until.IsZero() {
		until = time.Now()
	}
	total, err := a.store.CountPending(ctx, req.GroupID, req.Since, until)
	if err != nil || total == 0 {
		return func() {}, err
	}
	return a.WatchEvolving(p, total), nil
}
