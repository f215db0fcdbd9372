package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/entity"
	"reverie/internal/reverie"
)

func newImpression(a *app) *cobra.Command {
	var f selection
	cmd := a.command("reverie impression", cobra.NoArgs,
		func(ctx context.Context, _ []string) error { return a.observePeople(ctx, f) })
	f.flags(cmd, "observe")
	return cmd
}

// nothingWaits is what to say where there was nothing to do.
const nothingWaits = "nothing to do: no messages wait for impressions"

func (a *app) observePeople(ctx context.Context, f selection) error {
	ctx, p, err := a.worker(ctx, reverie.JobImpression)
	if a.passesOver(f, err) {
		return nil
	}
	if err != nil {
		return err
	}
	one := func(g reverie.Group, w reverie.Window) error {
		j := a.ImpressionOnDemand(p.Impression, entity.Request{DryRun: f.dryRun})
		return a.runOne(ctx, j, g, w, f, func() func() { return a.WatchObserving(p.Impression) })
	}
	if f.group == "" {
		batch := a.ImpressionsDue(p.Impression, f.plan(a, a.Queue()))
		if f.dryRun {
			batch.Runner.Store = a.Store
		}
		return a.runAll(ctx, batch, f, func() string { return nothingWaits }, one)
	}
	g, w, err := f.groupAndWindow(ctx, a)
	if err != nil {
		return err
	}
	if !a.Follows(g) {
		a.Warn(fmt.Sprintf("impressions of group %q are off, and are made this once; "+
			"`reverie groups set %s --impressions on` has them follow evolve", g.ID, cli.Operand(g.ID)))
	}
	return one(g, w)
}
