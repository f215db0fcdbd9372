package command

import (
	"context"

	"github.com/spf13/cobra"

	"reverie/internal/maintain"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

func newMaintain(a *app) *cobra.Command {
	var f selection
	cmd := a.command("reverie maintain", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error { return a.maintain(ctx, f) }))
	groupFlag(cmd, &f.group, "maintain only this group")
	shardFlag(cmd, &f.shard)
	fl := cmd.Flags()
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what is due, and write nothing")
	cmd.Flags().Lookup("json").Usage = "print JSON; for all groups, a line for each and a summary"
	apart(cmd, "shard", "group")
	return cmd
}

// maintain maintains every group in which something is due, or one.
func (a *app) maintain(ctx context.Context, f selection) error {
	k, req := a.Keeper(), maintain.Request{DryRun: f.dryRun}
	if f.group == "" {
		f.all = true // a person asks: a failure before is no reason to wait
		return a.runAll(ctx, a.MaintainDue(k, req), f, func() string { return "nothing to do" })
	}
	g, err := a.Store.Group(ctx, f.group)
	due := f.dryRun
	if err == nil && !due {
		due, err = k.Due(ctx, g.ID)
	}
	if err != nil {
		return err
	}
	if !due {
		nothing := maintain.Result{Result: pipeline.Result{GroupID: g.ID, NoNew: true}}
		return a.Show(nothing.Reply(), func() error { return a.PrintMaintained(nothing, 0) })
	}
	return a.runOne(ctx, a.MaintainJob(k, req), g, reverie.Window{}, f, func() func() { return func() {} })
}
