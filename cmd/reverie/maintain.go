package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

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

// keeper wires maintenance.
func (a *app) keeper() *maintain.Keeper {
	m, r := a.cfg.Maintain, a.cfg.Retention
	return &maintain.Keeper{Store: a.store, Impressions: a.cfg.Impression.Enabled, Batch: m.Batch, Now: a.Now, Log: a.log,
		Rule: reverie.FadeRule{Threshold: m.ArchiveThreshold, After: m.DecayAfter.Duration, DreamsAfter: m.DreamDecayAfter.Duration, HalfLife: m.DecayHalfLife.Duration,
			Closed: m.ClosedAfter.Duration, ByActivity: m.DecayBy == "activity"},
		Retention: reverie.Retention{ShortTerm: a.cfg.ShortTerm.ExpireAfter.Duration, Messages: r.Messages.Duration,
			Answers: r.Answers.Duration, Usage: r.UsageLog.Duration}}
}

// maintainAll maintains every group, as a job of the daemon. When stop is closed
// no further group is begun.
func (a *app) maintainAll(ctx context.Context, stop <-chan struct{}) error {
	f := a.upkeeps(a.keeper())
	f.showGroup = a.logGroup(reverie.JobMaintain)
	_, err := f.run(ctx, stop)
	return err
}

// upkeeps is maintenance as a fan-out over the groups in which anything is due.
func (a *app) upkeeps(k *maintain.Keeper) *fanOut {
	return &fanOut{app: a, groups: a.store.Upkeeps(), job: upkeepJob(k, maintain.Request{}), plan: func(ctx context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		due, err := k.Due(ctx, g.ID)
		if err != nil || !due {
			return jobs.Agenda{}, err
		}
		return jobs.Agenda{Windows: []reverie.Window{{}}}, nil
	}}
}

// upkeepJob is maintenance, as a request says.
func upkeepJob(k *maintain.Keeper, req maintain.Request) job {
	return job{name: reverie.JobMaintain,
		run: func(ctx context.Context, held *jobs.Held, g reverie.DueGroup, _ reverie.Window) (jobs.RunOutcome, error) {
			req := req
			req.GroupID = g.ID
			r, err := k.Run(ctx, leaseOf(held), req)
			return jobs.RunOutcome{RunID: r.RunID, Status: r.Status, NoNew: r.Nothing, Stats: r.Stats, Result: r}, err
		}}
}

// maintain does what a person asks for in all groups, and prints what came of it.
func (a *app) maintain(ctx context.Context, f upkeepFlags, shard jobs.Shard) error {
	k := a.keeper()
	out := &upkeepShow{show: show{a, reverie.JobMaintain, f.json}, dryRun: f.dryRun}
	if f.dryRun {
		err := a.eachGroup(ctx, a.store.Upkeeps(), reverie.DueQuery{Job: reverie.JobMaintain}, shard, func(g reverie.DueGroup) error {
			res, err := k.Run(ctx, nil, maintain.Request{GroupID: g.ID, DryRun: true})
			out.add(res.Reply())
			return err
		})
		return errors.Join(err, out.end(jobs.Summary{}, err))
	}
	work, end := a.drained(ctx, a.cfg.Jobs.Grace.Duration)
	defer end()
	batch := a.upkeeps(k)
	batch.shard, batch.ignoreRetry = shard, true
	batch.show = func(e jobs.Report) { out.add(e.Result.(maintain.Result).Reply()) }
	batch.showGroup = out.group
	summary, err := batch.run(work, ctx.Done())
	return errors.Join(out.end(summary, err), fanOutError(ctx, summary, err))
}

// maintainOne does what a person asks for in one group, parked or not.
func (a *app) maintainOne(ctx context.Context, f upkeepFlags) error {
	g, err := a.store.Group(ctx, f.group)
	if err != nil {
		return unknownGroup(err)
	}
	k, req := a.keeper(), maintain.Request{GroupID: g.ID, DryRun: f.dryRun}
	due, res := true, maintain.Result{GroupID: g.ID, Nothing: true}
	if !f.dryRun {
		due, err = k.Due(ctx, g.ID)
	}
	switch {
	case err != nil || !due:
	case f.dryRun:
		res, err = k.Run(ctx, nil, req)
	default:
		done := a.runOne(ctx, upkeepJob(k, req), jobs.Request{Group: g})
		res, _ = done.Last().Result.(maintain.Result)
		err = done.Err
	}
	if notOurs(err) || res.GroupID == "" || err != nil && res.Nothing {
		res = maintain.Result{GroupID: g.ID, Err: err}
	}
	if f.json {
		return errors.Join(err, cli.PrintJSON(a.Stdout, res.Reply()))
	}
	out := &upkeepShow{show: show{a, reverie.JobMaintain, false}, dryRun: f.dryRun}
	if res.Err == nil || res.RunID != "" {
		out.add(res.Reply())
	}
	return errors.Join(err, out.end(jobs.Summary{}, err))
}
