package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/jobs"
)

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
