package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

func newRuns(a *app) *cobra.Command {
	return group("reverie runs", newRunsList(a), newRunsShow(a), newRunsApprove(a), newRunsReject(a), newRunsCancel(a), newRunsUndo(a))
}

func newRunsList(a *app) *cobra.Command {
	var q reverie.RunQuery
	cmd := a.command("reverie runs list", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		if q.GroupID != "" { // no runs, or no such group?
			if _, err := a.Store.Group(ctx, q.GroupID); err != nil {
				return err
			}
		}
		asked := q
		asked.Limit++ // one more, to see whether there are more
		runs, err := a.Store.Runs(ctx, asked)
		if err != nil {
			return err
		}
		more := len(runs) > q.Limit
		runs = runs[:min(q.Limit, len(runs))]
		return a.Show(reverie.RunsReply{Success: true, Runs: append([]reverie.RunEntry{}, runs...), More: more},
			func() error {
				if len(runs) == 0 {
					return a.nothing(ctx, q.GroupID, "runs", "`reverie evolve --due` runs what is due, in all groups")
				}
				calendars, err := a.calendars(ctx, runs)
				if err != nil {
					return err
				}
				if err := a.PrintRuns(runs, q, calendars); err != nil || !more {
					return err
				}
				return a.Say("the newest %d; more with --limit\n", q.Limit)
			})
	}))
	a.groupNarrows(cmd, &q.GroupID, "list only runs of this group")
	choice(cmd, &q.Job, "job", "", "list only this job: "+either(reverie.Jobs), reverie.Jobs...)
	choice(cmd, &q.Status, "status", "", "list only these: "+either(reverie.RunStatuses)+"; held finds all with "+
		"pending reviews", reverie.RunStatuses...)
	a.sinceFlag(cmd, &q.Since, "list only runs since a date (midnight UTC), an instant or an age (24h, 7d)")
	limitFlag(cmd, &q.Limit, 20, "most runs to list")
	return cmd
}

// calendars returns those of the runs' groups. A group with an invalid calendar gets UTC's, so that its runs are
// shown.
func (a *app) calendars(ctx context.Context, runs []reverie.RunEntry) (map[string]jobs.Calendar, error) {
	ids := text.Each(runs, func(r reverie.RunEntry) string { return r.GroupID })
	slices.Sort(ids)
	groups, err := a.Store.Groups(ctx, slices.Compact(ids))
	found := map[string]jobs.Calendar{}
	for id, g := range groups {
		found[id] = a.calendar(g)
	}
	return found, err
}

// onRun returns a command for one run.
func (a *app) onRun(verb string, do func(context.Context, reverie.RunDetail) error) *cobra.Command {
	action := func(ctx context.Context, args []string) error {
		d, err := a.Store.Run(ctx, "", args[0])
		if err != nil {
			return err
		}
		return do(ctx, d)
	}
	return a.command("reverie runs "+verb, cobra.ExactArgs(1), a.about(reverie.IDRun, new(string), action))
}

func newRunsShow(a *app) *cobra.Command {
	return a.onRun("show", func(ctx context.Context, d reverie.RunDetail) error {
		g, err := a.groupEntry(ctx, d.Run.GroupID)
		if err != nil {
			return err
		}
		return a.Show(d.Reply(g), func() error { return a.PrintRun(d, g, a.calendar(g.Group)) })
	})
}

func newRunsApprove(a *app) *cobra.Command {
	return a.onRun("approve", func(ctx context.Context, d reverie.RunDetail) error {
		began := time.Now()
		res, err := application.ApproveRun(ctx, a.Store, a.Leases(), a.Approver(), d)
		if err != nil && !a.JSON {
			return err
		}
		return errors.Join(err, a.Show(application.ApproveReply(d.Run, res, err), func() error {
			return a.PrintResult(res, time.Since(began), "", cli.Effects(d.Run.Job, res.Stats)) // it has read no messages
		}))
	})
}

