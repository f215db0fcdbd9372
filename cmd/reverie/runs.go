package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/jobs"
)

func newRuns(a *app) *cobra.Command {
	return group("runs", "Look at runs, decide on what they hold, and take them back", newRunsList(a), newRunsShow(a),
		newRunsApprove(a), newRunsReject(a), newRunsUndo(a))
}

func newRunsApprove(a *app) *cobra.Command {
	var asJSON bool
	var file string
	cmd := &cobra.Command{
		Use:   "approve RUN",
		Short: "Apply what a run holds, except lines whose memory has moved since",
		Long: `Approve applies what a run holds, except lines whose memory has moved since.
'reverie runs show RUN' shows it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" {
				return usageError(errors.New("--plan is gone, what a run holds cannot be edited any more: approve it without --plan, " +
					"or `reverie runs reject RUN --requeue` and correct memories by `reverie memory`"))
			}
			ctx := cmd.Context()
			d, err := a.findRun(ctx, args[0])
			if err != nil {
				return err
			}
			began := time.Now()
			res, err := application.ApproveRun(ctx, a.Store, a.Leases(), a.Approver(), d)
			if asJSON {
				if perr := cli.PrintJSON(a.Stdout, application.ApproveReply(d.Run, res, err)); perr != nil && err == nil {
					err = perr
				}
				return err
			}
			if err == nil {
				a.PrintResult(res, time.Since(began), "", cli.Effects(d.Run.Job, res.Stats)) // it has read nothing
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().StringVar(&file, "plan", "", "removed: what a run holds cannot be edited")
	_ = cmd.Flags().MarkHidden("plan")
	return cmd
}

func newRunsReject(a *app) *cobra.Command {
	var requeue, asJSON bool
	cmd := &cobra.Command{
		Use:   "reject RUN",
		Short: "Refuse what a run holds",
		Long: `Reject refuses all that a run holds. With --requeue the messages of chunks that
were held whole, or of an extraction with all of their facts, become pending again;
those of chunks that were applied save for some lines stay consumed. What a dream
took in is new again if all of its items were held.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := a.findRun(ctx, args[0])
			if err != nil {
				return err
			}
			reply, err := api.RejectRun(ctx, a.Store, a.Leases(), d.Run, requeue)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reply)
			}
			again := cli.Plural(reply.Requeued, "message") + " pending"
			if d.Run.Job == reverie.JobDream {
				again = cli.Plural(reply.Requeued, "memory") + " new to dreams"
			}
			_, err = fmt.Fprintf(a.Stdout, "run %s rejected; %s again\n", d.Run.ID, again)
			return err
		},
	}
	cmd.Flags().BoolVar(&requeue, "requeue", false, "make the messages of chunks held whole pending again, or what a "+
		"dream took in new")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// maxListed bounds what one list holds.
const maxListed = 1_000_000

