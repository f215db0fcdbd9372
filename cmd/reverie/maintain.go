package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/maintain"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// upkeepFlags are what maintain is asked for.
type upkeepFlags struct {
	group, shard string
	dryRun, json bool
}

func newMaintain(a *app) *cobra.Command {
	var f upkeepFlags
	cmd := &cobra.Command{
		Use:   "maintain",
		Short: "Let memories fade, archive the weak, and prune what is kept no longer",
		Long: `Maintain does in every group, or in one, what time asks for. No model is asked.

- Strength decays where no evidence has come for [maintain] decay_after, that of what
  dreams have left after dream_decay_after, by half with each decay_half_life. How often
  this is run makes no difference to it.
- Memories whose strength or weight is below [maintain] archive_threshold are archived:
  out of recall. ` + "`reverie memory restore`" + ` brings one back.
- Open threads that a dream has closed are archived [maintain] closed_after later.
- Core memories (weight 1.5 or more) neither decay nor are archived, and neither is the
  narrative of dreams, which each dream tells anew.
- Short-term memory of sessions that are silent for longer than [short_term]
  expire_after is removed.
- What is older than [retention] says is pruned: texts of messages that every job has
  read, answers of models, rows of the usage log. Counts and evidence stay.

A second run finds nothing to do. Groups that are paused fade, too; one that another
run has is passed over. The daemon does this at [schedule] maintain.

` + exitHelp,
		Example: `  reverie maintain --dry-run
  reverie maintain --group g1 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.group != "" && f.shard != "" {
				return usageError(errors.New("--shard is a part of all groups; it goes without --group"))
			}
			for _, name := range []string{"group", "shard"} {
				if err := needsValue(cmd, name); err != nil {
					return usageError(err)
				}
			}
			shard, err := parseShard(f.shard)
			if err != nil {
				return usageError(err)
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			if f.group != "" {
				return a.maintainOne(cmd.Context(), f)
			}
			return a.maintain(cmd.Context(), f, shard)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.group, "group", "", "only this group")
	fl.StringVar(&f.shard, "shard", "", "only this part of the groups: 0/4 is the first of four")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what is due, and write nothing")
	fl.BoolVar(&f.json, "json", false, "print JSON: with --group one document, else a line for each group and a summary")
	return cmd
}

// maintain does what a person asks for in all groups, and prints what came of it.
func (a *app) maintain(ctx context.Context, f upkeepFlags, shard jobs.Shard) error {
	k, out := a.Keeper(), a.upkeepPrinter(f)
	if f.dryRun {
		query := reverie.DueQuery{Job: reverie.JobMaintain}
		err := application.EachGroup(ctx, a.Store.Upkeeps(), query, shard, func(g reverie.DueGroup) error {
			res, err := k.Run(ctx, nil, maintain.Request{GroupID: g.ID, DryRun: true})
			out.Add(res.Reply())
			return err
		})
		return errors.Join(err, out.End(jobs.Summary{}, err))
	}
	work, end := a.Drained(ctx, a.Config.Jobs.Grace.Duration)
	defer end()
	batch := a.MaintainDue(k)
	batch.Shard, batch.IgnoreRetry = shard, true
	batch.Show = func(e jobs.Report) { out.Add(e.Result.(maintain.Result).Reply()) }
	batch.ShowGroup = out.Group
	summary, err := batch.Run(work, ctx.Done())
	return errors.Join(out.End(summary, err), fanOutError(ctx, summary, err))
}

func (a *app) upkeepPrinter(f upkeepFlags) *cli.MaintainPrinter {
	return &cli.MaintainPrinter{FanOutPrinter: a.printer(reverie.JobMaintain, f.json), DryRun: f.dryRun,
		ByActivity: a.Config.Maintain.DecayBy == "activity"}
}

// maintainOne does what a person asks for in one group, parked or not.
func (a *app) maintainOne(ctx context.Context, f upkeepFlags) error {
	g, err := a.Store.Group(ctx, f.group)
	if err != nil {
		return unknownGroup(err)
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
	if f.json {
		return errors.Join(err, cli.PrintJSON(a.Stdout, res.Reply()))
	}
	out := a.upkeepPrinter(f)
	if res.Err == nil || res.RunID != "" {
		out.Add(res.Reply())
	}
	return errors.Join(err, out.End(jobs.Summary{}, err))
}
