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
	all          bool
	since, until string
	days         int
	dryRun, json bool
}

func newEvolve(a *app) *cobra.Command {
	var f evolveFlags
	cmd := &cobra.Command{
		Use:   "evolve --group G | --all",
		Short: "Take in new messages: keep, update, create and delete memories",
		Long: `Evolve takes a group's old memories and its pending messages, asks the model,
checks the answer and applies it as new versions. Without --since and --until it
takes every pending message up to now.

A date (2026-01-15) means midnight in the group's time zone; an instant is
written as RFC 3339. The window includes --since and excludes --until.

--dry-run asks the model and prints what would be done; it writes nothing but
the calls it made and cached embeddings.

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case (f.group == "") == !f.all:
				return usageError(errors.New("either --group G or --all is needed\nsee 'reverie evolve --help'"))
			case f.days < 0 || f.days > maxDays:
				return usageError(fmt.Errorf("--days %d: it is 0 to %d", f.days, maxDays))
			}
			return a.evolve(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.group, "group", "", "the group to evolve")
	fl.BoolVar(&f.all, "all", false, "every group with pending messages")
	fl.StringVar(&f.since, "since", "", "from this date or instant on")
	fl.StringVar(&f.until, "until", "", "before this date or instant")
	fl.IntVar(&f.days, "days", 0, "also show the model this many days of earlier messages, as context")
	fl.BoolVar(&f.dryRun, "dry-run", false, "plan, and write nothing")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON; with --all, one line a group")
	return cmd
}

func (a *app) evolve(ctx context.Context, f evolveFlags) error {
	if err := a.settings(); err != nil {
		return err
	}
	if _, err := a.cfg.generation(string(reverie.JobEvolve)); err != nil {
		return err // before a database is started for nothing
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	p, err := a.pipeline()
	if err != nil {
		return err
	}
	if f.all {
		return a.evolveAll(ctx, p, f)
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

// evolveOne runs one group and prints what came of it, also when it failed.
func (a *app) evolveOne(ctx context.Context, p *evolve.Pipeline, g reverie.Group, f evolveFlags) (evolve.Result, error) {
	req := evolve.Request{GroupID: g.ID, Days: f.days, DryRun: f.dryRun}
	var err error
	if req.Since, err = instant(g, f.since); err != nil {
		return evolve.Result{}, usageError(fmt.Errorf("--since: %w", err))
	}
	if req.Until, err = instant(g, f.until); err != nil {
		return evolve.Result{}, usageError(fmt.Errorf("--until: %w", err))
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
		res, err = p.Run(ctx, nil, req)
	} else {
		err = a.leases().With(ctx, g.ID, func(ctx context.Context, held *jobs.Held) error {
			res, err = p.Run(ctx, held, req)
			return err
		})
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
		if f.all {
			write = printJSONLine
		}
		return res, errors.Join(err, write(a.stdout, res.Reply()))
	}
	if err == nil || res.RunID != "" || res.DryRun && len(res.Changes) > 0 {
		a.printResult(res, time.Since(began))
	}
	return res, err
}

// evolveAll runs every group with pending messages, one after the other. A group
// that fails stops no other.
func (a *app) evolveAll(ctx context.Context, p *evolve.Pipeline, f evolveFlags) error {
	var done, failed, deferred, busy int
	var configuration error
	const page = 100
	for after := ""; ; {
		groups, err := a.store.PendingGroups(ctx, time.Now(), after, page)
		if err != nil {
			return err
		}
		for _, g := range groups {
			after = g.ID
			_, err := a.evolveOne(ctx, p, g, f)
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				fmt.Fprintf(a.stderr, "reverie: group %q: %s\n", g.ID, visibleLines(err))
			}
			var coded *codeError
			var fault *llm.Error
			switch {
			case err == nil:
				done++
			case errors.As(err, &fault) && errors.Is(err, reverie.ErrConfiguration): // the same for all of them
				return err
			case errors.Is(err, reverie.ErrBusy):
				busy++
			case errors.Is(err, reverie.ErrDeferred):
				deferred++
			case errors.As(err, &coded) && coded.code == exitUsage:
				return err
			default:
				failed++
				if errors.Is(err, reverie.ErrConfiguration) {
					configuration = err
				}
			}
		}
		if len(groups) < page {
			break
		}
	}
	if !f.json {
		fmt.Fprintf(a.stdout, "%s done, %d busy, %d deferred, %d failed\n", plural(done, "group"), busy, deferred, failed)
	}
	switch {
	case configuration != nil && done == 0 && deferred == 0: // the same for all of them
		return &codeError{exitUsage, configuration}
	case failed > 0:
		return &codeError{exitPartial, fmt.Errorf("%s failed", plural(failed, "group"))}
	case deferred > 0:
		return &codeError{exitDeferred, fmt.Errorf("%s deferred; the messages stay pending for the next run", plural(deferred, "group"))}
	}
	return nil
}

// instant reads a date, midnight in the group's zone, or an RFC 3339 instant.
// Nothing is the zero time.
func instant(g reverie.Group, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), nil
	}
	loc, err := g.Location()
	if err != nil {
		return time.Time{}, err
	}
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a date (2026-01-15) nor an instant (2026-01-15T20:00:00+08:00)", s)
	}
	return reverie.StartOfDate(d.Year(), d.Month(), d.Day(), loc), nil
}
