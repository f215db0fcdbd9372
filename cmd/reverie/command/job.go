package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// selection is the groups and windows that a job's flags select.
type selection struct {
	group, session string
	due, all       bool
	shard          jobs.Shard
	since, until   string
	dryRun         bool
}

// flags adds --group, --due, --all and related flags.
func (f *selection) flags(a *app, cmd *cobra.Command, verb string) {
	groupFlag(cmd, &f.group, "the group to "+verb)
	fl := cmd.Flags()
	fl.BoolVar(&f.due, "due", false, "work on the dates that are over, in every group")
	fl.BoolVar(&f.all, "all", false, "work on everything pending, in every group")
	shardFlag(cmd, &f.shard)
	a.quietFlag(cmd)
	f.windowFlags(cmd)
	fl.BoolVar(&f.dryRun, "dry-run", false, "ask the model and show the plan; write no memory")
	fl.Lookup("json").Usage = "print JSON; with --due and --all, a line for each run and a summary"
	apart(cmd, "due", "all", "group", "since", "until")
	apart(cmd, "group", "all", "shard")
	check(cmd, func() error {
		switch {
		case f.group != "" || f.due || f.all:
			return nil
		case fl.Changed("shard"):
			return errors.New("--shard is a share of all groups: use it with --due or --all")
		}
		return a.needsGroup(&f.group, "a group is needed, or --due, or --all")
	})
}

// windowFlags adds --since and --until, which each group reads in its own zone.
func (f *selection) windowFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.since, "since", "", "start at this date or instant, which is included")
	cmd.Flags().StringVar(&f.until, "until", "", "stop before this date or instant")
	check(cmd, func() error {
		_, err := f.window(reverie.Group{})
		return err
	})
}

// lines reports whether there may be several answers: JSON then has one per line.
func (f selection) lines() bool { return f.due || f.all }

// plan says which windows of a group --due or --all mean, of those of which store
// says that something is pending in them.
func (f selection) plan(a *app, store jobs.PendingStore) jobs.Plan {
	switch {
	case f.due:
		return jobs.Nightly(store, a.Now, a.Config.Jobs.MissedNights)
	case f.since == "" && f.until == "":
		return jobs.Everything()
	}
	return func(_ context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		w, err := f.window(g.Group)
		if err != nil { // the flags are valid, so the group's zone is not
			return jobs.Agenda{}, err
		}
		if err := f.inOrder(w, a.Now()); err != nil {
			return jobs.Agenda{}, jobs.Abort(err)
		}
		return jobs.Agenda{Windows: []reverie.Window{w}}, nil
	}
}

// window parses --since and --until for a group.
func (f selection) window(g reverie.Group) (w reverie.Window, err error) {
	if w.Since, err = instant(g, f.since); err != nil {
		return w, usageError(fmt.Errorf("--since: %w", err))
	}
	if w.Until, err = instant(g, f.until); err != nil {
		return w, usageError(fmt.Errorf("--until: %w", err))
	}
	return w, nil
}

// inOrder refuses an empty window, before it counts as a failure of a group.
func (f selection) inOrder(w reverie.Window, now time.Time) error {
	switch {
	case w.Since.IsZero():
		return nil
	case w.Until.IsZero() && !w.Since.Before(now):
		return usageError(fmt.Errorf("--since %s is in the future", f.since))
	case !w.Until.IsZero() && !w.Since.Before(w.Until):
		return usageError(fmt.Errorf("--since %s is not before --until %s", f.since, f.until))
	}
	return nil
}

// groupAndWindow returns what --group, --since and --until select.
func (f selection) groupAndWindow(ctx context.Context, a *app) (g reverie.Group, w reverie.Window, err error) {
	if g, err = a.Store.Group(ctx, f.group); err != nil {
		return g, w, err
	}
	if w, err = f.window(g); err != nil {
		return g, w, err
	}
	return g, w, f.inOrder(w, a.Now())
}

// knownGroup refuses a group that does not exist; "" stands for all.
func (a *app) knownGroup(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	_, err := a.Store.Group(ctx, id)
	return err
}

