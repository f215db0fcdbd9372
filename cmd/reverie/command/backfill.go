package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// backfillFlags are the flags of `reverie backfill`.
type backfillFlags struct {
	application.Backfill
	yes, dryRun bool
}

func newBackfill(a *app) *cobra.Command {
	var f backfillFlags
	cmd := a.command("reverie backfill", cobra.NoArgs, func(ctx context.Context, _ []string) error { return a.backfill(ctx, f) })
	fl := cmd.Flags()
	fl.StringVar(&f.From, "from", "", "first date, such as 2026-01-01 (required)")
	fl.StringVar(&f.To, "to", "", "last date, which is included (required)")
	required(cmd, "from", "to")
	check(cmd, func() error { return application.CheckDates(f.From, f.To) })
	groupFlag(cmd, &f.GroupID, "evolve only this group")
	shardFlag(cmd, &f.Shard)
	a.quietFlag(cmd)
	fl.BoolVar(&f.Replay, "replay", false, "undo everything since --from, and evolve it anew")
	batchFlag(cmd, &f.Batch)
	fl.BoolVar(&f.yes, "yes", false, "do not ask, whatever it costs")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the estimate, and stop")
	cmd.Flags().Lookup("json").Usage = "print JSON lines: the estimate, each run, a summary"
	return cmd
}

func (a *app) backfill(ctx context.Context, f backfillFlags) error {
	ctx, p, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	if err := a.knownGroup(ctx, f.GroupID); err != nil {
		return err
	}
	est, err := a.Estimate(ctx, p.Evolve, f.Backfill)
	if err != nil {
		return err
	}
	if err := a.showEstimate(est, f.From, f.To); err != nil || f.dryRun {
		return err
	}
	nothing := est.Windows == 0 && est.Rewound == 0 && est.Unknown == 0 // impressions may be pending from earlier
	if !nothing && !f.yes {
		if f.Replay {
			return usageError(errors.New("--replay undoes what was remembered and asks the model again: add --yes to do it"))
		}
		if err := a.affordable(est); err != nil {
			return err
		}
	}
	work, end := a.Drained(ctx, a.Config.Jobs.Grace.Duration)
	defer end()
	var done ending
	batch := a.BackfillRuns(p.Evolve, f.Backfill)
	if !nothing {
		done = a.backfillRuns(ctx, work, batch, f, est)
	}
	return a.impressionsAfter(ctx, work, batch, done, p.Impression, jobs.Dates(a.Queue(), f.From, f.To, a.Now))
}

// backfillRuns runs the backfill and shows its progress.
func (a *app) backfillRuns(ctx, work context.Context, batch *application.FanOut, f backfillFlags,
	est application.Estimate) ending {
	bar, windows := a.WatchWindows(est.Windows), 0
	out := a.printer(reverie.JobEvolve)
	batch.Show = func(e jobs.Report) {
		bar.Clear()
		out.Window(e)
		windows++
		bar.Set(min(windows, est.Windows), est.Windows)
	}
	batch.ShowGroup = func(r jobs.GroupResult) {
		bar.Clear()
		out.Group(r)
	}
	summary, err := batch.Run(work, ctx.Done())
	bar.Finish()
	if f.Replay && err != nil {
		fmt.Fprintln(a.Stderr, "reverie: to go on, run the same command without --replay; with it, the dates done so far "+
			"would be undone again")
	}
	return ending{summary, err, out.Summary(summary, err, "nothing is left to do")}
}
