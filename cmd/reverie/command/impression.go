package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/entity"
	"reverie/internal/reverie"
)

func newImpression(a *app) *cobra.Command {
	var f selection
	cmd := a.command("reverie impression", cobra.NoArgs,
		a.working(reverie.JobImpression, &f, func(ctx context.Context, p application.Pipelines) error { return a.observePeople(ctx, p, f) }))
	f.flags(a, cmd, "observe")
	return cmd
}

// nothingWaits is the message for a run without work.
const nothingWaits = "nothing to do: no messages wait for impressions"

func (a *app) observePeople(ctx context.Context, p application.Pipelines, f selection) error {
	req := entity.Request{DryRun: f.dryRun}
	if f.group == "" {
		batch := a.ImpressionsDue(p.Impression, req, f.plan(a, a.Queue()))
		return a.runAll(ctx, batch, f, func() string { return nothingWaits })
	}
	g, w, err := f.groupAndWindow(ctx, a)
	if err != nil {
		return err
	}
	if !a.Follows(g) {
		a.Warn(fmt.Sprintf("impressions of group %q are off, and are made this once; "+
			"`reverie groups set %s --impressions on` has them follow evolve", g.ID, cli.Operand(g.ID)))
	}
	return a.runOne(ctx, a.ImpressionOnDemand(p.Impression, req), g, w, f,
		func() func() { return a.WatchObserving(p.Impression) })
}