func newRunsReject(a *app) *cobra.Command {
	var requeue bool
	cmd := a.onRun("reject", func(ctx context.Context, d reverie.RunDetail) error {
		reply, err := api.RejectRun(ctx, a.Store, a.Leases(), d.Run, requeue)
		if err != nil {
			return err
		}
		again := cli.Plural(reply.Requeued, "message") + " pending"
		if d.Run.Job == reverie.JobDream {
			again = cli.Plural(reply.Requeued, "memory") + " new to dreams"
		}
		return a.Show(reply, func() error { return a.Say("run %s rejected; %s again\n", d.Run.ID, again) })
	})
	cmd.Flags().BoolVar(&requeue, "requeue", false, "make pending again what the run has read and nothing was applied of")
	return cmd
}

func newRunsCancel(a *app) *cobra.Command {
	return a.onRun("cancel", func(ctx context.Context, d reverie.RunDetail) error {
		reply, err := a.CancelRun(ctx, d.Run)
		if !reply.Success {
			return err
		}
		return errors.Join(err, a.Show(reply, func() error {
			return a.Say("run %s cancelled; %s pending\n", d.Run.ID, cli.Plural(reply.Requeued, "message"))
		}))
	})
}

// undoQuery holds the arguments of `reverie runs undo`.
type undoQuery struct {
	reverie.UndoQuery
	job   reverie.Job
	since string
}

func newRunsUndo(a *app) *cobra.Command {
	var q undoQuery
	cmd := a.command("reverie runs undo", cobra.MaximumNArgs(1), func(ctx context.Context, args []string) error {
		if len(args) == 1 {
			q.RunID = args[0]
		}
		switch {
		case q.RunID == "" && q.since == "":
			return usageError(errors.New("name a run, or use --group and --since for all since a time; `reverie runs list` has the ids"))
		case q.RunID != "" && (q.since != "" || q.job != ""):
			return usageError(errors.New("RUN does not go with --since and --job: undo one run, or all since a time"))
		case q.since != "" && q.GroupID == "":
			return usageError(errors.New("--since needs --group: name the group whose runs to undo"))
		}
		if err := a.open(ctx); err != nil {
			return err
		}
		reply, err := a.undo(ctx, q)
		if err != nil && len(reply.Runs) == 0 {
			return err
		}
		return errors.Join(err, a.Show(reply, func() error { return a.PrintUndone(reply, err) }))
	})
	groupFlag(cmd, &q.GroupID, "with --since: undo runs of this group")
	fl := cmd.Flags()
	fl.StringVar(&q.since, "since", "", "undo all runs that began at this date or instant, or later")
	choice(cmd, &q.job, "job", "", "with --since: undo only this job: "+either(reverie.Jobs), reverie.Jobs...)
	notEmpty(cmd, "since", "job")
	fl.BoolVar(&q.DryRun, "dry-run", false, "show what it would change, and write nothing")
	fl.BoolVar(&q.Force, "force", false, "also undo what runs or people have changed since")
	fl.BoolVar(&q.Requeue, "requeue", false, "make pending again what the runs have read")
	fl.StringVar(&q.Reason, "reason", "", "why, for the change log")
	return cmd
}

// undo undoes a run, or all since a time, and prints the result.
func (a *app) undo(ctx context.Context, q undoQuery) (none reverie.UndoReply, err error) {
	if q.since != "" {
		since, err := a.moment(ctx, q.GroupID, "since", q.since)
		if err != nil {
			return none, err
		}
		return api.UndoRuns(ctx, a.Store, a.Leases(), q.UndoQuery, q.job, since)
	}
	if q.RunID, err = a.Store.WholeID(ctx, reverie.IDRun, q.GroupID, q.RunID); err != nil {
		return none, err
	}
	d, err := a.Store.Run(ctx, "", q.RunID)
	if err != nil {
		return none, err
	}
	if q.GroupID != "" && q.GroupID != d.Run.GroupID {
		return none, fmt.Errorf("run %s of group %q: %w; `reverie runs list --group %[2]s` has its runs",
			d.Run.ID, q.GroupID, reverie.ErrNotFound)
	}
	q.GroupID = d.Run.GroupID
	return api.UndoRun(ctx, a.Store, a.Leases(), q.UndoQuery)
}
