package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	"reverie/internal/cli"
	"reverie/internal/reverie"
)

// undoFlags are what `reverie runs undo` was asked for.
type undoFlags struct {
	q          reverie.UndoQuery
	job, since string
	json       bool
}

func newRunsUndo(a *app) *cobra.Command {
	var f undoFlags
	cmd := &cobra.Command{
		Use:   "undo [RUN]",
		Short: "Take back what a run did, or all runs since a time",
		Long: `Undo takes a run back, of whatever job: memories say again what they said before,
tags included, as new versions; those that the run made, end; what it had archived
is active again; people and things are known by what they were known by before.
Nothing is deleted, and ` + "`reverie memory history`" + ` shows it all. Strength is that of the
messages that are left; weight stays. What the run holds for a person is rejected.
It asks no model.

What another run or a person has changed since is listed, and left as it is;
--force puts that back, too. Where another memory says by now what one would say
again, that one ends. The end of the output says whether the group remembers again
exactly what it did before the run, and if not, why.

With --since all runs are taken back that began then or later, of all jobs or of
--job, the newest first, each by itself. What was taken back stays so if a later
one fails; the same command goes on. A date means its beginning, in the group's
time zone.

What the run has read stays read, so that the next night does not do the same again.
With --requeue it waits to be read again, and the model is asked, and paid, again.`,
		Example: `  reverie runs undo 019b8a52-5c3e-7d10-9f1e-6f0f5a1c2b3d --dry-run
  reverie runs undo 019b8a52-5c3e-7d10-9f1e-6f0f5a1c2b3d --reason "the wrong model"
  reverie runs undo --group g1 --since 2026-01-15 --requeue
  reverie runs undo --group g1 --since 2026-01-15T20:00:00+08:00 --job dream`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"group", "since", "job"} {
				if err := needsValue(cmd, name); err != nil {
					return usageError(err)
				}
			}
			if len(args) == 1 {
				f.q.RunID = args[0]
			}
			return a.undo(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.q.GroupID, "group", "", "the group whose runs are taken back, with --since")
	fl.StringVar(&f.since, "since", "", "all runs that began then or later: a date (its beginning) or an instant")
	fl.StringVar(&f.job, "job", "", "with --since: only runs of this job: "+jobNames())
	fl.BoolVar(&f.q.DryRun, "dry-run", false, "say what it would change, and stop")
	fl.BoolVar(&f.q.Force, "force", false, "put back what others have changed since, too")
	fl.BoolVar(&f.q.Requeue, "requeue", false, "let wait again what the runs have read")
	fl.StringVar(&f.q.Reason, "reason", "", "why, for the history")
	fl.BoolVar(&f.json, "json", false, "print as JSON")
	return cmd
}

// check refuses what cannot be meant.
func (f undoFlags) check() error {
	switch {
	case f.q.RunID == "" && f.since == "":
		return errors.New("name a run, or all since a time by --group and --since; `reverie runs list` has the ids")
	case f.q.RunID != "" && (f.since != "" || f.job != ""):
		return errors.New("either one run, or all since a time: leave RUN or --since and --job out")
	case f.since != "" && f.q.GroupID == "":
		return errors.New("--since needs --group")
	case f.job != "" && !slices.Contains(reverie.Jobs, reverie.Job(f.job)):
		return fmt.Errorf("--job %q: it is one of %s", f.job, jobNames())
	}
	return nil
}

func (a *app) undo(ctx context.Context, f undoFlags) error {
	if err := f.check(); err != nil {
		return usageError(err)
	}
	reply, err := a.undone(ctx, f)
	if f.json && (err == nil || len(reply.Runs) > 0) {
		return errors.Join(cli.PrintJSON(a.Stdout, reply), err)
	}
	for i, r := range reply.Runs {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		a.PrintUndone(r, reply)
	}
	if err == nil && len(reply.Runs) == 0 {
		fmt.Fprintf(a.Stdout, "%s: no run since then is left to take back\n", cli.Visible(f.q.GroupID))
	}
	if err == nil && f.q.DryRun && len(reply.Runs) > 0 {
		fmt.Fprintln(a.Stdout, "\nnothing was written: leave out --dry-run to do it")
	}
	return err
}

// undone does it, and says what it came to.
func (a *app) undone(ctx context.Context, f undoFlags) (reverie.UndoReply, error) {
	if f.since == "" {
		d, err := a.findRun(ctx, f.q.RunID)
		if err != nil {
			return reverie.UndoReply{}, err
		}
		if f.q.GroupID != "" && f.q.GroupID != d.Run.GroupID {
			return reverie.UndoReply{}, fmt.Errorf("run %s is not of group %q: %w; `reverie runs list --group %[2]s` has its "+
				"runs", d.Run.ID, f.q.GroupID, reverie.ErrNotFound)
		}
		f.q.GroupID = d.Run.GroupID
		return api.UndoRun(ctx, a.Store, a.Leases(), f.q)
	}
	if err := a.open(ctx); err != nil {
		return reverie.UndoReply{}, err
	}
	since, err := a.moment(ctx, f.q.GroupID, "since", f.since)
	if err != nil {
		return reverie.UndoReply{}, err
	}
	return api.UndoRuns(ctx, a.Store, a.Leases(), f.q, reverie.Job(f.job), since)
}
