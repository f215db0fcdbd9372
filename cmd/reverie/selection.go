package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// selection is which groups and windows a command on many groups was asked for,
// and how it shall answer.
type selection struct {
	group        string
	all, due     bool
	shard        string
	since, until string
	dryRun, json bool
	date         string // of the window, where a dry run shows several
	session      string // only this one of the group (extract)
}

// selectionFlags are --group, --due, --all and what goes with them, for a command
// that does what its verb says.
func selectionFlags(cmd *cobra.Command, sel *selection, verb string) {
	fl := cmd.Flags()
	fl.StringVar(&sel.group, "group", "", "the group to "+verb)
	fl.BoolVar(&sel.due, "due", false, "every group: the dates that are over, each a run of its own")
	fl.BoolVar(&sel.all, "all", false, "every group: everything that waits")
	fl.StringVar(&sel.shard, "shard", "", "only this part of the groups: 0/4 is the first of four")
	fl.StringVar(&sel.since, "since", "", "from this date or instant on")
	fl.StringVar(&sel.until, "until", "", "before this date or instant")
	fl.BoolVar(&sel.dryRun, "dry-run", false, "plan, and write nothing")
	fl.BoolVar(&sel.json, "json", false, "print JSON; with --due and --all a line for each run, then a summary")
}

// lines tells whether there are several answers: JSON has each on a line then.
func (f selection) lines() bool { return f.due || f.all }

// check refuses flags that contradict each other.
func (f selection) check(cmd *cobra.Command) error {
	chosen := 0
	for _, c := range []bool{f.group != "", f.due, f.all} {
		if c {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return fmt.Errorf("one of --group G, --due or --all is needed\nsee '%s --help'", cmd.CommandPath())
	case f.due && (f.since != "" || f.until != ""):
		return errors.New("--due takes the dates that are over; --since and --until go with --group or --all, and `reverie backfill` takes a range of dates")
	case f.group != "" && f.shard != "":
		return errors.New("--shard is a part of all groups; it goes with --due or --all")
	}
	if _, _, err := f.window(reverie.Group{}); err != nil { // each group reads them in its own zone
		return err
	}
	if err := needsValue(cmd, "shard"); err != nil {
		return err
	}
	_, err := parseShard(f.shard)
	return err
}

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
		since, until, err := f.window(g.Group)
		if err != nil { // the flags have been read already: it is the group's zone
			return jobs.Agenda{}, err
		}
		if err := f.inOrder(since, until, a.Now()); err != nil {
			return jobs.Agenda{}, jobs.Abort(err)
		}
		return jobs.Agenda{Windows: []reverie.Window{{Since: since, Until: until}}}, nil
	}
}

// of is the selection narrowed down to one window of one group.
func (f selection) of(w reverie.Window) selection {
	f.date, f.session = w.Date, w.SessionID
	if w.SessionID == "" {
		f.since, f.until = w.Since.Format(time.RFC3339), w.Until.Format(time.RFC3339)
	}
	return f
}

// inOrder refuses a window without any time in it, before a group is blamed for
// it.
func (f selection) inOrder(since, until, now time.Time) error {
	end := until
	if end.IsZero() {
		end = now
	}
	if since.IsZero() || since.Before(end) {
		return nil
	}
	if until.IsZero() {
		return usageError(fmt.Errorf("--since %s is still to come", f.since))
	}
	return usageError(fmt.Errorf("--since %s is not before --until %s", f.since, f.until))
}

// span is the window of one group that --since and --until mean.
func (f selection) span(g reverie.Group, now time.Time) (w reverie.Window, err error) {
	if w.Since, w.Until, err = f.window(g); err == nil {
		err = f.inOrder(w.Since, w.Until, now)
	}
	return w, err
}

// window reads --since and --until for a group.
func (f selection) window(g reverie.Group) (since, until time.Time, err error) {
	if since, err = instant(g, f.since); err != nil {
		return since, until, usageError(fmt.Errorf("--since: %w", err))
	}
	if until, err = instant(g, f.until); err != nil {
		return since, until, usageError(fmt.Errorf("--until: %w", err))
	}
	return since, until, nil
}

// instant reads a date, which is its beginning in the group's calendar, or an
// RFC 3339 instant, of 1970 to 9999 and to the microsecond, as instants are stored.
// Nothing is the zero time.
func instant(g reverie.Group, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		at, err = startOf(g, s)
	}
	if at = at.UTC(); err == nil && (at.Year() < 1970 || at.Year() > 9999) {
		err = fmt.Errorf("%q is not of 1970 to 9999", s)
	}
	return at.Truncate(time.Microsecond), err
}

// startOf is when a date begins in a group's calendar.
func startOf(g reverie.Group, s string) (time.Time, error) {
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
