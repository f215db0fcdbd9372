package main

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
	ctx, p, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	one := func(g reverie.Group, f selection) error {
		w, err := f.span(g, a.Now())
		if err != nil {
			return err
		}
		j := a.ImpressionOnDemand(p.Impression, entity.Request{DryRun: f.dryRun})
		return a.runOne(ctx, j, g, w, f, func() func() { return a.WatchObserving(p.Impression) })
	}
	if f.group == "" {
		batch, nothing := a.ImpressionsDue(p.Impression, f.plan(a, a.Queue())), func() string { return nothingWaits }
		if f.dryRun {
			batch.Groups = a.Store
			return a.dryRuns(ctx, batch, f, nothing, one)
		}
		return a.runAll(ctx, batch, f, nothing)
	}
	g, err := a.Store.Group(ctx, f.group)
	if err != nil {
		return unknownGroup(err)
	}
	if !a.Follows(g) {
		fmt.Fprintf(a.Stderr, "warning: impressions of group %q are off, and are made this once; "+
			"`reverie groups set %s --impressions on` has them follow evolve\n", g.ID, cli.Operand(g.ID))
	}
	return invalidIsUsage(one(g, f))
}

// nothingWaits is what to say where there was nothing to do.
const nothingWaits = "nothing to do: no messages wait for impressions"
