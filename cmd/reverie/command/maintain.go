package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/maintain"
	"reverie/internal/reverie"
	"reverie/jobs"
)

func newMaintain(a *app) *cobra.Command {
	var f selection
	cmd := a.command("reverie maintain", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		if f.group != "" {
			return a.maintainOne(ctx, f)
		}
		return a.maintain(ctx, f)
	}))
	groupFlag(cmd, &f.group, "maintain only this group")
	shardFlag(cmd, &f.shard)
	fl := cmd.Flags()
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what is due, and write nothing")
	cmd.Flags().Lookup("json").Usage = "print JSON; for all groups, a line for each and a summary"
	apart(cmd, "shard", "group")
	return cmd
}

// maintain does what a person asks for in all groups, and prints what came of it.
func (a *app) maintain(ctx context.Context, f selection) error {
	out := a.upkeepPrinter(f)
	work, end := a.Drained(ctx, a.Config.Jobs.Grace.Duration)
	defer end()
	batch := a.MaintainDue(a.Keeper(), maintain.Request{DryRun: f.dryRun})
	batch.Shard, batch.IgnoreRetry, batch.DryRun = f.shard, true, f.dryRun
	batch.Show = func(e jobs.Report) { out.Add(e.Result.(maintain.Result).Reply()) }
	batch.ShowGroup = out.Group
	summary, err := batch.Run(work, ctx.Done())
	return errors.Join(out.End(summary, err), fanOutError(ctx, summary, err))
}

func (a *app) upkeepPrinter(f selection) *cli.MaintainPrinter {
	return &cli.MaintainPrinter{FanOutPrinter: a.printer(reverie.JobMaintain), DryRun: f.dryRun}
}

// maintainOne does what a person asks for in one group, parked or not.
func (a *app) maintainOne(ctx context.Context, f selection) error {
	g, err := a.Store.Group(ctx, f.group)
	if err != nil {
		return err
	}
	k, due, res := a.Keeper(), true, maintain.Result{GroupID: g.ID, Nothing: true}
	if !f.dryRun {
		due, err = k.Due(ctx, g.ID)
	}
	if err == nil && due {
		done := a.RunOne(ctx, a.MaintainJob(k, maintain.Request{DryRun: f.dryRun}), jobs.Request{Group: g, DryRun: f.dryRun})
		res, _ = done.Last().Result.(maintain.Result)
		err = done.Err
	}
	if err != nil && res.Nothing {
		res = maintain.Result{GroupID: g.ID, Err: err}
	}
	return errors.Join(err, a.Show(res.Reply(), func() error {
		out := a.upkeepPrinter(f)
		if res.Err == nil || res.RunID != "" {
			out.Add(res.Reply())
		}
		return out.End(jobs.Summary{}, err)
	}))
}
