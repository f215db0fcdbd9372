package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie"
	"reverie/evolve"
	"reverie/jobs"
	"reverie/llm"
)

// maxDays bounds the days that are looked back, so that dates stay dates.
const maxDays = 3650

// evolveFlags are what `reverie evolve` was asked for.
type evolveFlags struct {
	group        string
	all, due     bool
	shard        string
	since, until string
	days         int
	dryRun, json bool
	date         string // of the window, where a dry run shows several
}

func newEvolve(a *app) *cobra.Command {
	var f evolveFlags
	cmd := &cobra.Command{
		Use:   "evolve --group G | --due | --all",
		Short: "Take in new messages: keep, update, create and delete memories",
		Long: `Evolve takes a group's old memories and its pending messages, asks the model,
checks the answer and applies it as new versions.

--group G    one group: everything pending up to now, or the window that --since
             and --until name
--due        every group, the dates that are over: a run for each date of the
             group's own time zone that has pending messages, the oldest first.
             What was missed is made up; a second call does nothing. This is
             what a CronJob runs.
--all        every group, everything pending, whether its date is over or not

A date (2026-01-15) means its beginning in the group's own calendar: midnight in
its time zone, or its day boundary. An instant is written as RFC 3339. The window
includes --since and excludes --until.

With --due and --all, [jobs] concurrency groups are worked on at a time. A group
that fails stops no other; it is left alone for a while (--due), and parked after
[jobs] park_after failures in a row until ` + "`reverie groups resume`" + `. Busy groups are
skipped. A first signal lets what is under way finish within [jobs] grace. What
[budget] does not allow any more is left for the next run, which begins with it.

--dry-run asks the model and prints what would be done; it writes nothing but
the calls it made and cached embeddings.

` + exitHelp,
		Example: `  reverie evolve --group g1
  reverie evolve --group g1 --since 2026-01-15 --until 2026-01-16
  reverie evolve --due                # hourly, from cron
  reverie evolve --due --shard 0/4    # of 4 workers, the first`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(f.check(), needsValue(cmd, "shard")); err != nil {
				return usageError(err)
			}
			return a.evolve(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.group, "group", "", "the group to evolve")
	fl.BoolVar(&f.due, "due", false, "every group: the dates that are over, each a run of its own")
	fl.BoolVar(&f.all, "all", false, "every group: everything pending")
	fl.StringVar(&f.shard, "shard", "", "only this part of the groups: 0/4 is the first of four")
	fl.StringVar(&f.since, "since", "", "from this date or instant on")
	fl.StringVar(&f.until, "until", "", "before this date or instant")
	fl.IntVar(&f.days, "days", 0, "also show the model this many days of earlier messages, as context")
	fl.BoolVar(&f.dryRun, "dry-run", false, "plan, and write nothing")
	fl.BoolVar(&f.json, "json", false, "print JSON; with --due and --all a line for each run, then a summary")
	return cmd
}

// check refuses flags that contradict each other.
func (f evolveFlags) check() error {
	chosen := 0
	for _, c := range []bool{f.group != "", f.due, f.all} {
		if c {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return errors.New("one of --group G, --due or --all is needed\nsee 'reverie evolve --help'")
	case f.days < 0 || f.days > maxDays:
		return fmt.Errorf("--days %d: it is 0 to %d", f.days, maxDays)
	case f.due && (f.since != "" || f.until != ""):
		return errors.New("--due takes the dates that are over; --since and --until go with --group or --all, and `reverie backfill` takes a range of dates")
	case f.group != "" && f.shard != "":
		return errors.New("--shard is a part of all groups; it goes with --due or --all")
	}
	if _, _, err := f.window(reverie.Group{}); err != nil { // each group reads them in its own zone
		return err
	}
	_, err := parseShard(f.shard)
	return err
}

func (a *app) evolve(ctx context.Context, f evolveFlags) error {
	p, err := a.evolver(ctx)
	if err != nil {
		return err
	}
	ctx = llm.WithBudget(ctx, a.budget(a.dayBudget()))
	switch {
	case f.group == "" && f.dryRun:
		return a.dryRunAll(ctx, p, f)
	case f.group == "":
		return a.evolveMany(ctx, p, f)
	}
	g, err := a.store.Group(ctx, f.group)
	if err != nil {
		return fmt.Errorf("%w; `reverie import FILE --group %s` makes it", err, f.group)
	}
	_, err = a.evolveOne(ctx, p, g, f)
	var coded *codeError
	if err != nil && !errors.As(err, &coded) && errors.Is(err, reverie.ErrInvalid) && !errors.Is(err, reverie.ErrConfiguration) {
		return usageError(err)
	}
	return err
}

// evolver opens what evolving needs, the database last.
func (a *app) evolver(ctx context.Context) (*evolve.Pipeline, error) {
	if err := a.settings(); err != nil {
		return nil, err
	}
	if _, err := a.cfg.generation(string(reverie.JobEvolve)); err != nil {
		return nil, err // before a database is started for nothing
	}
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	p, err := a.pipeline()
	if err != nil {
		return nil, err
	}
	p.Prompts = a.remotePrompts(ctx, p.Prompts)
	return p, nil
}

// evolveOne runs one group and prints what came of it, also when it failed.
func (a *app) evolveOne(ctx context.Context, p *evolve.Pipeline, g reverie.Group, f evolveFlags) (evolve.Result, error) {
	req := evolve.Request{GroupID: g.ID, Days: f.days, DryRun: f.dryRun}
	var err error
	if req.Since, req.Until, err = f.window(g); err != nil {
		return evolve.Result{}, err
	}
	if err := a.inOrder(f, req.Since, req.Until); err != nil {
		return evolve.Result{}, err
	}
	stop := func() {}
	if !f.json {
		if stop, err = a.watch(ctx, p, req); err != nil {
			return evolve.Result{}, err
		}
		defer stop()
	}
	var res evolve.Result
	began := time.Now()
	if f.dryRun {
		res, _, err = a.evolveWindow(ctx, p, nil, req)
	} else {
		err = a.leases().With(ctx, g.ID, func(ctx context.Context, held *jobs.Held) error {
			res, _, err = a.evolveWindow(ctx, p, held, req)
			return err
		})
		err = errors.Join(err, a.noteEnd(ctx, res, g.ID, err))
	}
	stop()
	if errors.Is(err, reverie.ErrBusy) || errors.Is(err, reverie.ErrLeaseLost) || res.GroupID == "" {
		res = evolve.Result{GroupID: g.ID, Err: err} // what this process began is another's to report
	}
	if f.json {
		for _, why := range res.Held {
			if f.dryRun {
				break
			}
			fmt.Fprintf(a.stderr, "warning: run %s of group %q is held: %s\n", res.RunID, g.ID, why)
		}
		write := printJSON
		if f.group == "" {
			write = printJSONLine
		}
		return res, errors.Join(err, write(a.stdout, res.Reply()))
	}
	if err == nil || res.RunID != "" || res.DryRun && len(res.Changes) > 0 {
		a.printResult(res, time.Since(began), f.date)
	}
	return res, err
}

// noteEnd counts a failure of a group against it, or forgets those before.
func (a *app) noteEnd(ctx context.Context, res evolve.Result, groupID string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	switch {
	case err == nil && !res.NoNew: // to have had nothing to do proves nothing
		return a.store.ClearSetback(ctx, groupID, reverie.JobEvolve)
	case !blames(err):
		return nil
	}
	setback, nerr := a.store.NoteFailure(ctx, groupID, reverie.JobEvolve, err.Error(), a.parkRule())
	if nerr == nil && setback.ParkedAt != nil {
		fmt.Fprintf(a.stderr, "reverie: group %q is parked: --due and --all pass it over until `reverie groups resume %s`\n", groupID, groupID)
	}
	return nerr
}

// evolveMany works on every group that has something to do.
func (a *app) evolveMany(ctx context.Context, p *evolve.Pipeline, f evolveFlags) error {
	shard, err := parseShard(f.shard)
	if err != nil {
		return usageError(err)
	}
	plan := a.planOf(f)
	work, end := a.drained(ctx, a.cfg.Jobs.Grace.Duration)
	defer end()
	batch := &fanOut{app: a, pipeline: p, plan: plan, shard: shard, days: f.days, ignoreRetry: f.all,
		show:      func(e windowEnd) { a.showWindow(e, f.json) },
		showGroup: func(r jobs.GroupResult) { a.showGroup(r, f.json) }}
	summary, err := batch.run(work, ctx.Done())
	return errors.Join(a.showSummary(summary, err, f.nothing(), f.json), fanOutError(ctx, summary, err))
}

// nothing is what to say where there was nothing to do.
func (f evolveFlags) nothing() string {
	if f.due {
		return "nothing is due: no date that is over has pending messages"
	}
	return "nothing is pending"
}

// planOf says which windows of a group --due or --all mean.
func (a *app) planOf(f evolveFlags) jobs.Plan {
	switch {
	case f.due:
		return jobs.Nightly(a.store, a.now, a.cfg.Jobs.MissedNights)
	case f.since == "" && f.until == "":
		return jobs.Everything()
	}
	return func(_ context.Context, g reverie.DueGroup) (jobs.Agenda, error) {
		since, until, err := f.window(g.Group)
		if err != nil { // the flags have been read already: it is the group's zone
			return jobs.Agenda{}, err
		}
		if err := a.inOrder(f, since, until); err != nil {
			return jobs.Agenda{}, jobs.Abort(err)
		}
		return jobs.Agenda{Windows: []reverie.Window{{Since: since, Until: until}}}, nil
	}
}

// inOrder refuses a window without any time in it, before a group is blamed for
// it.
func (a *app) inOrder(f evolveFlags, since, until time.Time) error {
	end := until
	if end.IsZero() {
		end = a.now()
	}
	if since.IsZero() || since.Before(end) {
		return nil
	}
	if until.IsZero() {
		return usageError(fmt.Errorf("--since %s is still to come", f.since))
	}
	return usageError(fmt.Errorf("--since %s is not before --until %s", f.since, f.until))
}

// window reads --since and --until for a group.
func (f evolveFlags) window(g reverie.Group) (since, until time.Time, err error) {
	if since, err = instant(g, f.since); err != nil {
		return since, until, usageError(fmt.Errorf("--since: %w", err))
	}
	if until, err = instant(g, f.until); err != nil {
		return since, until, usageError(fmt.Errorf("--until: %w", err))
	}
	return since, until, nil
}

// dryRunAll plans for every group, one after the other, and prints it all.
func (a *app) dryRunAll(ctx context.Context, p *evolve.Pipeline, f evolveFlags) error {
	shard, err := parseShard(f.shard)
	if err != nil {
		return usageError(err)
	}
	plan, failed, planned := a.planOf(f), 0, false
	fails := func(g reverie.DueGroup, err error) {
		failed++
		fmt.Fprintf(a.stderr, "reverie: group %q: %s\n", g.ID, visibleLines(err))
	}
	err = a.eachGroup(ctx, a.store, "", shard, func(g reverie.DueGroup) error {
		if s := g.Setback; s != nil && (s.ParkedAt != nil || f.due && s.RetryAt.After(a.now())) {
			fmt.Fprintf(a.stderr, "reverie: group %q would be skipped after failures: `reverie groups list --group %s` shows why\n", g.ID, g.ID)
			return nil
		}
		if _, err := jobs.CalendarOf(g.Group); err != nil {
			fails(g, err)
			return nil
		}
		agenda, err := plan(ctx, g)
		if err != nil {
			return err
		}
		planned = planned || len(agenda.Windows) > 0
		for _, w := range agenda.Windows {
			one := f
			if f.due {
				one.date, one.since, one.until = w.Date, w.Since.Format(time.RFC3339), w.Until.Format(time.RFC3339)
			}
			_, err := a.evolveOne(ctx, p, g.Group, one)
			switch {
			case err == nil:
			case ctx.Err() != nil || everywhere(err) || errors.Is(err, reverie.ErrDeferred):
				return err
			default:
				fails(g, err)
			}
		}
		return nil
	})
	if err == nil && !planned && !f.json {
		fmt.Fprintln(a.stdout, f.nothing())
	}
	if err == nil && failed > 0 {
		err = &codeError{exitPartial, fmt.Errorf("%s failed", plural(failed, "group"))}
	}
	return err
}

// instant reads a date, which is its beginning in the group's calendar, or an
// RFC 3339 instant.
// Nothing is the zero time.
func instant(g reverie.Group, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), nil
	}
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a date (2026-01-15) nor an instant (2026-01-15T20:00:00+08:00)", s)
	}
	c, err := jobs.CalendarOf(g)
	if err != nil {
		return time.Time{}, err
	}
	w, err := c.Window(s)
	return w.Since, err
}
