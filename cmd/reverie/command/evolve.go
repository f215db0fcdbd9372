package command

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

// evolveFlags are the flags of `reverie evolve`.
type evolveFlags struct {
	selection
	days  int
	batch bool
}

func newEvolve(a *app) *cobra.Command {
	var f evolveFlags
	cmd := a.command("reverie evolve", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		return a.evolve(ctx, &f)
	})
	f.flags(a, cmd, "evolve")
	daysFlag(cmd, &f.days)
	batchFlag(cmd, &f.batch)
	return cmd
}

func daysFlag(cmd *cobra.Command, to *int) {
	number(cmd, to, "days", 0, 0, maxDays, "show the model this many days of earlier messages as context")
}

func (a *app) evolve(ctx context.Context, f *evolveFlags) error {
	if f.batch && (f.dryRun || !f.lines()) {
		return usageError(errors.New("--batch is for many groups: use it with --due or --all, and without --dry-run"))
	}
	ctx, p, err := a.worker(ctx, reverie.JobEvolve)
	if err != nil {
		return err
	}
	if f.group != "" {
		g, w, err := f.groupAndWindow(ctx, a)
		if err != nil {
			return err
		}
		return a.evolveOne(ctx, p, g, w, *f)
	}
	batch := a.EvolveDue(p.Evolve, evolve.Request{Days: f.days, DryRun: f.dryRun}, f.plan(a, a.Store))
	if f.dryRun {
		return a.runAll(ctx, batch, f.selection, f.nothing)
	}
	// Impressions follow for groups that have them on.
	batch.Shard, batch.IgnoreRetry, batch.InBatches = f.shard, f.all, f.batch
	work, end := a.Drained(ctx, a.Config.Jobs.Grace.Duration)
	defer end()
	done := a.runMany(ctx, work, batch, f.nothing)
	return a.impressionsAfter(ctx, work, batch, done, p.Impression, f.plan(a, a.Queue()))
}

// groupAndWindow returns the selected group and window; it first imports the messages of a new group.
func (f evolveFlags) groupAndWindow(ctx context.Context, a *app) (g reverie.Group, w reverie.Window, err error) {
	if g, w, err = f.selection.groupAndWindow(ctx, a); errors.Is(err, reverie.ErrNotFound) {
		err = fmt.Errorf("%w; `reverie import FILE --group %s` creates it", err, f.group)
	}
	return g, w, err
}

// evolveOne runs evolve in one group, then impressions if they are on, and prints the result, also after a failure.
func (a *app) evolveOne(ctx context.Context, p application.Pipelines, g reverie.Group, w reverie.Window,
	f evolveFlags) (err error) {
	stop := func() {}
	if !a.JSON {
		if stop, err = a.watch(ctx, p.Evolve, g.ID, w); err != nil {
			return err
		}
	}
	defer func() { stop() }()
	began := time.Now()
	req := evolve.Request{GroupID: g.ID, Since: w.Since, Until: w.Until, Days: f.days, DryRun: f.dryRun}
	end, err := a.Evolve(ctx, nil, p, g, req, func(evolve.Result) {
		if stop(); !a.JSON && a.Follows(g) && p.Impression != nil {
			stop = a.WatchObserving(p.Impression)
		}
	})
	stop()
	if s := end.Parked; s != nil {
		a.Warn(fmt.Sprintf("impressions of group %q are passed over: %s; %s", g.ID, cli.SetbackText(*s),
			cli.Remedy(*s, g.ID)))
	}
	res, _ := end.Run.Result.(evolve.Result)
	if a.JSON {
		return errors.Join(err, end.NextErr, a.writeEvolved(ctx, res, end.Next, f))
	}
	took := time.Since(began)
	if err == nil {
		took = end.Run.Took
	}
	errs := []error{err, end.NextErr}
	if err == nil || res.RunID != "" || res.DryRun && len(res.Changes) > 0 {
		errs = append(errs, a.printer(reverie.JobEvolve).Run(res, took, w.Date))
	}
	if end.Next.RunID != "" {
		errs = append(errs, a.printer(reverie.JobEvolve).Run(end.Next, time.Since(began)-took, w.Date))
	}
	return errors.Join(errs...)
}

// writeEvolved prints JSON; the result of impressions is a field of the same document.
func (a *app) writeEvolved(ctx context.Context, res evolve.Result, next entity.Result, f evolveFlags) error {
	if !f.dryRun {
		a.WarnHeld(res.RunID, res.GroupID, res.Held)
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

// nothing returns the message for a run without work.
func (f evolveFlags) nothing() string {
	if f.due {
		return "nothing is due: no date that is over has pending messages"
	}
	return "nothing is pending"
}

// watch shows a run's progress on a terminal, and returns a function that ends it.
func (a *app) watch(ctx context.Context, p *evolve.Pipeline, groupID string, w reverie.Window) (
	stop func(), err error) {
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
	return a.Watch(&p.Progress, total, "evolving", "messages"), nil
}