// printer returns the printer of a job's fan-out.
func (a *app) printer(job reverie.Job) cli.FanOutPrinter {
	return cli.FanOutPrinter{Console: &a.Console, Job: job, Subjects: a.Subjects}
}

// ending is the end of a fan-out, and the error of printing it.
type ending struct {
	jobs.Summary
	err, said error
}

// runMany runs a job over groups, and prints the results. When ctx ends it starts no further group; when work ends,
// running ones are aborted.
func (a *app) runMany(ctx, work context.Context, batch *application.FanOut, nothing func() string) ending {
	out := a.printer(batch.Job)
	batch.Show, batch.ShowGroup = out.Window, out.Group
	s, err := batch.Run(work, ctx.Done())
	return ending{s, err, out.Summary(s, err, nothing())}
}

// runAll is runMany with [jobs] grace, and returns the error for the exit code.
func (a *app) runAll(ctx context.Context, batch *application.FanOut, f selection, nothing func() string) error {
	batch.Shard, batch.GroupID, batch.IgnoreRetry, batch.DryRun = f.shard, f.group, f.all, f.dryRun
	if f.dryRun {
		return a.planAll(ctx, batch, nothing)
	}
	work, end := a.Drained(ctx, a.Config.Jobs.Grace.Duration)
	defer end()
	done := a.runMany(ctx, work, batch, nothing)
	return errors.Join(done.said, fanOutError(ctx, done.Summary, done.err))
}

// planAll prints what a job would do, group by group.
func (a *app) planAll(ctx context.Context, batch *application.FanOut, nothing func() string) error {
	out := a.printer(batch.Job)
	batch.ShowGroup = out.Group
	var failed error
	batch.Show = func(r jobs.Report) {
		switch {
		case a.JSON:
			failed = errors.Join(failed, a.writeJSON(out.Line(r), true))
		case r.Err == nil:
			failed = errors.Join(failed, out.Run(r.Result, r.Took, r.Window.Date))
		}
	}
	s, err := batch.Run(ctx, ctx.Done())
	if err == nil && s.Done+s.Skipped == 0 && !a.JSON {
		failed = errors.Join(failed, a.Say("%s\n", nothing()))
	}
	return errors.Join(failed, fanOutError(ctx, s, err))
}

// impressionsAfter runs impressions after a fan-out of evolve, with their own plan. It prints nothing if nothing is
// pending.
func (a *app) impressionsAfter(ctx, work context.Context, evolves *application.FanOut, done ending, p *entity.Pipeline,
	plan jobs.Plan) error {
	err := fanOutError(ctx, done.Summary, done.err)
	batch := evolves.Impressions(p, plan, done.Summary, done.err)
	if batch == nil {
		return errors.Join(done.said, err)
	}
	next := a.runMany(ctx, work, batch, func() string { return "" })
	return errors.Join(done.said, gravest(err, fanOutError(ctx, next.Summary, errors.Join(next.err, next.said))))
}

// runOne runs a job on a window of one group and prints the result, also after a failure. watch shows its progress.
func (a *app) runOne(ctx context.Context, j application.Job, g reverie.Group, w reverie.Window, f selection,
	watch func() (stop func())) error {
	stop := func() {}
	if !a.JSON {
		stop = watch()
		defer stop()
	}
	began := time.Now()
	done := a.RunOne(ctx, j, jobs.Request{Group: g, Window: w, DryRun: f.dryRun})
	stop()
	last := done.Last()
	switch {
	case a.JSON:
		return errors.Join(done.Err, a.writeJSON(a.printer(j.Name).Line(last), f.lines()))
	case done.Err == nil || last.RunID != "":
		return errors.Join(done.Err, a.printer(j.Name).Run(last.Result, time.Since(began), w.Date))
	}
	return done.Err
}

// writeJSON writes a document, indented or on one line.
func (a *app) writeJSON(v any, line bool) error {
	if line {
		return a.WriteJSONLine(v)
	}
	return a.WriteJSON(v)
}
