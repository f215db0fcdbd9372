package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/internal/session"

	"reverie/dream"
	"reverie/evolve"
	"reverie/jobs"
)

// printer prints what becomes of a job.
func (a *app) printer(job reverie.Job, asJSON bool) cli.FanOutPrinter {
	return cli.FanOutPrinter{Console: &a.Console, Job: job, JSON: asJSON, Subjects: a.Subjects}
}

// ending is how a fan-out ended, and what went wrong in printing that.
type ending struct {
	jobs.Summary
	err, said error
}

// runMany does a job over groups, and prints what becomes of them. When ctx ends no
// further group is begun; when work ends, those under way are cut.
func (a *app) runMany(ctx, work context.Context, batch *application.FanOut, asJSON bool, nothing func() string) ending {
	out := a.printer(batch.Job.Name, asJSON)
	batch.Show, batch.ShowGroup = out.Window, out.Group
	s, err := batch.Run(work, ctx.Done())
	return ending{s, err, out.Summary(s, err, nothing())}
}

// runAll is runMany within [jobs] grace, and the error that it ends with.
func (a *app) runAll(ctx context.Context, batch *application.FanOut, f selection, nothing func() string) error {
	shard, err := parseShard(f.shard)
	if err != nil {
		return usageError(err)
	}
	batch.Shard, batch.GroupID, batch.IgnoreRetry = shard, f.group, f.all
	work, end := a.Drained(ctx, a.Config.Jobs.Grace.Duration)
	defer end()
	done := a.runMany(ctx, work, batch, f.json, nothing)
	return errors.Join(done.said, fanOutError(ctx, done.Summary, done.err))
}

// impressionsAfter has impressions follow a fan-out of evolve by a plan of theirs, and
// says not a word where nothing waits.
func (a *app) impressionsAfter(ctx, work context.Context, evolves *application.FanOut, done ending, p *entity.Pipeline,
	plan jobs.Plan, asJSON bool) error {
	err := fanOutError(ctx, done.Summary, done.err)
	batch := evolves.Impressions(p, plan, done.Summary, done.err)
	if batch == nil {
		return errors.Join(done.said, err)
	}
	next := a.runMany(ctx, work, batch, asJSON, func() string { return "" })
	return errors.Join(done.said, gravest(err, fanOutError(ctx, next.Summary, errors.Join(next.err, next.said))))
}

// runOne does a job on a window of one group and prints what came of it, also when it
// failed. watch shows its progress.
func (a *app) runOne(ctx context.Context, j application.Job, g reverie.Group, w reverie.Window, f selection,
	watch func() (stop func())) error {
	stop := func() {}
	if !f.json {
		stop = watch()
		defer stop()
	}
	began := time.Now()
	done := a.RunOne(ctx, j, jobs.Request{Group: g, Window: w, DryRun: f.dryRun})
	stop()
	last := done.Last()
	if f.json {
		return errors.Join(done.Err, a.writeJSON(a.printer(j.Name, true).Line(last), f.lines()))
	}
	if done.Err == nil || last.RunID != "" {
		a.printRun(ctx, last.Result, time.Since(began), f.date)
	}
	return done.Err
}

// printRun shows one run to a person.
func (a *app) printRun(ctx context.Context, result any, took time.Duration, date string) {
	switch r := result.(type) {
	case evolve.Result:
		a.PrintResult(r, took, date, cli.Counts(reverie.JobEvolve, r.Stats))
	case entity.Result:
		a.PrintImpression(r, a.Subjects(ctx, r.GroupID, r.Changes), took, date)
	case session.Result:
		a.PrintExtraction(r, took)
	case dream.Result:
		a.PrintDream(r, took)
	}
}

// writeJSON writes a document, or one of many lines.
func (a *app) writeJSON(v any, line bool) error {
	if line {
		return cli.PrintJSONLine(a.Stdout, v)
	}
	return cli.PrintJSON(a.Stdout, v)
}

// dryRuns plans for every group that a fan-out is for, one after the other, and prints
// it all.
func (a *app) dryRuns(ctx context.Context, batch *application.FanOut, f selection, nothing func() string,
	one func(g reverie.Group, f selection) error) error {
	shard, err := parseShard(f.shard)
	if err != nil {
		return usageError(err)
	}
	failed, planned := 0, false
	fails := func(g reverie.DueGroup, err error) {
		failed++
		fmt.Fprintf(a.Stderr, "reverie: group %q: %s\n", g.ID, cli.VisibleLines(err))
	}
	query := reverie.DueQuery{Job: batch.Job.Name, GroupID: f.group}
	err = application.EachGroup(ctx, batch.Groups, query, shard, func(g reverie.DueGroup) error {
		if s := g.Setback; s != nil && (s.ParkedAt != nil || f.due && reverie.LeftAlone(s.RetryAt, a.Now())) {
			fmt.Fprintf(a.Stderr, "reverie: group %q would be skipped after failures: `reverie groups list --group %s` shows "+
				"why\n", g.ID, g.ID)
			return nil
		}
		if _, err := jobs.CalendarOf(g.Group); err != nil {
			fails(g, err)
			return nil
		}
		agenda, err := batch.Plan(ctx, g)
		switch {
		case errors.Is(err, reverie.ErrInvalid) && !jobs.IsGlobal(err): // what the group says of itself
			fails(g, err)
			return nil
		case err != nil:
			return err
		}
		planned = planned || len(agenda.Windows) > 0
		for _, w := range agenda.Windows {
			window := f
			if f.due || w.SessionID != "" {
				window = f.of(w)
			}
			err := one(g.Group, window)
			switch {
			case err == nil:
			case ctx.Err() != nil || jobs.IsGlobal(err) || errors.Is(err, reverie.ErrDeferred):
				return err
			default:
				fails(g, err)
			}
		}
		return nil
	})
	if err == nil && !planned && !f.json {
		fmt.Fprintln(a.Stdout, nothing())
	}
	if err == nil && failed > 0 {
		err = &codeError{exitPartial, fmt.Errorf("%s failed", cli.Plural(failed, "group"))}
	}
	return err
}