func newRunsList(a *app) *cobra.Command {
	var q reverie.RunQuery
	var job, status, since string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Long: `List runs of all groups or of one, newest first.

WINDOW is the date, or the dates, of the group's own calendar that the run was
for; a run that was for no whole dates shows instants instead, and one without
an end of its own reached up to when it started. A run of extract was for one
SESSION, and its window is that of the messages; a dream reached up to one. All times
are in UTC.

CHANGES has a sign for each kind, of memories or (job impression) of entities, and
leaves out what is zero:
  +created ~updated -deleted =kept >postponed !refused ?held
maintain says what it decayed, archived and pruned instead.
MESSAGES counts those consumed, TOKENS input and output together, TRY the
attempts at that window. Columns that would hold nothing are left out, and so
are those that --group and --job make the same for all. An undone run is one
whose work was taken back.

--since takes a date (from midnight UTC on), an instant in RFC 3339, or an age
such as 90m, 24h or 7d.`,
		Example: `  reverie runs list --group g1
  reverie runs list --status failed --since 24h
  reverie runs list --since 2026-01-15 --limit 200 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := readRunQuery(&q, job, status, since, a.Now()); err != nil {
				return err
			}
			return a.listRuns(cmd.Context(), q, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.GroupID, "group", "", "only this group's")
	f.StringVar(&job, "job", "", "only of this job: "+jobNames())
	f.StringVar(&status, "status", "", "only these: running, succeeded, held, deferred, failed or rejected; held finds "+
		"all of which something waits")
	f.StringVar(&since, "since", "", "only those started since: a date (midnight UTC), an instant, or an age (24h, 7d)")
	f.IntVar(&q.Limit, "limit", 20, "runs at most")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func jobNames() string {
	names := make([]string, len(reverie.Jobs))
	for i, j := range reverie.Jobs {
		names[i] = string(j)
	}
	return strings.Join(names, ", ")
}

// readRunQuery checks what was asked for. All its errors are usage errors.
func readRunQuery(q *reverie.RunQuery, job, status, since string, now time.Time) error {
	if q.Job = reverie.Job(job); job != "" && !slices.Contains(reverie.Jobs, q.Job) {
		return usageError(fmt.Errorf("--job %q: it is one of %s", job, jobNames()))
	}
	if q.Status = reverie.RunStatus(status); status != "" && !slices.Contains(reverie.RunStatuses, q.Status) {
		return usageError(fmt.Errorf("--status %q: it is running, succeeded, held, deferred, failed or rejected", status))
	}
	if q.Limit < 1 || q.Limit > maxListed {
		return usageError(fmt.Errorf("--limit %d: it is 1 to %d", q.Limit, maxListed))
	}
	var err error
	if q.Since, err = sinceWhen(since, now); err != nil {
		return usageError(fmt.Errorf("--since: %w", err))
	}
	return nil
}

// sinceWhen reads a date (its midnight in UTC), an RFC 3339 instant, or an age,
// counted back from now. Nothing is the zero time.
func sinceWhen(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if age, ok := parseAge(s); ok {
		return now.Add(-age).UTC(), nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%q is no date (2026-01-15, midnight UTC), no instant (2026-01-15T20:00:00+08:00) "+
		"and no age (90m, 24h, 7d; at most %dd)", s, maxDays)
}

// parseAge reads a positive duration of at most maxDays; d is 24 hours.
func parseAge(s string) (time.Duration, bool) {
	const day = 24 * time.Hour
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		return time.Duration(n) * day, err == nil && n > 0 && n <= maxDays
	}
	age, err := time.ParseDuration(s)
	return age, err == nil && age > 0 && age <= maxDays*day
}

func (a *app) listRuns(ctx context.Context, q reverie.RunQuery, asJSON bool) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	if q.GroupID != "" { // no runs, or no such group?
		if _, err := a.Store.Group(ctx, q.GroupID); err != nil {
			return unknownGroup(err)
		}
	}
	limit := q.Limit
	q.Limit++ // to see whether there are more
	runs, err := a.Store.Runs(ctx, q)
	if err != nil {
		return err
	}
	more := len(runs) > limit
	runs = runs[:min(limit, len(runs))]
	if asJSON {
		return cli.PrintJSON(a.Stdout, reverie.RunsReply{Success: true, Runs: append([]reverie.RunEntry{}, runs...),
			More: more})
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no runs")
		return err
	}
	calendars, err := a.calendars(ctx, runs)
	if err != nil {
		return err
	}
	if err := a.PrintRuns(runs, q, calendars); err != nil {
		return err
	}
	if more {
		_, err = fmt.Fprintf(a.Stdout, "the newest %d; more with --limit\n", limit)
	}
	return err
}

// calendars are those of the runs' groups. A group whose calendar cannot be read
// has that of UTC: its runs are worth seeing all the same.
func (a *app) calendars(ctx context.Context, runs []reverie.RunEntry) (map[string]jobs.Calendar, error) {
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.GroupID)
	}
	slices.Sort(ids)
	groups, err := a.Store.Groups(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	found := map[string]jobs.Calendar{}
	for id, g := range groups {
		found[id] = a.calendar(g)
	}
	return found, nil
}

func newRunsShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its chunks, changes, refused lines, held plans, calls and what they cost",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := a.findRun(ctx, args[0])
			if err != nil {
				return err
			}
			g, err := a.groupEntry(ctx, d.Run.GroupID)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, d.Reply(g))
			}
			return a.PrintRun(d, g, a.calendar(g.Group))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// findRun reads a run by its id alone; where there is none, the error says where
// the ids are to be had.
func (a *app) findRun(ctx context.Context, id string) (reverie.RunDetail, error) {
	if err := a.open(ctx); err != nil {
		return reverie.RunDetail{}, err
	}
	d, err := a.Store.Run(ctx, "", id)
	if errors.Is(err, reverie.ErrNotFound) {
		err = fmt.Errorf("%w; `reverie runs list` has the ids", err)
	}
	return d, err
}

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
